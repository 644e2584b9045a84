//! The answer to a wake, and the verdict on it: the table of law W7.

use std::time::Duration;

use ::http::StatusCode;
use kanban_notify::verdict::{Detail, Fault, Receipt, Verdict};

use super::json::{Event, Path, Sink};
use crate::http::{BodyEnd, Redactor, StatusClass, class_of, refusal};

/// Everything of an answer that the verdict rests on.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) status: StatusCode,
    /// The session that the answer names.
    pub(super) session: Option<String>,
    /// Whether a header says that the turn did not complete.
    pub(super) incomplete: bool,
    pub(super) retry_after: Option<Duration>,
    /// Whether the body was one whole JSON object.
    pub(super) json: bool,
    pub(super) facts: AnswerFacts,
    pub(super) end: BodyEnd,
}

impl Heard {
    /// The verdict.
    pub(super) fn verdict(self, redactor: &Redactor) -> Verdict {
        let detail = self.detail(redactor);
        match class_of(self.status) {
            StatusClass::Success if !self.whole() => Verdict::Unknown { detail },
            StatusClass::Success if self.facts.failed() => Verdict::FailedTurn { detail },
            StatusClass::Success if !self.facts.has_answer => Verdict::Unknown { detail },
            StatusClass::Success => Verdict::Delivered(self.receipt()),
            StatusClass::Unclear
                if self.status == StatusCode::BAD_GATEWAY
                    && self.whole()
                    && self.facts.code == "agent_incomplete" =>
            {
                Verdict::FailedTurn { detail }
            }
            StatusClass::Payload
                if self.status == StatusCode::BAD_REQUEST && self.facts.is_about_session() =>
            {
                Verdict::Permanent { fault: Fault::Target, detail }
            }
            _ => refusal(self.status, self.retry_after, detail.clone())
                .unwrap_or(Verdict::Unknown { detail }),
        }
    }

    /// Status, code and the server's own words, or what is wrong with the answer.
    pub(super) fn detail(&self, redactor: &Redactor) -> Detail {
        let mut text = format!("HTTP {}", self.status.as_u16());
        if !self.facts.code.is_empty() {
            text.push(' ');
            // By itself: it was cut where it was kept, perhaps within a secret.
            text.push_str(&redactor.redact(&self.facts.code));
        }
        let words = if !self.facts.error.is_empty() {
            &self.facts.error
        } else if self.end != BodyEnd::Whole {
            self.end.words()
        } else {
            match class_of(self.status) {
                StatusClass::Success if !self.json => "the answer is no JSON object",
                StatusClass::Success if self.facts.failed() => "the turn failed",
                StatusClass::Success if !self.facts.has_answer => "the answer is empty",
                StatusClass::Refused if self.status.is_redirection() => {
                    "a redirect, which is not followed: check the address"
                }
                StatusClass::Refused if self.status == StatusCode::NOT_FOUND => {
                    "no such route: check the address and the profile"
                }
                _ => "",
            }
        };
        if !words.is_empty() {
            text.push_str(": ");
            text.push_str(words);
        }
        redactor.detail(&text)
    }

    fn whole(&self) -> bool {
        self.json && self.end == BodyEnd::Whole
    }

    fn receipt(self) -> Receipt {
        let incomplete = self.incomplete || self.facts.completed == Some(false);
        Receipt {
            remote_id: (!self.facts.id.is_empty()).then_some(self.facts.id),
            session: self.session,
            note: Detail::new(if incomplete { "incomplete" } else { "" }),
        }
    }
}

/// What of an answer's body is kept; a few hundred bytes, however large it is.
#[derive(Debug, Default)]
pub(super) struct AnswerFacts {
    object: bool,
    id: String,
    has_answer: bool,
    finish_error: bool,
    failed: Option<bool>,
    completed: Option<bool>,
    code: String,
    error: String,
}

impl AnswerFacts {
    pub(super) fn is_object(&self) -> bool {
        self.object
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    /// `finish_reason: error` is also given to turns that have text and did not fail, so the
    /// server's own word goes first.
    fn failed(&self) -> bool {
        self.failed.unwrap_or(self.finish_error)
    }

    fn is_about_session(&self) -> bool {
        self.code == "invalid_session_id" || self.error.to_lowercase().contains("session id")
    }
}

/// Enough to see whether an answer is blank.
const ANSWER: usize = 4096;
const NAME: usize = 128;
const WORDS: usize = 600;

const ID: &[&str] = &["id"];
const FINISH: &[&str] = &["choices", "*", "finish_reason"];
const CODE: &[&str] = &["error", "code"];
const ERRORS: [&[&str]; 4] = [&["error", "message"], &["error"], &["hermes", "error"], &["detail"]];

impl Sink for AnswerFacts {
    fn keep(&self, path: &Path) -> usize {
        if is_answer(path) {
            ANSWER
        } else if path.is(ID) || path.is(FINISH) || path.is(CODE) {
            NAME
        } else if ERRORS.iter().any(|pattern| path.is(pattern)) {
            WORDS
        } else {
            0
        }
    }

    fn take(&mut self, path: &Path, event: Event<'_>) {
        match event {
            Event::Object if path.is(&[]) => self.object = true,
            Event::Bool(value) if path.is(&["hermes", "failed"]) => self.failed = Some(value),
            Event::Bool(value) if path.is(&["hermes", "completed"]) => self.completed = Some(value),
            Event::Number(code) if path.is(CODE) => self.code = code.to_owned(),
            Event::Text(text) if path.is(ID) => self.id = text.to_owned(),
            Event::Text(text) if path.is(CODE) => self.code = text.to_owned(),
            Event::Text("error") if path.is(FINISH) => self.finish_error = true,
            Event::Text(text) if is_answer(path) => {
                self.has_answer = self.has_answer || !text.trim().is_empty();
            }
            Event::Text(text) if ERRORS.iter().any(|pattern| path.is(pattern)) => {
                self.error = text.to_owned();
            }
            _ => {}
        }
    }
}

fn is_answer(path: &Path) -> bool {
    path.is(&["choices", "*", "message", "content"])
        || path.is(&["choices", "*", "message", "content", "*", "text"])
}
