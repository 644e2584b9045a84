//! The letter: its headers, its thread, its text. Nothing that is quoted reaches a header unbounded or unencoded.

use kanban_notify::message::{Message, flat};
use lettre::{
    Address,
    message::{
        Mailbox,
        header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0},
    },
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::push::{
    pin::{Next, Part, pin_with},
    split::{Format, split},
};

/// In characters; the rest of the first line is in the text.
const SUBJECT: usize = 150;

/// The pinned bytes of a message.
pub(super) fn pinned(message: &Message, format: &Format) -> String {
    let text = message.text();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SUBJECT).collect();
    // What begins like this in a header would be decoded by whoever reads it.
    let subject = format!("[kanban] {}", line.trim().replace("=?", "= ?"));
    let thread = message.facts.first().map(|fact| thread(&fact.board, &fact.task));
    let parts = split(&message.spans, format);
    let parts = parts.iter().map(|spans| Part { text: flat(spans), rich: None });
    pin_with(parts.collect(), json!({"subject": subject, "thread": thread}))
}

/// What all letters about one task answer to: a name that no letter has, which mail programs gather by.
fn thread(board: &str, task: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(board.len().to_be_bytes());
    hash.update(board);
    hash.update(task);
    let digest = hash.finalize();
    format!("task-{}", digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The identifier of a letter: the same for every attempt.
pub(super) fn message_id(from: &Address, local: &str) -> String {
    format!("<{local}@{}>", from.domain())
}

/// One part as a letter.
pub(super) fn of(
    from: &Address,
    to: &Address,
    id: &str,
    next: &Next<'_>,
) -> Result<Vec<u8>, lettre::error::Error> {
    let text_of = |key: &str| next.data.get(key).and_then(serde_json::Value::as_str);
    let subject = text_of("subject").unwrap_or("[kanban]");
    let subject = match next.parts {
        0 | 1 => subject.to_owned(),
        parts => format!("{subject} ({}/{parts})", next.number().saturating_add(1)),
    };
    let mut letter = lettre::Message::builder()
        .from(Mailbox::new(Some("kanban-gateway".to_owned()), from.clone()))
        .to(Mailbox::new(None, to.clone()))
        .subject(subject)
        .message_id(Some(id.to_owned()))
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN)
        // Nobody's absence is told to a gateway.
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    if let Some(thread) = text_of("thread") {
        let thread = message_id(from, thread);
        letter = letter.in_reply_to(thread.clone()).references(thread);
    }
    let text = next.text();
    let clean =
        text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c });
    Ok(letter.body(clean.collect::<String>())?.formatted())
}
