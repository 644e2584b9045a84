//! Log lines of the driver: fields as in docs/LOGGING.md, never a text of a card.

use std::error::Error;

use tracing::{debug, error, info, warn};

use crate::{engine::Notice, error::PortError, ids::BoardId};

/// A port failed; whoever called it tries again.
pub(super) fn port_failed(failure: &PortError, board: Option<BoardId>) {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    warn!(board.id = board.map(|board| board.0), error = text, "{} failed", failure.operation);
}

/// One line for each notice.
pub(super) fn notice(notice: &Notice) {
    match notice {
        Notice::Delivered { claim, lane, legs } => {
            info!(claim.id = claim.0, lane, legs, "delivered");
        }
        Notice::Postponed { claim, lane, verdict, until, detail } => warn!(
            claim.id = claim.0,
            lane,
            verdict,
            due_at = until.secs(),
            error = detail.as_str(),
            "not delivered; will be tried again"
        ),
        Notice::Unknown { claim, lane, detail } => {
            warn!(claim.id = claim.0, lane, error = detail.as_str(), "outcome unknown; finding out")
        }
        Notice::Parked { leg, reason } => error!(
            leg.id = leg.0,
            error = reason.as_str(),
            "parked in the dead letters; see `kanban-gateway dead list`"
        ),
        Notice::Expired { board, events } => {
            warn!(board.id = board.0, events, "expired: older than max_age when first seen");
        }
        Notice::NeedsAccept { board, events: 0 } => error!(
            board.id = board.0,
            "the clock is behind the board's newest event; set it, or start with --accept"
        ),
        Notice::NeedsAccept { board, events } => error!(
            board.id = board.0,
            events, "so many events would expire unsent; start with --accept if that is right"
        ),
        Notice::Paused { channel, until, reason, credential: true } => error!(
            channel = channel.as_str(),
            until = until.secs(),
            error = reason.as_str(),
            "credential refused; the channel rests until it is right"
        ),
        Notice::Paused { channel, until, reason, credential: false } => warn!(
            channel = channel.as_str(),
            until = until.secs(),
            error = reason.as_str(),
            "destination unreachable; the channel rests and is tried again"
        ),
        Notice::Resumed { channel } => info!(channel = channel.as_str(), "channel resumed"),
        Notice::Rotated { from, to } => {
            info!(session.from = from, session.to = to, "a session goes on under another name");
        }
        Notice::Unserved { board, rows } => {
            for ((why, platform), count) in rows {
                info!(board.id = board.0, platform, rows = count, "not served: {}", why.text());
            }
        }
        Notice::Spoilt { board, key, reason } => warn!(
            board.id = board.0,
            subscription.key = key,
            error = reason.as_str(),
            "a row cannot be read and is left out"
        ),
        Notice::CursorAhead { board, cursor, newest } => warn!(
            board.id = board.0,
            cursor.from = cursor.0,
            event.newest = newest.0,
            "a cursor is above the newest event"
        ),
        Notice::Degraded { board, reason } => {
            error!(board.id = board.0, error = reason.as_str(), "board degraded");
        }
        Notice::Opened { board, slug } => {
            debug!(board.id = board.0, board.slug = slug, "board opened");
        }
    }
}
