//! Log lines of the driver: fields as in docs/LOGGING.md, never a text of a card.

use std::error::Error;

use tracing::{Level, debug, enabled, error, info, trace, warn};

use super::{
    names::{ClaimName, Names},
    quiet::Quiet,
};
use crate::{
    artifacts::{Attachment, Refusal, Wanted},
    engine::{Input, Lane, Notice},
    error::PortError,
    ids::BoardId,
    ownership::Why,
    ports::LookError,
    record::{Intent, IntentResult, RowChange, RowOutcome},
    time::Timestamp,
};

/// A port failed; whoever called it tries again.
pub(super) fn port_failed(
    failure: &PortError,
    board: Option<BoardId>,
    quiet: &Quiet,
    now: Timestamp,
) {
    let mut error = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        error.push_str(": ");
        error.push_str(&cause.to_string());
        source = cause.source();
    }
    let (board, operation) = (board.map(|board| board.0), failure.operation);
    if quiet.begins(format!("{operation} {board:?} {error}"), now) {
        warn!(board.id = board, operation, error, "operation failed; it is tried again");
    } else {
        debug!(board.id = board, operation, error, "operation failed; it is tried again");
    }
}

/// A board is not served; one that breaks again and again is told of once.
pub(super) fn degraded(board: BoardId, error: &str, names: &Names, quiet: &Quiet, now: Timestamp) {
    // A board that was not opened yet has a number only.
    let slug = Some(names.board(board)).filter(|slug| !slug.is_empty());
    if quiet.begins(format!("degraded {} {error}", board.0), now) {
        error!(board.slug = slug, board.id = board.0, error, "board degraded");
    } else {
        debug!(board.slug = slug, board.id = board.0, error, "board degraded");
    }
}

/// Files that are not sent. Never a path of one that is not allowed: its name is in the message.
pub(super) fn files(intent: &Intent, wanted: &[Wanted], checked: &[Result<Attachment, Refusal>]) {
    let task = intent.message.facts.first().map(|fact| fact.task.as_str()).unwrap_or_default();
    let channel = intent.destination.channel().as_str();
    for (wanted, checked) in wanted.iter().zip(checked) {
        let Err(refusal) = checked else { continue };
        let (listed, reason) = (wanted.listed, refusal.words());
        if *refusal == Refusal::Denied && listed {
            warn!(task.id = task, channel, reason, "a file of a task is not sent");
        } else {
            info!(task.id = task, channel, reason, listed, "a file of a task is not sent");
        }
    }
    if let Some(late) = wanted.len().checked_sub(checked.len()).filter(|late| *late > 0) {
        warn!(
            task.id = task,
            channel,
            files = late,
            "files of a task could not be looked at in time"
        );
    }
}

/// One step of a delivery, before the engine is told of it.
pub(super) fn step(input: &Input, names: &mut Names) {
    match input {
        Input::PassRead { opening, pass, .. } => trace!(
            board.slug = names.board(opening.board),
            events = pass.events.len(),
            rows = pass.rows.len(),
            "pass read"
        ),
        // Names are joined only for somebody who reads them: these come with each delivery.
        Input::Planned { .. } | Input::Intended(_) | Input::Sent { .. }
            if !enabled!(Level::DEBUG) => {}
        Input::Planned { planned, .. } => {
            for leg in planned.owed.iter().flat_map(|owed| &owed.legs) {
                let Some(name) = names.leg(leg.leg.id) else { continue };
                debug!(
                    board.slug = name.board,
                    task.id = name.task,
                    event.id = name.event.0,
                    event.kind = name.event_kind,
                    leg = name.kind.name(),
                    leg.id = leg.leg.id.0,
                    "owed"
                );
            }
        }
        Input::Intended(intents) => {
            for (intent, result) in intents {
                let IntentResult::Won(claim) = result else { continue };
                let ClaimName { boards, tasks, events } = names.claim(*claim);
                debug!(
                    board.slug = boards,
                    task.id = tasks,
                    event.id = events,
                    claim.id = claim.0,
                    claim.legs = intent.legs.len(),
                    lane = intent.lane,
                    "intended"
                );
            }
        }
        Input::Sent { claim, verdict } => {
            let ClaimName { boards, tasks, events } = names.claim(*claim);
            debug!(
                board.slug = boards,
                task.id = tasks,
                event.id = events,
                claim.id = claim.0,
                verdict = verdict.name(),
                "sent"
            );
        }
        Input::Looked { lane, result, .. } => looked(lane, result, names),
        Input::RowsChanged { opening, changes, outcomes: Some(outcomes) } => {
            for (change, outcome) in changes.iter().zip(outcomes) {
                if let (RowChange::Raise { key, to, .. }, RowOutcome::Won) = (change, outcome) {
                    debug!(
                        board.slug = names.board(opening.board),
                        task.id = key.task,
                        cursor.to = to.0,
                        "cursor raised"
                    );
                }
            }
        }
        _ => {}
    }
}

/// A look that fails is told when it begins to fail, and when it works again.
fn looked<T>(lane: &Lane, result: &Result<T, LookError>, names: &mut Names) {
    let name = lane.name();
    match result {
        // A channel that nobody answers on, or that refuses its key, is told of as a whole.
        Err(LookError::Unsupported | LookError::Unreachable(_) | LookError::Credential(_)) => {}
        Err(failure) => {
            let error = failure.to_string();
            if names.look_failed(lane) {
                warn!(
                    lane = name,
                    error, "session cannot be looked into; what waits for it is kept"
                );
            } else {
                debug!(
                    lane = name,
                    error, "session cannot be looked into; what waits for it is kept"
                );
            }
        }
        Ok(_) if names.look_works(lane) => info!(lane = name, "session can be looked into again"),
        Ok(_) => debug!(lane = name, "looked into the session"),
    }
}

/// One line for each notice.
pub(super) fn notice(notice: &Notice, names: &Names) {
    match notice {
        Notice::Delivered { claim, lane, legs } => {
            let ClaimName { boards, tasks, events } = names.claim(*claim);
            info!(
                board.slug = boards,
                task.id = tasks,
                event.id = events,
                claim.id = claim.0,
                claim.legs = legs,
                lane,
                "delivered"
            );
        }
        Notice::Postponed { claim, lane, verdict, until, detail, again } => {
            let ClaimName { boards, tasks, events } = names.claim(*claim);
            macro_rules! tell {
                ($level:ident) => {
                    $level!(
                        board.slug = boards,
                        task.id = tasks,
                        event.id = events,
                        claim.id = claim.0,
                        lane,
                        verdict,
                        due_at = %until,
                        error = detail.as_str(),
                        "not delivered; will be tried again"
                    )
                };
            }
            if *again { tell!(debug) } else { tell!(warn) }
        }
        Notice::Recovered { lane } => info!(lane, "destination works again"),
        Notice::Unknown { claim, lane, detail } => {
            let ClaimName { boards, tasks, events } = names.claim(*claim);
            warn!(
                board.slug = boards,
                task.id = tasks,
                event.id = events,
                claim.id = claim.0,
                lane,
                error = detail.as_str(),
                "outcome unknown; finding out"
            );
        }
        Notice::Parked { leg, reason } => {
            let name = names.leg(*leg);
            error!(
                board.slug = name.map(|name| name.board.as_str()),
                task.id = name.map(|name| name.task.as_str()),
                event.id = name.map(|name| name.event.0),
                event.kind = name.map(|name| name.event_kind),
                leg = name.map(|name| name.kind.name()),
                leg.id = leg.0,
                error = reason.as_str(),
                "parked in the dead letters; see `kanban-gateway dead list`"
            );
        }
        Notice::Paused { channel, until, reason, credential: true } => error!(
            channel = channel.as_str(),
            due_at = %until,
            error = reason.as_str(),
            "credential refused; the channel rests until it is right"
        ),
        Notice::Paused { channel, until, reason, credential: false } => warn!(
            channel = channel.as_str(),
            due_at = %until,
            error = reason.as_str(),
            "destination unreachable; the channel rests and is tried again"
        ),
        Notice::RefusedBefore { channel, reason } => info!(
            channel = channel.as_str(),
            reason = reason.as_str(),
            "a channel rests since an earlier run; its key is tried now"
        ),
        Notice::Resumed { channel } => info!(channel = channel.as_str(), "channel resumed"),
        Notice::Rotated { from, to } => {
            info!(
                session.from = from,
                session.to = to,
                "a session or chat goes on under another name"
            );
        }
        _ => of_board(notice, names),
    }
}

/// Notices about a board as a whole.
fn of_board(notice: &Notice, names: &Names) {
    match notice {
        Notice::Expired { board, events } => warn!(
            board.slug = names.board(*board),
            board.id = board.0,
            events,
            "expired: older than max_age when first seen"
        ),
        Notice::Cut { board, task, event, kind, cut } => warn!(
            board.slug = names.board(*board),
            task.id = task,
            event.id = event.0,
            event.kind = kind.name(),
            text_bytes = cut.bytes,
            told_bytes = cut.told,
            "text cut: more is on the board than is told"
        ),
        Notice::NeedsAccept { board, events: 0 } => error!(
            board.slug = names.board(*board),
            board.id = board.0,
            "the clock is behind the board's newest event; set it, or start with --accept"
        ),
        Notice::NeedsAccept { board, events } => error!(
            board.slug = names.board(*board),
            board.id = board.0,
            events,
            "so many events would expire unsent; start with --accept if that is right"
        ),
        Notice::Unserved { board, rows } => {
            for ((why, platform), count) in rows {
                macro_rules! tell {
                    ($level:ident) => {
                        $level!(
                            board.slug = names.board(*board),
                            board.id = board.0,
                            platform,
                            rows = count,
                            reason = why.text(),
                            "rows not served"
                        )
                    };
                }
                match why {
                    // Somebody waits for these, and nobody will tell him.
                    Why::NoChannel | Why::NoServer => tell!(warn),
                    _ => tell!(info),
                }
            }
        }
        Notice::Spoilt { board, key, reason } => warn!(
            board.slug = names.board(*board),
            board.id = board.0,
            row = key,
            error = reason.as_str(),
            "a row cannot be read and is left out"
        ),
        Notice::CursorAhead { board, cursor, newest } => warn!(
            board.slug = names.board(*board),
            board.id = board.0,
            cursor.from = cursor.0,
            event.newest = newest.0,
            "a cursor is above the newest event"
        ),
        Notice::Opened { board, slug } => {
            debug!(board.slug = slug, board.id = board.0, "board opened");
        }
        _ => {}
    }
}
