//! Gotify: a message of one application, as plain text.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderName, HeaderValue, Request, Uri};
use bytes::Bytes;
use kanban_notify::{
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Field, FieldKind, Platform, Settings, any_chat,
    call::{Answer, Caller, post_json, sensitive, set},
    max_length,
    pace::{Cap, Pace},
    pin::Next,
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    http::{HttpClient, base::route},
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "gotify",
    fields: &[
        url("GOTIFY_URL", "", "Where the server is."),
        secret(
            "token",
            "GOTIFY_TOKEN",
            "The token of an application. It decides where messages are; a subscription's chat is a name of your own.",
        ),
        Field {
            name: "priority",
            kind: FieldKind::Count,
            variable: "",
            default: "",
            about: "How loud, from 1 to 10; where it is not set, what the application has (servers before 2.5: silent).",
        },
        max_length("16384"),
    ],
    wanted_by: &["token"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat: any_chat,
    make,
};

/// In bytes. The server has no limit of its own; this stays far below what its databases and clients take.
const LIMIT: usize = 16_384;
const LOUDEST: usize = 10;
/// The server has no limit; this only keeps bursts short.
const ALL: Cap = Cap::new(30, Duration::from_millis(100));

/// One application of one server.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with an id | delivered |
/// | 401, 403 | permanent: credential |
/// | 400, 413 | permanent: payload |
/// | 429, 503 of something before the server | busy |
struct Gotify {
    message: Uri,
    token: HeaderValue,
    priority: Option<usize>,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let base = settings.base(&name)?;
    let token = settings.secret(&name, "token")?;
    Ok(channel(Gotify {
        message: route(name.as_str(), &base, "/message")?,
        token: sensitive(&name, token.expose_secret())?,
        priority: settings.text("priority").map(|_| settings.count("priority", LOUDEST)),
        line: Line {
            format: Format::new(
                Unit::Bytes,
                settings.max_length(LIMIT),
                str::to_owned,
                str::to_owned,
            ),
            caller: Caller::new(client, settings.origin(), [token]),
            pace: Pace::new(ALL),
            name,
        },
    }))
}

impl Gotify {
    fn post(&self, body: &Value) -> Request<Bytes> {
        let mut request = post_json(self.message.clone(), body);
        request.headers_mut().insert(KEY, self.token.clone());
        request
    }

    fn refused(&self, answer: &Answer) -> Verdict {
        self.line.caller.refused(answer, answer.text_at("/errorDescription"))
    }
}

const KEY: HeaderName = HeaderName::from_static("x-gotify-key");

impl Post for Gotify {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, _: &Next<'a>) -> (&'a str, Cap) {
        ("", ALL)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let mut body = json!({"message": next.text()});
        if let Some(priority) = self.priority {
            set(&mut body, "priority", priority);
        }
        Ok(self.post(&body))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        match answer.json.pointer("/id").and_then(Value::as_u64) {
            Some(id) if answer.status.is_success() => next.accepted(Some(id.to_string())),
            _ => self.refused(answer),
        }
    }

    /// Nothing but messages can be asked for with the token of an application; one without a text is
    /// refused once the token is known.
    fn has_threads(&self) -> bool {
        false
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(self.post(&json!({})))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match self.refused(answer) {
            Verdict::Permanent { fault: Fault::Payload, .. } => Ok(()),
            other => Err(other),
        }
    }
}
