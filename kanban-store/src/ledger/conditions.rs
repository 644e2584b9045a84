//! Conditions that partial indices know by heart.
//!
//! They are spelt out: a planner cannot match bound values with an index. And they are types of their
//! own, because Diesel prepares a statement with `sql(…)` in it anew each time.

use diesel::{
    QueryResult,
    backend::Backend,
    expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate},
    query_builder::{AstPass, QueryFragment, QueryId},
    sql_types::Bool,
};

macro_rules! condition {
    ($(#[$doc:meta])* $name:ident = $sql:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, QueryId)]
        pub(super) struct $name;

        impl<DB: Backend> QueryFragment<DB> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                out.push_sql($sql);
                Ok(())
            }
        }

        impl Expression for $name {
            type SqlType = Bool;
        }

        impl<Source> AppearsOnTable<Source> for $name {}

        impl<Source> SelectableExpression<Source> for $name {}

        impl<By> ValidGrouping<By> for $name {
            type IsAggregate = is_aggregate::Never;
        }
    };
}

condition! {
    /// Legs that are not final.
    OpenLegs = "legs.state IN ('planned', 'intended', 'retrying', 'unknown')"
}

condition! {
    /// Legs in an open claim.
    ClaimedLegs = "legs.state IN ('intended', 'unknown')"
}

condition! {
    /// Legs that a claim may take, and to which an end may come unsent.
    UnsentLegs = "legs.state IN ('planned', 'retrying')"
}

condition! {
    /// Legs that wait for an operator.
    DeadLegs = "legs.state IN ('parked', 'expired')"
}

condition! {
    /// Subscriptions whose cursor on the board is behind ours.
    ToRaise = "subscriptions.life = 'live' AND subscriptions.settled > subscriptions.board_cursor"
}
