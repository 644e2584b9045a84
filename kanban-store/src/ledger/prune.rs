//! Forgetting what is long over, slice by slice, so that nothing waits for it (law D10).

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::{
    begun,
    plan::is_told,
    schema::{aliases, claims, events, legs, subscriptions},
    states,
};

/// What may be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Outcomes older than this, below the raised cursor.
    pub outcomes_before: i64,
    /// Bodies of claims that were over before this.
    pub bodies_before: i64,
}

/// Where the next slice begins. The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    leg: i64,
    claim: i64,
    copy: i64,
}

/// What one slice forgot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pruned {
    /// Legs, all of them with an outcome.
    pub legs: usize,
    /// Events that nobody is told of any more.
    pub events: usize,
    /// Copies of rows that are gone, with nothing left to them.
    pub subscriptions: usize,
    /// Bodies of claims.
    pub bodies: usize,
    /// Claims.
    pub claims: usize,
    /// Names of sessions.
    pub aliases: usize,
}

impl Pruned {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            legs: self.legs + other.legs,
            events: self.events + other.events,
            subscriptions: self.subscriptions + other.subscriptions,
            bodies: self.bodies + other.bodies,
            claims: self.claims + other.claims,
            aliases: self.aliases + other.aliases,
        }
    }
}

/// Rows looked at in one slice.
const SLICE: i64 = 500;

/// Forgets one slice; answers what went, and where to go on, if there is more.
///
/// The copy of a row that is still on its board is never forgotten: it is the high-water mark.
pub fn slice(
    conn: &mut SqliteConnection,
    limits: Limits,
    from: Mark,
) -> QueryResult<(Pruned, Option<Mark>)> {
    let mut pruned = Pruned::default();
    if from == Mark::default() {
        // Where the name is still in use, the next look learns it again.
        pruned.aliases = diesel::delete(aliases::table)
            .filter(aliases::learnt_at.lt(limits.outcomes_before))
            .execute(conn)?;
    }
    // Legs first: a copy goes once nothing refers to it.
    let leg = prune_legs(conn, limits, from.leg, &mut pruned)?;
    let claim = prune_claims(conn, limits, from.claim, &mut pruned)?;
    let copy = match leg {
        Some(_) => Some(from.copy),
        None => prune_copies(conn, limits, from.copy, &mut pruned)?,
    };
    let more = leg.is_some() || claim.is_some() || copy.is_some();
    let next = Mark {
        leg: leg.unwrap_or(i64::MAX),
        claim: claim.unwrap_or(i64::MAX),
        copy: copy.unwrap_or(i64::MAX),
    };
    Ok((pruned, more.then_some(next)))
}

type OldLeg = (i64, i64, String, i64, i64, i32, CopyMark);
type CopyMark = (i64, i64, String, i64, String);

fn prune_legs(
    conn: &mut SqliteConnection,
    limits: Limits,
    from: i64,
    pruned: &mut Pruned,
) -> QueryResult<Option<i64>> {
    if from == i64::MAX {
        return Ok(None);
    }
    let rows: Vec<OldLeg> = legs::table
        .inner_join(subscriptions::table)
        .filter(legs::id.gt(from))
        .order(legs::id)
        .limit(SLICE)
        .select((
            legs::id,
            legs::event,
            legs::state,
            legs::planned_at,
            legs::updated_at,
            legs::dropped,
            (
                subscriptions::board_id,
                subscriptions::incarnation,
                subscriptions::task,
                subscriptions::board_cursor,
                subscriptions::life,
            ),
        ))
        .load(conn)?;
    let mut orphans = BTreeSet::new();
    for (id, event, state, _, updated_at, dropped, mark) in &rows {
        let (board, incarnation, task, cursor, life) = mark;
        // A dead letter stays until an operator has decided on it.
        let decided = state != states::PARKED || *dropped == 1;
        let passed = event <= cursor || life == states::GONE || life == states::RELEASED;
        if !states::is_final(state) || !decided || !passed || *updated_at >= limits.outcomes_before
        {
            continue;
        }
        pruned.legs += diesel::delete(legs::table.find(id)).execute(conn)?;
        orphans.insert((*board, *incarnation, task.as_str(), *event));
    }
    for (board, incarnation, task, event) in orphans {
        if !is_told(conn, board, incarnation, task, event)? {
            pruned.events +=
                diesel::delete(events::table.find((board, incarnation, event))).execute(conn)?;
        }
    }
    // Ids follow the time of planning: behind a young leg there are only younger ones.
    let young = rows.last().is_none_or(|last| last.3 >= limits.outcomes_before);
    Ok(beyond(from, rows.last().map(|last| last.0)).filter(|_| !young))
}

/// Copies of rows that are gone, with nothing left to tell of them.
fn prune_copies(
    conn: &mut SqliteConnection,
    limits: Limits,
    from: i64,
    pruned: &mut Pruned,
) -> QueryResult<Option<i64>> {
    if from == i64::MAX {
        return Ok(None);
    }
    let rows: Vec<i64> = subscriptions::table
        .filter(subscriptions::id.gt(from))
        .filter(subscriptions::life.eq(states::GONE))
        .filter(subscriptions::updated_at.lt(limits.outcomes_before))
        .order(subscriptions::id)
        .limit(SLICE)
        .select(subscriptions::id)
        .load(conn)?;
    for copy in &rows {
        let left: Option<i64> = legs::table
            .filter(legs::subscription_id.eq(copy))
            .select(legs::id)
            .first(conn)
            .optional()?;
        if left.is_none() {
            pruned.subscriptions +=
                diesel::delete(subscriptions::table.find(copy)).execute(conn)?;
        }
    }
    Ok(beyond(from, rows.last().copied()))
}

fn prune_claims(
    conn: &mut SqliteConnection,
    limits: Limits,
    from: i64,
    pruned: &mut Pruned,
) -> QueryResult<Option<i64>> {
    if from == i64::MAX {
        return Ok(None);
    }
    let rows: Vec<(i64, String, i64)> = claims::table
        .filter(claims::id.gt(from))
        .filter(claims::intended_at.lt(limits.bodies_before))
        .order(claims::id)
        .limit(SLICE)
        .select((claims::id, claims::state, claims::intended_at))
        .load(conn)?;
    let needed = begun::needed(conn)?;
    for (id, state, intended_at) in &rows {
        if state != states::OVER || needed.contains(id) {
            continue;
        }
        if *intended_at < limits.outcomes_before {
            pruned.claims += diesel::delete(claims::table.find(id)).execute(conn)?;
        } else {
            pruned.bodies += diesel::update(claims::table.find(id))
                .filter(claims::body.ne(""))
                .set(claims::body.eq(""))
                .execute(conn)?;
        }
    }
    Ok(beyond(from, rows.last().map(|(id, _, _)| *id)))
}

/// Where the next slice begins. A damaged file may show ids again that it has shown before: without a step
/// ahead there is no end.
fn beyond(from: i64, last: Option<i64>) -> Option<i64> {
    last.filter(|last| *last > from)
}

#[cfg(test)]
mod tests {
    use super::beyond;

    #[test]
    fn a_slice_that_leads_back_is_the_last_one() {
        assert_eq!(beyond(7, Some(8)), Some(8));
        for last in [None, Some(7), Some(6), Some(i64::MIN)] {
            assert_eq!(beyond(7, last), None, "{last:?}");
        }
    }
}
