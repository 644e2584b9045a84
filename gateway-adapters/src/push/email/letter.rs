//! The letter: its headers, its thread, its text. Nothing that is quoted reaches a header unbounded or unencoded.

use kanban_notify::{
    artifacts::Takes,
    message::{Message, flat},
};
use lettre::{
    Address,
    message::{
        Attachment, Body, Mailbox, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0},
    },
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::push::{
    attach::{content_type, told},
    pin::{File, Next, Part, pin_each},
    split::Format,
};

/// In characters; the rest of the first line is in the text.
const SUBJECT: usize = 150;

/// A letter is put together in memory, and most servers take one of 25 MB as it is encoded.
pub(super) const TAKES: Takes = Takes { file: FILES, total: FILES };
const FILES: u64 = 10 << 20;

/// The pinned bytes of a message.
pub(super) fn pinned(message: &Message, format: &Format) -> String {
    let text = message.text();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SUBJECT).collect();
    // What begins like this in a header would be decoded by whoever reads it.
    let subject = format!("[kanban] {}", line.trim().replace("=?", "= ?"));
    let thread = message.facts.first().map(|fact| thread(&fact.board, &fact.task));
    let mut data = json!({"subject": subject, "thread": thread});
    let files: Vec<File> = message.files.iter().map(File::from).collect();
    if let Some(fields) = data.as_object_mut().filter(|_| !files.is_empty()) {
        fields.insert("files".to_owned(), json!(files));
    }
    pin_each(message, format, data, |_, spans| Part { text: flat(spans), rich: None })
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

/// The files that go with a part: they are in the last letter of a message.
pub(super) fn files(next: &Next<'_>) -> Vec<File> {
    let number = usize::try_from(next.number()).unwrap_or(usize::MAX);
    let files = next.data.get("files").filter(|_| number.saturating_add(1) == next.parts);
    files.and_then(|files| serde_json::from_value(files.clone()).ok()).unwrap_or_default()
}

/// What is with the text of a letter.
#[derive(Debug, Default)]
pub(super) struct With {
    /// Files by name and content.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Files that are not, with the reason.
    pub(super) lost: Vec<(String, String)>,
}

/// One part as a letter.
pub(super) fn of(
    from: &Address,
    to: &Address,
    id: &str,
    next: &Next<'_>,
    with: With,
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
        // Nobody's absence is told to a gateway.
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    if let Some(thread) = text_of("thread") {
        let thread = message_id(from, thread);
        letter = letter.in_reply_to(thread.clone()).references(thread);
    }
    let mut text = next.text();
    if !with.lost.is_empty() {
        text.push('\n');
        text.push_str(&flat(&told(&with.lost)));
    }
    let clean =
        text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c });
    let clean: String = clean.collect();
    if with.files.is_empty() {
        return Ok(letter.header(ContentType::TEXT_PLAIN).body(clean)?.formatted());
    }
    let mut parts = MultiPart::mixed().singlepart(SinglePart::plain(clean));
    for (name, content) in with.files {
        let Ok(kind) = ContentType::parse(content_type(&name)) else { continue };
        // Whatever it is: no line of it is changed on the way.
        let content = Body::new_with_encoding(content, ContentTransferEncoding::Base64);
        let Ok(content) = content else { continue };
        parts = parts.singlepart(Attachment::new(name).body(content, kind));
    }
    Ok(letter.multipart(parts)?.formatted())
}
