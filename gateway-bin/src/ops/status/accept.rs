//! Whether a board waits for `run --accept` (law F4), as far as board and ledger show it.

use std::time::Duration;

use kanban_notify::{policy::Policy, time::Timestamp};
use kanban_store::board::Board;

use super::pending::Pending;
use crate::ops::{counted, unix_now};

/// How far the newest event may be ahead of the clock, and how far a time may be ahead to be one at all:
/// the engine's own limits.
const CLOCK_SLACK: i64 = 300;
const NONSENSE: i64 = 366 * 86_400;
/// So many of the newest events are asked for the time.
const NEWEST: i64 = 512;

/// What the operator would be asked about; `None` when nothing is. `position` is how far the board was
/// read: what was judged is not asked about any more.
pub(super) fn asked(
    board: &mut Board,
    position: i64,
    newest: i64,
    pending: &[Pending],
    policy: &Policy,
) -> anyhow::Result<Option<String>> {
    let now = unix_now();
    if let Some(ahead) = clock_behind(board, position.max(newest.saturating_sub(NEWEST)), now)? {
        let ahead = humantime::format_duration(Duration::from_secs(ahead));
        return Ok(Some(format!(
            "its newest event is {ahead} ahead of this machine's clock, so nothing is delivered from it; \
             set the clock, or start `kanban-gateway run --accept`"
        )));
    }
    let oldest = Timestamp::from_secs(now).before(policy.max_age).secs();
    let expiring: usize = pending.iter().map(|pending| pending.older_than(oldest)).sum();
    Ok((expiring > policy.expire_without_asking).then(|| {
        format!(
            "{} would expire unsent, which is more than expire_without_asking, so nothing is delivered from \
             it; start `kanban-gateway run --accept` if that is right",
            counted(expiring, "event")
        )
    }))
}

/// By how many seconds the newest event that can be believed is ahead of the clock.
fn clock_behind(board: &mut Board, after: i64, now: i64) -> anyhow::Result<Option<u64>> {
    let events = board.event_stamps(None, after)?;
    let newest = events.iter().rev().find(|event| event.created_at <= now.saturating_add(NONSENSE));
    let ahead = newest.map_or(0, |event| event.created_at.saturating_sub(now));
    Ok((ahead > CLOCK_SLACK).then(|| u64::try_from(ahead).unwrap_or(0)))
}
