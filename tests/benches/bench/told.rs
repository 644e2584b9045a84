//! What is told of the tasks that a board is filled with.

use kanban_notify::{
    event::{Event, Kind, Task},
    facts,
    ids::EventId,
    record::Facts,
    time::Timestamp,
};

use crate::fill::PAYLOAD;

pub fn task() -> Task {
    Task {
        title: "Build report".to_owned(),
        assignee: Some("writer".to_owned()),
        ..Task::default()
    }
}

pub fn event(number: i64) -> Event {
    Event {
        id: EventId(100_000 + number),
        task: format!("t_{number:08x}"),
        kind: Kind::Completed,
        payload: Some(PAYLOAD.to_owned()),
        payload_cut: None,
        run: None,
        created_at: Timestamp::from_secs(1_800_000_000),
    }
}

pub fn facts_of(number: i64) -> Facts {
    facts::facts(&event(number), Some(&task()))
}
