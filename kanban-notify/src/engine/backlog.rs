//! Tasks to which more happened than a pass has room for: they are read on bit by bit, and no faster than
//! somebody hears of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Engine,
    state::{BEHIND_RETRY, Sub, TASK_LEGS, Timer},
};
use crate::{
    ids::{BoardId, EventId, SubscriptionId},
    record::{Pass, Position},
    time::Timestamp,
};

/// Events that passes had no room for.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    /// Their tasks, and above which event they begin.
    pub(super) tasks: BTreeMap<String, EventId>,
    /// Those of which some subscription has heard all that was read.
    pub(super) heard: BTreeSet<String>,
    /// Where the ledger is to go on reading after a restart.
    pub(super) held: Option<Position>,
}

impl Engine {
    /// Where to go on. A task whose subscriptions all have much to do is left alone for now; its cursors
    /// stay below what was not read.
    pub(super) fn unfinished(&self, board: BoardId) -> Vec<(String, Option<EventId>)> {
        let Some(state) = self.boards.get(&board) else { return Vec::new() };
        let full = self.full(board);
        let tasks = state.backlog.tasks.iter();
        tasks
            .map(|(task, above)| (task.clone(), (!full.contains(task.as_str())).then_some(*above)))
            .collect()
    }

    /// Whether some task is to be read on.
    pub(super) fn is_behind(&self, board: BoardId) -> bool {
        let tasks = self.boards.get(&board).map_or(0, |state| state.backlog.tasks.len());
        tasks > self.full(board).len()
    }

    /// Takes over what a pass left on the board, and sees to it that it is read.
    pub(super) fn leave_behind(
        &mut self,
        board: BoardId,
        pass: &Pass,
        behind: BTreeMap<String, EventId>,
        now: Timestamp,
    ) {
        let Some(state) = self.boards.get_mut(&board) else { return };
        state.backlog_before = Some(state.backlog.clone());
        let backlog = &mut state.backlog;
        for part in &pass.parts {
            backlog.tasks.remove(&part.task);
            backlog.heard.remove(&part.task);
        }
        backlog.tasks.extend(behind);
        let Some(lowest) = backlog.tasks.values().min() else {
            backlog.held = None;
            backlog.heard.clear();
            return;
        };
        // Rows may vanish that were offered to us, and nothing but the tail would find their events again
        // after a restart: the ledger goes on where everything before was planned.
        let held = backlog.held.get_or_insert_with(|| state.start.position.clone());
        // The zero position would mean that the board was never seen.
        let lowest = (*lowest).max(EventId(1));
        if held.event == EventId(0) || lowest < held.event {
            held.event = lowest;
            held.event_print = None;
        }
        if self.is_behind(board) {
            if let Some(state) = self.boards.get_mut(&board) {
                state.again = true;
            }
        } else {
            self.set_timer(Timer::Read(board), now.after(BEHIND_RETRY));
        }
    }

    /// A subscription has nothing open any more: it does not wait for others of its task that are slower
    /// (law D4).
    pub(super) fn has_heard(&mut self, sub: SubscriptionId) {
        let Some(Sub { board, subscription, .. }) = self.subs.get(&sub) else { return };
        let Some(state) = self.boards.get_mut(board) else { return };
        let task = &subscription.key.task;
        if state.backlog.tasks.contains_key(task) {
            state.backlog.heard.insert(task.clone());
        }
    }

    /// The tasks behind of which every subscription with something open has much open, and none has heard
    /// all.
    fn full(&self, board: BoardId) -> BTreeSet<&str> {
        let Some(state) = self.boards.get(&board) else { return BTreeSet::new() };
        let Backlog { tasks, heard, .. } = &state.backlog;
        if tasks.is_empty() {
            return BTreeSet::new();
        }
        let mut fewest: BTreeMap<&str, usize> = BTreeMap::new();
        for ((id, _), track) in &self.tracks {
            let Some(sub) = self.subs.get(id).filter(|sub| sub.board == board) else { continue };
            if let Some((task, _)) = tasks.get_key_value(&sub.subscription.key.task) {
                let fewest = fewest.entry(task).or_insert(usize::MAX);
                *fewest = track.legs.len().min(*fewest);
            }
        }
        let full = fewest.into_iter().filter(|(_, open)| *open >= TASK_LEGS).map(|(task, _)| task);
        full.filter(|task| !heard.contains(*task)).collect()
    }
}
