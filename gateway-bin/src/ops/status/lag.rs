//! How far each subscription is behind: what is planned and not settled, and what is not even planned.

use std::collections::HashMap;

use kanban_store::ledger::operator::{LagInfo, SubscriptionInfo};

use super::{Lag, pending::Pending};
use crate::ops::time::Moment;

/// Each subscription of ours that is owed something, the one that waits longest first. `pending` is by
/// board; events of it older than `since` expire and are not owed.
pub(super) fn lag(
    planned: &[LagInfo],
    copies: &[SubscriptionInfo],
    pending: &[(String, Vec<Pending>)],
    since: i64,
    now: i64,
) -> Vec<Lag> {
    let copies: HashMap<i64, &SubscriptionInfo> =
        copies.iter().map(|copy| (copy.id, copy)).collect();
    let mut known: HashMap<i64, Lag> = HashMap::new();
    for lag in planned {
        // What a running Hermes serves is its to tell.
        let copy = copies.get(&lag.subscription).filter(|copy| copy.life != "theirs");
        if let (Some(copy), Some(oldest)) = (copy, lag.oldest) {
            known.insert(lag.subscription, of_copy(copy, lag.events, oldest, now));
        }
    }
    let mut all = Vec::new();
    for (board, rows) in pending {
        for row in rows {
            let Some((events, oldest)) = row.since(since) else { continue };
            let oldest_at = Moment::from_secs(oldest);
            match row.copy.and_then(|id| known.get_mut(&id)) {
                Some(lag) => {
                    lag.events = lag.events.saturating_add(events);
                    lag.oldest_at = lag.oldest_at.min(oldest_at);
                    lag.seconds = seconds(now, lag.oldest_at);
                }
                None => all.push(of_row(board, row, events, oldest_at, now)),
            }
        }
    }
    all.extend(known.into_values());
    all.sort_by(|one, two| {
        (one.oldest_at, &one.board, one.subscription, &one.task, &one.chat).cmp(&(
            two.oldest_at,
            &two.board,
            two.subscription,
            &two.task,
            &two.chat,
        ))
    });
    all
}

fn of_copy(copy: &SubscriptionInfo, events: i64, oldest: i64, now: i64) -> Lag {
    let oldest_at = Moment::from_micros(oldest);
    Lag {
        board: copy.board.clone(),
        task: copy.task.clone(),
        platform: copy.platform.clone(),
        chat: copy.chat.clone(),
        thread: copy.thread.clone(),
        subscription: Some(copy.id),
        events,
        oldest_at,
        seconds: seconds(now, oldest_at),
    }
}

fn of_row(board: &str, pending: &Pending, events: i64, oldest_at: Moment, now: i64) -> Lag {
    let key = &pending.row.key;
    Lag {
        board: board.to_owned(),
        task: key.task.clone(),
        platform: key.platform.clone(),
        chat: key.chat.clone(),
        thread: key.thread.clone(),
        subscription: pending.copy,
        events,
        oldest_at,
        seconds: seconds(now, oldest_at),
    }
}

/// Whole seconds from then to now, which is in microseconds.
fn seconds(now: i64, then: Moment) -> i64 {
    now.saturating_sub(then.micros()).max(0) / 1_000_000
}
