//! What a pass shows of one task: all of its unseen events, or a part of them.

use super::Decision;
use crate::{event::Event, ids::EventId, record::Part, subscription::Row};

/// What a pass shows of one task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    events: &'a [&'a Event],
    /// What is left out, if anything is.
    part: Option<&'a Part>,
    /// Nothing at or below this one is shown: where the pass was asked to go on, or the lowest cursor of
    /// the rows that are there.
    start: Option<EventId>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        events: Option<&'a Vec<&'a Event>>,
        part: Option<&'a Part>,
        lowest: Option<EventId>,
    ) -> Self {
        let start = part.and_then(|part| part.above).or(lowest);
        Self { events: events.map(Vec::as_slice).unwrap_or_default(), part, start }
    }

    pub(super) fn events(&self) -> &'a [&'a Event] {
        self.events
    }

    /// Whether the pass is not about this task.
    pub(super) fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.part.is_none()
    }

    /// F3: a cursor above 0 alone decides; at 0, what is older than the row's second is history.
    pub(super) fn baseline(&self, row: &Row) -> EventId {
        if row.cursor > EventId(0) {
            return row.cursor;
        }
        let old = |event: &&&Event| event.created_at.secs() < row.created_at.secs();
        let shown = self.events.iter().filter(old).map(|event| event.id).max();
        shown.unwrap_or_default().max(self.history(row))
    }

    /// The newest event that is older than a row without a cursor, as far as it is not shown.
    fn history(&self, row: &Row) -> EventId {
        let known = self.part.into_iter().flat_map(|part| &part.history);
        let of_row = known.filter(|(rowid, _)| *rowid == row.rowid);
        of_row.map(|(_, event)| *event).max().unwrap_or_default()
    }

    /// Whether events may be missing between `floor` and those shown. A row that is gone may have had a
    /// cursor below all that are left.
    pub(super) fn has_gap_above(&self, floor: EventId) -> bool {
        self.start.is_some_and(|start| floor < start)
    }

    /// Whether there may be later events.
    pub(super) fn goes_on(&self) -> bool {
        self.part.is_some_and(|part| part.up_to.is_some())
    }
}

impl Decision {
    /// The next pass has to show this task's events above `floor`.
    pub(super) fn fall_behind(&mut self, task: &str, floor: EventId) {
        let behind = self.behind.entry(task.to_owned()).or_insert(floor);
        *behind = floor.min(*behind);
    }
}
