//! How far each subscription is behind, as far as the ledger was told of events.

use diesel::{dsl, prelude::*};

use crate::ledger::{
    conditions,
    schema::{boards, events, legs, subscriptions},
};

/// What one subscription is owed.
#[derive(Clone, Debug, PartialEq, Eq, Queryable)]
pub struct LagInfo {
    /// The subscription's id.
    pub subscription: i64,
    /// Events of which something is not settled yet.
    pub events: i64,
    /// When the oldest of them was written, in UTC microseconds.
    pub oldest: Option<i64>,
}

/// Subscriptions that are owed something, by id. What an operator asked for again is no lag.
pub fn lags(conn: &mut SqliteConnection) -> QueryResult<Vec<LagInfo>> {
    legs::table
        .inner_join(subscriptions::table.inner_join(boards::table))
        .inner_join(
            events::table.on(events::board_id
                .eq(subscriptions::board_id)
                .and(events::incarnation.eq(subscriptions::incarnation))
                .and(events::event.eq(legs::event))),
        )
        .filter(conditions::OpenLegs)
        .filter(legs::replay.eq(0))
        .filter(subscriptions::incarnation.eq(boards::incarnation))
        .group_by(legs::subscription_id)
        .order(legs::subscription_id)
        .select((
            legs::subscription_id,
            dsl::count(legs::event).aggregate_distinct(),
            dsl::min(events::written_at),
        ))
        .load(conn)
}
