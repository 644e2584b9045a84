//! What people are told: facts for the log, without any text of a card.

use std::collections::BTreeMap;

use crate::{
    event::Kind,
    facts::Cut,
    ids::{BoardId, ChannelName, ClaimId, EventId, LegId},
    ownership::Why,
    time::Timestamp,
    verdict::Detail,
};

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A claim was delivered.
    Delivered {
        /// The claim.
        claim: ClaimId,
        /// Its lane.
        lane: String,
        /// How many legs it carried.
        legs: usize,
    },
    /// A claim was not delivered and will be tried again.
    Postponed {
        /// The claim.
        claim: ClaimId,
        /// Its lane.
        lane: String,
        /// The verdict.
        verdict: &'static str,
        /// Until when its legs wait.
        until: Timestamp,
        /// For people.
        detail: Detail,
        /// Whether the attempt before failed too.
        again: bool,
    },
    /// A destination takes what it is sent, after attempts that failed.
    Recovered {
        /// Its lane.
        lane: String,
    },
    /// The outcome of a claim is unknown and is being found out.
    Unknown {
        /// The claim.
        claim: ClaimId,
        /// Its lane.
        lane: String,
        /// For people.
        detail: Detail,
    },
    /// A leg went to the dead letters.
    Parked {
        /// The leg.
        leg: LegId,
        /// Why.
        reason: Detail,
    },
    /// Events were too old and were not delivered (law F4).
    Expired {
        /// The board.
        board: BoardId,
        /// How many.
        events: usize,
    },
    /// A text is longer than what is told of it.
    Cut {
        /// The board.
        board: BoardId,
        /// The task.
        task: String,
        /// The event.
        event: EventId,
        /// Its kind.
        kind: Kind,
        /// How much is told.
        cut: Cut,
    },
    /// A board waits for the operator's `--accept` (law F4).
    NeedsAccept {
        /// The board.
        board: BoardId,
        /// How many events would expire; 0 when the clock is behind the board.
        events: usize,
    },
    /// A channel is not used until then.
    Paused {
        /// The channel.
        channel: ChannelName,
        /// Until when.
        until: Timestamp,
        /// Why.
        reason: Detail,
        /// Whether its credential was refused; else nobody was there.
        credential: bool,
    },
    /// An earlier process was refused on a channel; its credential is probed now.
    RefusedBefore {
        /// The channel.
        channel: ChannelName,
        /// What it was told then.
        reason: Detail,
    },
    /// A channel is used again.
    Resumed {
        /// The channel.
        channel: ChannelName,
    },
    /// A session answers under another name from now on (law W3).
    Rotated {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Rows that nobody or somebody else serves changed in number, by reason and platform.
    Unserved {
        /// The board.
        board: BoardId,
        /// How many rows.
        rows: BTreeMap<(Why, String), usize>,
    },
    /// A row cannot be read and is left out.
    Spoilt {
        /// The board.
        board: BoardId,
        /// The row's key, as far as it is known.
        key: String,
        /// What is wrong with it.
        reason: Detail,
    },
    /// A board's cursor of a row is above its newest event (law B6).
    CursorAhead {
        /// The board.
        board: BoardId,
        /// The cursor.
        cursor: EventId,
        /// The newest event.
        newest: EventId,
    },
    /// A board is not delivered from for now (law B7).
    Degraded {
        /// The board.
        board: BoardId,
        /// Why.
        reason: Detail,
    },
    /// A board is delivered from.
    Opened {
        /// The board.
        board: BoardId,
        /// Its slug.
        slug: String,
    },
}
