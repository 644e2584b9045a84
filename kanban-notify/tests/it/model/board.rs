//! A board in memory, with the contract of `ports::Boards`.

use std::collections::{BTreeMap, BTreeSet};

use kanban_notify::{
    event::{Event, Kind, Task},
    ids::EventId,
    record::{Part, Pass, PassRequest, Position, RowChange, RowOutcome, Sweep},
    subscription::{Mode, Row, SubKey},
    time::Timestamp,
};

#[derive(Default)]
pub struct ModelBoard {
    pub events: Vec<Event>,
    pub rows: Vec<Row>,
    /// Every value that a row's cursor ever had, to prove that it never falls.
    pub cursor_falls: usize,
    /// Rowids are not given out again: that is the store's business.
    pub newest_rowid: i64,
    /// Keys of rows that are gone; nobody subscribes anew.
    pub gone: Vec<SubKey>,
    /// At most so many events come along with those looked for; 0 for no bound.
    pub most: usize,
}

impl ModelBoard {
    pub fn subscribe(&mut self, task: &str, platform: &str, chat: &str, now: Timestamp) {
        let key = SubKey {
            task: task.into(),
            platform: platform.into(),
            chat: chat.into(),
            thread: String::new(),
        };
        if self.gone.contains(&key) || self.rows.iter().any(|row| row.key == key) {
            return;
        }
        self.newest_rowid += 1;
        let rowid = self.newest_rowid;
        self.rows.push(Row {
            key,
            created_at: Timestamp::from_secs(now.secs()),
            cursor: EventId(0),
            owner: Some("default".into()),
            user: None,
            mode: Mode::Unset,
            rowid,
        });
    }

    pub fn happen(&mut self, task: &str, kind: Kind, now: Timestamp) -> EventId {
        let id = EventId(i64::try_from(self.events.len()).unwrap() + 1);
        self.events.push(Event {
            id,
            task: task.into(),
            kind,
            payload: None,
            payload_cut: None,
            run: None,
            created_at: Timestamp::from_secs(now.secs()),
        });
        id
    }

    pub fn newest(&self) -> EventId {
        self.events.last().map(|event| event.id).unwrap_or_default()
    }

    pub fn read(&self, request: &PassRequest) -> Pass {
        let newest = self.newest();
        let apart = |task: &str| request.resume.iter().any(|(other, _)| other == task);
        let mut events: Vec<Event> = match request.sweep {
            Sweep::No => {
                let new_to = |event: &Event, row: &Row| {
                    row.rowid > request.after.rowid
                        && row.key.task == event.task
                        && event.id > row.cursor
                };
                let wanted = |event: &&Event| {
                    event.id > request.after.event || self.rows.iter().any(|row| new_to(event, row))
                };
                self.events.iter().filter(wanted).cloned().collect()
            }
            Sweep::Above(above) => self
                .events
                .iter()
                .filter(|event| {
                    let unseen = |row: &&Row| row.key.task == event.task && event.id > row.cursor;
                    // The tail comes along, but for the first sight of a board.
                    let first = request.after.event == EventId(0);
                    let tail = !first && event.id > request.after.event;
                    tail || event.id > above && self.rows.iter().any(|row| unseen(&row))
                })
                .cloned()
                .collect(),
        };
        events.retain(|event| !apart(&event.task));
        let cut = events.len() > request.limit;
        events.truncate(request.limit);
        let last = events.last().map(|event| event.id);
        let (more, sweep_from, next) = match request.sweep {
            Sweep::No => (cut, None, if cut { last.unwrap_or(newest) } else { newest }),
            Sweep::Above(_) => (false, last.filter(|_| cut), newest),
        };
        let parts = self.complete(request, &mut events, next);
        let rows = self
            .rows
            .iter()
            .filter(|row| {
                row.rowid > request.after.rowid
                    || events.iter().any(|event| event.task == row.key.task)
                    || parts.iter().any(|part| part.task == row.key.task)
            })
            .cloned()
            .collect();
        let watched = request
            .watch
            .iter()
            .map(|key| (key.clone(), self.rows.iter().find(|row| row.key == *key).cloned()))
            .collect();
        Pass {
            tasks: events
                .iter()
                .map(|event| Task { id: event.task.clone(), title: "t".into(), ..Task::default() })
                .collect(),
            events,
            parts,
            rows,
            watched,
            next: Position { event: next, rowid: self.newest_rowid, ..Position::default() },
            complete_above: request.after.rowid,
            more,
            sweep_from,
            newest,
            ..Pass::default()
        }
    }

    /// What else is unsettled of the events' and the new rows' tasks, as far as there is room.
    fn complete(&self, request: &PassRequest, events: &mut Vec<Event>, next: EventId) -> Vec<Part> {
        if self.most == 0 {
            return Vec::new();
        }
        let fresh = |task: &str| {
            self.rows.iter().any(|row| row.rowid > request.after.rowid && row.key.task == task)
        };
        let mut whole: BTreeSet<String> = events.iter().map(|event| event.task.clone()).collect();
        whole.extend(self.rows.iter().map(|row| row.key.task.clone()).filter(|task| fresh(task)));
        let floor = |task: &str| {
            let cursors = self.rows.iter().filter(|row| row.key.task == task).map(|row| row.cursor);
            cursors.min().map_or(next, |cursor| cursor.min(next))
        };
        let unsettled =
            |event: &&Event| whole.contains(&event.task) && event.id > floor(&event.task);
        let mut shown: Vec<Event> = self.events.iter().filter(unsettled).cloned().collect();
        let mut parts = Vec::new();
        let part = |task: &str, above, up_to| Part {
            task: task.to_owned(),
            above,
            up_to,
            history: self.history(task),
        };
        if let Some(up_to) = self.cut(&mut shown) {
            events.retain(|event| event.id <= up_to);
            parts.extend(whole.iter().map(|task| part(task, None, Some(up_to))));
        }
        let known = request.resume.iter().filter(|(task, _)| !fresh(task));
        let known: BTreeMap<&str, EventId> =
            known.filter_map(|(task, above)| Some((task.as_str(), (*above)?))).collect();
        let further =
            |event: &&Event| known.get(event.task.as_str()).is_some_and(|above| event.id > *above);
        let mut resumed: Vec<Event> = self.events.iter().filter(further).cloned().collect();
        let up_to = self.cut(&mut resumed);
        parts.extend(known.iter().map(|(task, above)| part(task, Some(*above), up_to)));
        events.extend(shown);
        events.extend(resumed);
        events.sort_by_key(|event| event.id);
        events.dedup_by_key(|event| event.id);
        parts
    }

    fn cut(&self, events: &mut Vec<Event>) -> Option<EventId> {
        let more = events.len() > self.most;
        events.truncate(self.most);
        events.last().filter(|_| more).map(|event| event.id)
    }

    fn history(&self, task: &str) -> Vec<(i64, EventId)> {
        let rows = self.rows.iter().filter(|row| row.key.task == task && row.cursor == EventId(0));
        rows.filter_map(|row| {
            let older = self.events.iter().filter(|event| {
                event.task == task && event.created_at.secs() < row.created_at.secs()
            });
            Some((row.rowid, older.map(|event| event.id).max()?))
        })
        .collect()
    }

    pub fn change(&mut self, changes: &[RowChange]) -> Vec<RowOutcome> {
        changes.iter().map(|change| self.change_one(change)).collect()
    }

    fn change_one(&mut self, change: &RowChange) -> RowOutcome {
        let (RowChange::Raise { key, .. }
        | RowChange::Stamp { key, .. }
        | RowChange::Delete { key, .. }) = change;
        let Some(row) = self.rows.iter_mut().find(|row| row.key == *key) else {
            return RowOutcome::Gone;
        };
        match change {
            RowChange::Raise { to, .. } => {
                self.cursor_falls += usize::from(*to < EventId(0));
                row.cursor = row.cursor.max(*to);
                RowOutcome::Won
            }
            RowChange::Stamp { from, to, .. } if row.owner == *from => {
                row.owner.clone_from(to);
                RowOutcome::Won
            }
            RowChange::Stamp { .. } => RowOutcome::Lost,
            RowChange::Delete { .. } => {
                self.rows.retain(|row| row.key != *key);
                RowOutcome::Won
            }
        }
    }
}
