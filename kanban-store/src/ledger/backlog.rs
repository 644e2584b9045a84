//! Everything open in the ledger, for a start, after a take-over, after an operator's hand.

use std::collections::BTreeMap;

use diesel::{dsl, prelude::*};

use super::{
    begun, conditions,
    cursor::{self, RaiseRow},
    plan::OwedRows,
    rows::{BoardRow, ClaimRow, EventRow, LegRow, PauseRow, SubscriptionRow},
    schema::{aliases, claims, events, lanes, legs, pauses, subscriptions},
};

/// A claim with the ids of its legs, oldest event first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaimRows {
    /// The claim.
    pub claim: ClaimRow,
    /// Its legs.
    pub legs: Vec<i64>,
}

/// Everything open.
#[derive(Clone, Debug, Default)]
pub struct WorkRows {
    /// Boards by id.
    pub boards: BTreeMap<i64, BoardRow>,
    /// Copies with an open leg, and those legs.
    pub owed: Vec<OwedRows>,
    /// Cursors to raise.
    pub raises: Vec<RaiseRow>,
    /// Pauses in force.
    pub pauses: Vec<PauseRow>,
    /// Channel, raw session, resolved session.
    pub aliases: Vec<(String, String, String)>,
    /// Wakes that were posted, oldest first.
    pub wakes: Vec<WakeRow>,
    /// When the newest claim was recorded.
    pub newest_claim: Option<i64>,
}

/// A wake that was posted.
#[derive(Clone, Debug, PartialEq, Eq, Queryable)]
pub struct WakeRow {
    /// The channel.
    pub channel: String,
    /// The raw session.
    pub session: String,
    /// When its intent was recorded.
    pub at: i64,
    /// What came of it; empty while it is out.
    pub verdict: String,
    /// Its reference.
    pub reference: String,
}

/// Gives the open claims of dead instances to `me`, and answers them: each claim, by this, to one
/// instance once (law D9).
pub fn take_over(
    conn: &mut SqliteConnection,
    me: &str,
    is_dead: &dyn Fn(&str) -> bool,
) -> QueryResult<Vec<OpenClaimRows>> {
    let others = lanes::table
        .inner_join(claims::table)
        .filter(claims::instance.ne(me))
        .order(claims::id)
        .select(ClaimRow::as_select())
        .load(conn)?;
    let mut taken = Vec::new();
    for mut claim in others {
        if !is_dead(&claim.instance) {
            continue;
        }
        diesel::update(claims::table.find(claim.id)).set(claims::instance.eq(me)).execute(conn)?;
        claim.instance = me.to_owned();
        let legs = legs::table
            .filter(legs::claim_id.eq(claim.id))
            .filter(conditions::ClaimedLegs)
            .order((legs::event, legs::id))
            .select(legs::id)
            .load(conn)?;
        taken.push(OpenClaimRows { claim, legs });
    }
    Ok(taken)
}

/// Reads what is open now. Wakes are those since `wakes_since`.
pub fn read(conn: &mut SqliteConnection, now: i64, wakes_since: i64) -> QueryResult<WorkRows> {
    Ok(WorkRows {
        boards: super::boards::all(conn)?.into_iter().map(|board| (board.id, board)).collect(),
        owed: owed(conn)?,
        raises: cursor::raises(conn)?,
        pauses: pauses::table
            .filter(pauses::until.gt(now))
            .order(pauses::channel)
            .select(PauseRow::as_select())
            .load(conn)?,
        aliases: aliases(conn)?,
        wakes: wakes(conn, wakes_since)?,
        newest_claim: claims::table.select(dsl::max(claims::intended_at)).get_result(conn)?,
    })
}

/// Sessions that answer under another name: channel, raw, resolved.
pub fn aliases(conn: &mut SqliteConnection) -> QueryResult<Vec<(String, String, String)>> {
    aliases::table
        .order((aliases::channel, aliases::raw))
        .select((aliases::channel, aliases::raw, aliases::resolved))
        .load(conn)
}

/// Wakes that were posted since then, or may have been, oldest first.
pub fn wakes(conn: &mut SqliteConnection, since: i64) -> QueryResult<Vec<WakeRow>> {
    claims::table
        .filter(claims::intended_at.ge(since))
        .filter(claims::target.eq(SESSION))
        .filter(claims::verdict.eq_any(POSTED))
        .order((claims::intended_at, claims::id))
        .select((
            claims::channel,
            claims::chat,
            claims::intended_at,
            claims::verdict,
            claims::reference,
        ))
        .load(conn)
}

/// What a claim of a wake calls its target.
pub const SESSION: &str = "session";
/// What a claim of a ping calls its target.
pub const CHAT: &str = "chat";

/// Verdicts of wakes that reached their session, or may have; the empty one is still out.
const POSTED: [&str; 5] = ["", "delivered", "failed_turn", "retryable", "unknown"];

fn owed(conn: &mut SqliteConnection) -> QueryResult<Vec<OwedRows>> {
    let rows = legs::table
        .inner_join(subscriptions::table)
        .inner_join(
            events::table.on(events::board_id
                .eq(subscriptions::board_id)
                .and(events::incarnation.eq(subscriptions::incarnation))
                .and(events::event.eq(legs::event))),
        )
        .filter(conditions::OpenLegs)
        .order((legs::subscription_id, legs::event, legs::id))
        .select((SubscriptionRow::as_select(), LegRow::as_select(), EventRow::as_select()))
        .load::<(SubscriptionRow, LegRow, EventRow)>(conn)?;
    let mut owed: Vec<OwedRows> = Vec::new();
    for (subscription, leg, event) in rows {
        let open = begun::open_row(conn, leg, event)?;
        match owed.last_mut() {
            Some(last) if last.subscription.id == subscription.id => last.legs.push(open),
            _ => owed.push(OwedRows { subscription, legs: vec![open] }),
        }
    }
    Ok(owed)
}
