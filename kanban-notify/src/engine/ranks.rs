//! The tracks of a lane in the order of their first legs: what is asked for with each step is the first one
//! that may go, and there may be very many behind it.

use super::{Engine, state::OpenLeg};
use crate::{
    ids::{BoardId, EventId, SubscriptionId},
    leg::LegKind,
    time::Timestamp,
};

/// A track among those of its lane: by its first leg, the oldest event first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    at: Timestamp,
    board: BoardId,
    event: EventId,
    pub(super) track: (SubscriptionId, LegKind),
}

impl Engine {
    /// Puts a track where its first leg belongs among those of its lane, after a leg came or went.
    pub(super) fn rank(&mut self, key: (SubscriptionId, LegKind)) {
        let Some(track) = self.tracks.get_mut(&key) else {
            return;
        };
        let board = self.subs.get(&key.0).map_or(BoardId(0), |sub| sub.board);
        let of =
            |open: &OpenLeg| Rank { at: open.facts.at, board, event: open.leg.event, track: key };
        let rank = track.legs.values().next().map(|first| of(first));
        if rank == track.rank {
            return;
        }
        let before = std::mem::replace(&mut track.rank, rank);
        if let Some(state) = self.lanes.get_mut(&track.lane) {
            if let Some(before) = before {
                state.tracks.remove(&before);
            }
            state.tracks.extend(rank);
        }
    }
}
