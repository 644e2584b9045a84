//! Whether a board waits for `run --accept` (law F4), as far as board and ledger show it.

use std::time::Duration;

use kanban_notify::{
    event::Kind,
    ownership::{self, Ownership},
    plan,
    policy::{Policy, World},
    session,
    time::Timestamp,
};
use kanban_store::{
    board::{Board, ListedEvent, SubscriptionRow},
    ledger::operator::SubscriptionInfo,
};

use super::deliveries::Known;
use crate::ops::{counted, subs, unix_now};

/// How far the newest event may be ahead of the clock, and how far a time may be ahead to be one at all:
/// the engine's own limits.
const CLOCK_SLACK: i64 = 300;
const NONSENSE: i64 = 366 * 86_400;
/// So many of the newest events are asked for the time.
const NEWEST: i64 = 512;

/// What the operator would be asked about; `None` when nothing is.
pub(super) fn asked(
    board: &mut Board,
    rows: &[SubscriptionRow],
    known: &Known,
    policy: &Policy,
    world: &World,
) -> anyhow::Result<Option<String>> {
    let position = known.board(board.path()).map_or(0, |board| board.position);
    let newest = board.sequence()?;
    // What was judged is not asked about any more.
    if rows.is_empty() || position >= newest {
        return Ok(None);
    }
    let now = unix_now();
    if let Some(ahead) = clock_behind(board, position.max(newest.saturating_sub(NEWEST)), now)? {
        let ahead = humantime::format_duration(Duration::from_secs(ahead));
        return Ok(Some(format!(
            "its newest event is {ahead} ahead of this machine's clock, so nothing is delivered from it; \
             set the clock, or start `kanban-gateway run --accept`"
        )));
    }
    let copies = known.copies(board.path());
    let mut expiring = 0_usize;
    for row in rows {
        let copy = copies.iter().copied().find(|copy| subs::is_copy(copy, row));
        expiring = expiring.saturating_add(expiring_of(board, row, copy, policy, world, now)?);
    }
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
    let events = board.events(None, after, usize::MAX)?;
    let newest = events.iter().rev().find(|event| {
        Kind::parse(&event.kind) != Kind::Other && event.created_at <= now.saturating_add(NONSENSE)
    });
    let ahead = newest.map_or(0, |event| event.created_at.saturating_sub(now));
    Ok((ahead > CLOCK_SLACK).then(|| u64::try_from(ahead).unwrap_or(0)))
}

/// How many messages a row would be refused for their age.
fn expiring_of(
    board: &mut Board,
    row: &SubscriptionRow,
    copy: Option<&SubscriptionInfo>,
    policy: &Policy,
    world: &World,
    now: i64,
) -> anyhow::Result<usize> {
    let seen = subs::domain_row(row);
    let has_mode = board.features().delivery_mode;
    let released = copy.is_some_and(|copy| copy.life == "released");
    let served = match ownership::decide(&seen, None, has_mode, policy, world) {
        Ownership::Ours { profile } | Ownership::Adopt { profile, .. } => {
            let api = seen.key.is_api_server();
            let channel = ownership::channel(&seen.key.platform_name(), api, &profile);
            world.channels.contains_key(&channel)
                && !(api && session::fault(&seen.key.chat).is_some())
        }
        Ownership::ReadOnly(_) => false,
    };
    if !served || released {
        return Ok(0);
    }
    let floor = match copy {
        Some(copy) if copy.life == "offered" => copy.seen,
        Some(copy) => copy.seen.max(row.cursor),
        None => row.cursor,
    };
    let oldest = Timestamp::from_secs(now).before(policy.max_age).secs();
    // Law F3: at cursor 0 what is older than the row is history.
    let history = |event: &ListedEvent| {
        copy.is_none() && row.cursor <= 0 && event.created_at < row.created_at
    };
    let events = board.events(Some(&row.key.task), floor, usize::MAX)?;
    let expiring = events.iter().filter(|event| event.created_at < oldest && !history(event));
    Ok(expiring
        .map(|event| {
            plan::needs(policy, &seen.key, seen.mode, Kind::parse(&event.kind), false).len()
        })
        .sum())
}
