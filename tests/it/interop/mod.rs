//! The gateway beside the real hermes-agent, with nothing faked but the model.
//!
//! But for [`archived`], [`discovery`], [`forms`], [`generations`] and [`webhooks`], every test starts the gateway as a process
//! of its own (see [`ours`]) on a home that Hermes' commands made, and checks what came of it with
//! Hermes' commands and its API server.

mod archived;
mod beside;
mod commands;
mod differential;
mod discovery;
mod forms;
mod generations;
mod ours;
mod rows;
mod scene;
mod turns;
mod verdicts;
mod webhooks;
mod whole_loop;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::support::hermes::{Board, Client, Home, HomeBuilder, StubModel, Turn, Writer, require};
use ours::Ours;

/// Longer than anything takes that is not stuck, on a loaded machine too.
const SOON: Duration = Duration::from_secs(60);

/// The mark of a wake (law W9).
const MARK: &str = "[kanban]";

/// A model and a home; `None` where the package is not installed.
async fn stage(make: impl FnOnce(HomeBuilder) -> HomeBuilder) -> Option<(StubModel, Home)> {
    let hermes = require()?;
    let stub = StubModel::start().await;
    let home = make(hermes.home(&stub.url())).build().await;
    Some((stub, home))
}

/// The turns of a session that are wakes.
async fn wakes(client: &Client, session: &str) -> Vec<Turn> {
    let mut turns = client.turns(session).await;
    turns.retain(|turn| turn.user.contains(MARK));
    turns
}

/// The only task of a board with this title.
async fn task_titled(board: &Board, title: &str) -> String {
    let mut tasks = tasks_by_title(board).await;
    tasks.remove(title).unwrap_or_else(|| panic!("no task {title:?}"))
}

/// The ids of a board's tasks by their titles, which must be different.
async fn tasks_by_title(board: &Board) -> BTreeMap<String, String> {
    let list = board.list().await;
    let pairs: Vec<_> = list.iter().map(|task| (text(task, "title"), text(task, "id"))).collect();
    let count = pairs.len();
    let tasks: BTreeMap<String, String> = pairs.into_iter().collect();
    assert_eq!(tasks.len(), count, "two tasks have one title: {list:?}");
    tasks
}

/// Every subscription's cursor is at its task's newest event, as Hermes' own functions see the file.
async fn cursors_are_at_the_end(board: &Board) {
    let mut reader = Writer::start(board).await;
    let rows = reader.query(
        "SELECT s.task_id, s.chat_id, s.last_event_id AS cursor, max(e.id) AS newest FROM \
         kanban_notify_subs s JOIN task_events e ON e.task_id = s.task_id GROUP BY s.rowid",
        Value::Null,
    );
    for row in rows.await {
        assert_eq!(row["cursor"], row["newest"], "{row}");
    }
    reader.stop().await;
}

#[track_caller]
fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap_or_else(|| panic!("no {field}: {row}")).to_owned()
}
