//! The body of a webhook: what happened for machines, and the same as a text (docs/PLATFORMS.md has the fields).

use kanban_notify::message::{Destination, Message, flat};
use serde_json::{Map, Value, json};

use crate::push::{
    pin::{Next, Part, pin_with},
    split::{Format, split},
};

/// The pinned bytes of a message.
pub(super) fn pinned(destination: &Destination, message: &Message, format: &Format) -> String {
    let events = message.facts.iter().map(|fact| {
        json!({"board": fact.board, "task": fact.task, "event": fact.event, "kind": fact.kind})
    });
    let kind = message.facts.first().map_or("notice", |fact| fact.kind);
    let (chat, thread) = match destination {
        Destination::Chat { chat, thread, .. } => (chat.as_str(), thread.as_str()),
        Destination::Session { .. } => ("", ""),
    };
    let data = json!({
        "type": format!("kanban.{kind}"),
        "events": events.collect::<Vec<_>>(),
        "chat": chat,
        "thread": thread,
        "possible_repeat": message.possible_repeat,
    });
    let parts = split(&message.spans, format);
    let parts = parts.iter().map(|spans| Part { text: flat(spans), rich: None });
    pin_with(parts.collect(), data)
}

/// The body of one part.
pub(super) fn of(next: &Next<'_>) -> Value {
    let mut data = next.data.as_object().cloned().unwrap_or_default();
    let kind = data.remove("type").unwrap_or_default();
    let repeat = data.get("possible_repeat") == Some(&Value::Bool(true));
    let more = Map::from_iter([
        ("text".to_owned(), next.text().into()),
        ("part".to_owned(), next.number().saturating_add(1).into()),
        ("parts".to_owned(), next.parts.into()),
        ("possible_repeat".to_owned(), (repeat || !next.before.is_empty()).into()),
    ]);
    data.extend(more);
    json!({"type": kind, "data": data})
}

/// A text as it is counted: as in JSON.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}
