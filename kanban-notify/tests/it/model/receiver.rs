//! A receiver in memory: fails on purpose, remembers keys or not, shows its history or not.

use std::collections::HashMap;

use kanban_notify::{
    history::{HistoryFold, HistoryRow, Role, SessionView},
    message::{Destination, Parcel},
    ports::LookError,
    time::Timestamp,
    verdict::{Detail, Fault, Receipt, Verdict},
};

#[derive(Default)]
pub struct Receiver {
    pub deduplicates: bool,
    pub readable: bool,
    /// Messages to chats are of one to three parts, by their event.
    pub in_parts: bool,
    pub answered: HashMap<String, ()>,
    pub rows: HashMap<String, Vec<(Timestamp, String)>>,
    /// What took effect: destination and body, the latter with the part where there are several.
    pub effects: Vec<(Destination, String)>,
}

/// How one request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ok,
    /// It takes effect, and nobody hears of it.
    Silent,
    /// It has no effect, and nobody hears of it.
    Lost,
    Refused,
    Busy,
    Error,
    FailedTurn,
    BadKey,
    /// A chat refuses markup, a session takes it.
    BadMarkup,
}

impl Fate {
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::Silent,
        Self::Lost,
        Self::Refused,
        Self::Busy,
        Self::Error,
        Self::FailedTurn,
        Self::BadKey,
        Self::BadMarkup,
    ];
}

impl Receiver {
    pub fn take(&mut self, parcel: &Parcel, fate: Fate, now: Timestamp) -> Verdict {
        let detail = Detail::new("as told");
        // A key that was answered is answered the same again, once the request gets that far.
        let known = self.deduplicates && self.answered.contains_key(&parcel.part_key());
        match fate {
            Fate::Error | Fate::FailedTurn | Fate::BadMarkup if known => self.accepted(parcel),
            Fate::BadMarkup if !parcel.plain && is_chat(parcel) => {
                Verdict::Permanent { fault: Fault::Payload, detail }
            }
            Fate::Ok | Fate::BadMarkup => {
                self.effect(parcel, now);
                self.accepted(parcel)
            }
            Fate::Silent => {
                self.effect(parcel, now);
                Verdict::Unknown { detail }
            }
            Fate::Lost => Verdict::Unknown { detail },
            Fate::Refused => Verdict::Unreachable { detail },
            Fate::Busy => Verdict::Busy { retry_after: None, detail },
            Fate::Error => Verdict::Retryable { retry_after: None, detail },
            Fate::FailedTurn => Verdict::FailedTurn { detail },
            Fate::BadKey => Verdict::Permanent { fault: Fault::Credential, detail },
        }
    }

    fn effect(&mut self, parcel: &Parcel, now: Timestamp) {
        if self.deduplicates && self.answered.insert(parcel.part_key(), ()).is_some() {
            return;
        }
        let mark = if parcel.repeat { " repeat" } else { "" };
        let effect = format!("{}{mark}{}", parcel.body, part_mark(parcel.part));
        self.effects.push((parcel.destination.clone(), effect));
        if let Destination::Session { session, .. } = &parcel.destination {
            self.rows.entry(session.clone()).or_default().push((now, parcel.body.clone()));
        }
    }

    fn accepted(&self, parcel: &Parcel) -> Verdict {
        let event = parcel.body.split(['<', '>']).find_map(|text| text.parse().ok());
        let parts = if self.in_parts && is_chat(parcel) { parts_of(event.unwrap()) } else { 1 };
        let (receipt, next) = (Receipt::default(), parcel.part + 1);
        if next < parts { Verdict::Part { receipt, next } } else { Verdict::Delivered(receipt) }
    }

    pub fn look(
        &self,
        session: &str,
        reference: Option<&str>,
        fails: bool,
    ) -> Result<SessionView, LookError> {
        if !self.readable {
            return Err(LookError::Unsupported);
        }
        if fails {
            return Err(LookError::Failed(Detail::new("as told")));
        }
        let Some(rows) = self.rows.get(session) else {
            return Ok(SessionView::default());
        };
        let mut fold = HistoryFold::new(reference);
        for (at, text) in rows {
            let at = Some(*at);
            fold.push(&HistoryRow { role: Role::User, text, calls_tools: false, at });
            fold.push(&HistoryRow { role: Role::Assistant, text: "done", calls_tools: false, at });
        }
        Ok(fold.finish(Some(session.to_owned())))
    }
}

/// How many parts the message about an event has, where messages have parts.
pub fn parts_of(event: i64) -> u32 {
    u32::try_from(event.rem_euclid(3)).unwrap() + 1
}

/// What a part's effect ends with.
pub fn part_mark(part: u32) -> String {
    format!(" part {part}")
}

fn is_chat(parcel: &Parcel) -> bool {
    matches!(parcel.destination, Destination::Chat { .. })
}
