//! The pinned body of a push message: all its parts, each with its markup and as plain text (laws D3, D5).

use kanban_notify::{
    artifacts::Attachment,
    message::{Destination, Message, Parcel, Span},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::split::{Format, REPEAT, split};

/// One part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The text without markup.
    pub text: String,
    /// The same with markup, in the platform's own form; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rich: Option<Value>,
}

/// A file of a message: where it is and what it was when it was looked at, not what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Where it really is.
    pub path: String,
    /// Its name for people and receivers.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What tells it from others, and from itself after a change.
    pub mark: String,
}

impl From<&Attachment> for File {
    fn from(file: &Attachment) -> Self {
        let Attachment { path, name, size, mark } = file.clone();
        Self { path, name, size, mark }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Pinned {
    parts: Vec<Part>,
    /// What goes after the text, each group in a part of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<Vec<File>>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    data: Value,
}

/// The bytes of a message whose parts are made one by one, from 0, of what [`split`] puts into each, and
/// with whatever else belongs to it: each part has that, also as plain text.
pub fn pin_each(
    message: &Message,
    format: &Format,
    data: Value,
    part: impl Fn(usize, &[Span]) -> Part,
) -> String {
    pin_files(message, format, data, part, Vec::new())
}

/// The same with files: each group is one more part (law D5).
pub fn pin_files(
    message: &Message,
    format: &Format,
    data: Value,
    part: impl Fn(usize, &[Span]) -> Part,
    files: Vec<Vec<File>>,
) -> String {
    let parts = split(&message.spans, format);
    let parts = parts.iter().enumerate().map(|(number, spans)| part(number, spans)).collect();
    // Texts and JSON values always have a JSON form.
    serde_json::to_string(&Pinned { parts, files, data }).unwrap_or_default()
}

/// A part that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next<'a> {
    /// The chat it goes to.
    pub chat: &'a str,
    /// The thread in it; empty for none.
    pub thread: &'a str,
    /// Its idempotency value.
    pub key: String,
    /// The part: its markup is gone where the parcel wants plain text.
    pub part: Part,
    /// The files that it is, where it is no text.
    pub files: Vec<File>,
    /// What stands before it: a mark, or nothing.
    pub before: &'static str,
    /// What else belongs to the message; null for nothing.
    pub data: Value,
    /// How many parts the message has.
    pub parts: usize,
    number: u32,
    more: bool,
}

impl Next<'_> {
    /// The text with what stands before it, without markup.
    pub fn text(&self) -> String {
        format!("{}{}", self.before, self.part.text)
    }

    /// The same with markup, where that is a text too.
    pub fn rich(&self) -> Option<String> {
        let rich = self.part.rich.as_ref().and_then(Value::as_str);
        rich.map(|rich| format!("{}{rich}", self.before))
    }

    /// Which part it is, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The verdict once the receiver has accepted it.
    pub fn accepted(&self, remote_id: Option<String>) -> Verdict {
        let receipt = Receipt { remote_id, ..Receipt::default() };
        if self.more {
            Verdict::Part { receipt, next: self.number.saturating_add(1) }
        } else {
            Verdict::Delivered(receipt)
        }
    }
}

/// The part of a parcel that is to be sent, and where.
///
/// # Errors
///
/// A permanent verdict, where the parcel goes to no chat, or its pinned bytes are none of this platform.
pub fn next(parcel: &Parcel) -> Result<Next<'_>, Verdict> {
    let Destination::Chat { chat, thread, .. } = &parcel.destination else {
        return Err(unfit(Fault::Target, "a session is no chat"));
    };
    let refused = |reason| unfit(Fault::Payload, reason);
    let pinned: Pinned = serde_json::from_str(&parcel.body)
        .map_err(|_| refused("the pinned body is no message of this platform"))?;
    let number = usize::try_from(parcel.part).unwrap_or(usize::MAX);
    let texts = pinned.parts.len();
    let parts = texts.saturating_add(pinned.files.len());
    let more = number.saturating_add(1) < parts;
    let text = pinned.parts.into_iter().nth(number);
    let files = number.checked_sub(texts).and_then(|after| pinned.files.into_iter().nth(after));
    if text.is_none() && files.is_none() {
        return Err(refused("the pinned body has no such part"));
    }
    let (mut part, files) = (text.unwrap_or_default(), files.unwrap_or_default());
    if parcel.plain {
        part.rich = None;
    }
    Ok(Next {
        chat,
        thread,
        key: parcel.part_key(),
        part,
        files,
        before: if parcel.repeat { REPEAT } else { "" },
        data: pinned.data,
        parts,
        number: parcel.part,
        more,
    })
}

/// The verdict of what cannot be sent as it is.
pub fn unfit(fault: Fault, reason: &str) -> Verdict {
    Verdict::Permanent { fault, detail: Detail::new(reason) }
}

#[cfg(test)]
mod tests {
    use kanban_notify::ids::ChannelName;

    use super::*;

    fn parcel(body: String, part: u32) -> Parcel {
        let channel = ChannelName("x".into());
        let to = Destination::Chat { channel, chat: "c".into(), thread: String::new() };
        Parcel { part, ..Parcel::new(to, "k".into(), body) }
    }

    #[test]
    fn d5_each_part_comes_in_its_turn_and_the_last_one_ends_the_message() {
        let part = |text: &str| Part { text: text.into(), rich: Some("r".into()) };
        let written = |pinned: &Pinned| serde_json::to_string(pinned).unwrap();
        let parts = vec![part("a"), part("b")];
        let body = written(&Pinned { parts, ..Pinned::default() });
        let first = parcel(body.clone(), 0);
        let first = next(&first).unwrap();
        assert_eq!((first.chat, first.text().as_str(), first.before), ("c", "a", ""));
        assert_eq!(first.rich().as_deref(), Some("r"));
        assert!(matches!(first.accepted(None), Verdict::Part { next: 1, .. }));
        let last = Parcel { plain: true, repeat: true, ..parcel(body.clone(), 1) };
        let last = next(&last).unwrap();
        assert_eq!((last.part, last.before), (Part { text: "b".into(), rich: None }, REPEAT));
        let file = File { path: "/a".into(), name: "a".into(), size: 1, mark: "m".into() };
        let files = vec![vec![file.clone()], vec![file.clone(), file]];
        let pinned = Pinned { parts: vec![part("a")], files, ..Pinned::default() };
        let with = written(&pinned);
        let of = |part| parcel(with.clone(), part);
        let (text, one, two) = (of(0), of(1), of(2));
        let text = next(&text).unwrap();
        assert!(text.files.is_empty() && text.parts == 3);
        let one = next(&one).unwrap();
        assert_eq!((one.part.text.as_str(), one.files.len()), ("", 1));
        assert!(matches!(one.accepted(None), Verdict::Part { next: 2, .. }));
        let two = next(&two).unwrap();
        assert!(two.files.len() == 2 && matches!(two.accepted(None), Verdict::Delivered(_)));
        assert_eq!(next(&of(3)).unwrap_err().name(), "payload");
        for (body, part) in [(body, 2), ("{}".into(), 0), (String::new(), 0)] {
            assert_eq!(next(&parcel(body, part)).unwrap_err().name(), "payload");
        }
    }
}
