//! Events that a row of ours is to be told of and that the ledger has not heard of yet: nobody delivers,
//! or the board is behind.

use std::collections::HashMap;

use kanban_notify::{
    event::Kind,
    ownership::{self, Ownership},
    plan,
    policy::{Policy, World},
    session,
    subscription::Row,
};
use kanban_store::{
    board::{Board, EventStamp, SubscriptionRow},
    ledger::operator::SubscriptionInfo,
};

use crate::ops::subs::{self, Copies};

/// What one row is still to be told of, beyond what is planned.
pub(super) struct Pending {
    /// The row.
    pub(super) row: SubscriptionRow,
    /// The ledger's id of its copy.
    pub(super) copy: Option<i64>,
    /// When each event was written, in Unix seconds, and how many messages it needs.
    events: Vec<(i64, usize)>,
}

impl Pending {
    /// How many events there are, and when the oldest was written, of those that are not older than
    /// `since`: what is older expires.
    pub(super) fn since(&self, since: i64) -> Option<(i64, i64)> {
        let young = || self.events.iter().map(|(at, _)| *at).filter(|at| *at >= since);
        let oldest = young().min()?;
        Some((i64::try_from(young().count()).unwrap_or(i64::MAX), oldest))
    }

    /// How many messages are for events older than that.
    pub(super) fn older_than(&self, before: i64) -> usize {
        self.events.iter().filter(|(at, _)| *at < before).map(|(_, messages)| messages).sum()
    }
}

/// Whose rows are whose on one board.
pub(super) struct Rules<'a> {
    pub(super) has_mode: bool,
    pub(super) policy: &'a Policy,
    pub(super) world: &'a World,
}

/// What the rows of a board are to be told of that lies above `position`, up to which the ledger knows
/// all; for rows that it does not know, above their own cursors.
pub(super) fn pending(
    board: &mut Board,
    rows: &[SubscriptionRow],
    copies: &Copies<'_>,
    position: i64,
    rules: &Rules<'_>,
) -> anyhow::Result<Vec<Pending>> {
    // Read once, however many rows there are.
    let mut tail: HashMap<String, Vec<EventStamp>> = HashMap::new();
    if rows.iter().any(|row| copies.get(row).is_some()) {
        for event in board.event_stamps(None, position)? {
            tail.entry(event.task.clone()).or_default().push(event);
        }
    }
    let mut found = Vec::new();
    for row in rows {
        let copy = copies.get(row);
        let seen = subs::domain_row(row);
        if !rules.serves(&seen, copy) {
            continue;
        }
        let events = match copy {
            Some(copy) => {
                // Law O3: who raised the cursor before our stamp held did not reach the session.
                let offered = copy.life == "offered";
                let floor = if offered { copy.seen } else { copy.seen.max(row.cursor) };
                let of = tail.get(&row.key.task).map(Vec::as_slice).unwrap_or_default();
                rules.needed(&seen, of.iter().filter(|event| event.id > floor))
            }
            None => {
                let events = board.event_stamps(Some(&row.key.task), row.cursor)?;
                // Law F3: at cursor 0 what is older than the row is history.
                let told =
                    |event: &&EventStamp| row.cursor > 0 || event.created_at >= row.created_at;
                rules.needed(&seen, events.iter().filter(told))
            }
        };
        if !events.is_empty() {
            found.push(Pending { row: row.clone(), copy: copy.map(|copy| copy.id), events });
        }
    }
    Ok(found)
}

impl Rules<'_> {
    fn serves(&self, row: &Row, copy: Option<&SubscriptionInfo>) -> bool {
        if copy.is_some_and(|copy| copy.life == "released") {
            return false;
        }
        match ownership::decide(row, None, self.has_mode, self.policy, self.world) {
            Ownership::Ours { profile } | Ownership::Adopt { profile, .. } => {
                let api = row.key.is_api_server();
                let channel = ownership::channel(&row.key.platform_name(), api, &profile);
                self.world.channels.contains_key(&channel)
                    && !(api && session::fault(&row.key.chat).is_some())
            }
            Ownership::ReadOnly(_) => false,
        }
    }

    /// When each event was written, and how many messages it needs, of those that need any.
    fn needed<'e>(
        &self,
        row: &Row,
        events: impl Iterator<Item = &'e EventStamp>,
    ) -> Vec<(i64, usize)> {
        let messages = |event: &EventStamp| {
            plan::needs(self.policy, &row.key, row.mode, Kind::parse(&event.kind), false).len()
        };
        events
            .map(|event| (event.created_at, messages(event)))
            .filter(|(_, messages)| *messages > 0)
            .collect()
    }
}
