//! What Hermes' own commands write to a board, in the same shape (law B1): one file per operation.
//!
//! Times are Unix seconds and always given. Each operation is one immediate transaction, and waits
//! up to [`PATIENCE`] for the board's write lock (laws B3, B4). What is refused is not written; the
//! two refusals that leave an event behind, as they do in Hermes, say so.
//!
//! Each file is written as the Hermes would write it that gave it its columns (law B2). What is
//! written differs from Hermes 0.19 in this, and in nothing else:
//!
//! - What Hermes spreads over several transactions is one here: nothing is half done after a crash.
//! - Notes on attempts that somebody else left open, and on approvals, are in words of our own.
//! - A subscription starts caught up, as it does after 0.19: it does not repeat what happened before.
//! - Subscriptions, and refusals because of tasks that a worker did not make, are written for tasks
//!   that are on the board only. Hermes' commands look first as well, its functions do not.
//! - Whole numbers of more than 64 bits in metadata are rounded.
//! - What is said to hooks of plugins, and all that is done to processes and folders, is left to
//!   Hermes: see [`complete_with`] and [`archive()`].

mod archive;
mod assign;
mod block;
mod boards;
mod cards;
mod claim;
mod comment;
mod complete;
mod create_board;
mod create_task;
mod event;
mod heartbeat;
mod inherit;
mod json;
mod link;
mod metadata;
mod options;
mod parents;
mod promote;
mod ready;
mod request_changes;
mod request_review;
mod resume;
mod run;
mod schedule;
mod subscribe;
mod task;
mod text;
mod unblock;
mod unlink;

use std::time::Duration;

pub use archive::archive;
pub use assign::assign;
pub use block::{BlockKind, Blocked, Stop, block, block_with, depend};
pub use boards::{archive_board, use_board};
pub use claim::{CLAIM_SECONDS, Claim, Claimant, claim, claim_review};
pub use comment::comment;
pub use complete::{Completion, Handover, complete, complete_with};
pub use create_board::{create_board, create_named_board};
pub use create_task::{NewTask, create_task, create_task_with};
pub use heartbeat::{extend_claim, heartbeat};
pub use link::link;
pub use metadata::Metadata;
pub use options::{Start, TaskOptions, Workspace};
pub use promote::{Promotion, promote};
pub use ready::recompute_ready;
pub use request_changes::{HandedBack, request_changes};
pub use request_review::{Review, request_review};
pub use schedule::schedule;
pub use subscribe::{NewSubscription, subscribe, unsubscribe};
pub use unblock::{Unblocked, unblock};
pub use unlink::unlink;

/// How long an operation waits for the write lock.
pub const PATIENCE: Duration = Duration::from_secs(30);
