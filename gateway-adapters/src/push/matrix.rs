//! Matrix: one event for each part, whose transaction is its key, so that a server takes it once.

mod files;
mod session;

use std::{sync::Arc, time::Duration};

use ::http::{Method, Request, header};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use serde_json::{Value, json};

use super::{
    Field, FieldKind, MAX_LENGTH, Platform, Settings,
    attach::carry,
    call::{Answer, get, named, post_json},
    escape::{html, mentions},
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files},
    split::{Format, Unit, split},
};
use crate::{
    AdapterError,
    http::{
        HttpClient,
        base::{base, route, segment},
        retry_after::clamp,
    },
};
use session::{Session, Way};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "matrix",
    fields: &[
        Field {
            name: "url",
            kind: FieldKind::Text,
            variable: "MATRIX_HOMESERVER",
            default: "",
            about: "Where the client API of the server is.",
        },
        Field {
            name: "user",
            kind: FieldKind::Text,
            variable: "MATRIX_USER_ID",
            default: "",
            about: "The user, for a login with a password.",
        },
        Field {
            name: "password",
            kind: FieldKind::Secret,
            variable: "MATRIX_PASSWORD",
            default: "",
            about: "The user's password, where there is no token.",
        },
        Field {
            name: "device_id",
            kind: FieldKind::Text,
            // Hermes' own would end Hermes' session on servers that keep one login for a device.
            variable: "",
            default: DEVICE,
            about: "The device of a login with a password; a server remembers messages for each device.",
        },
        // After the password: where both are set, this one is used, and told when it is refused.
        Field {
            name: "token",
            kind: FieldKind::Secret,
            variable: "MATRIX_ACCESS_TOKEN",
            default: "",
            about: "An access token of the user.",
        },
        Field {
            name: "notice",
            kind: FieldKind::Switch,
            variable: "",
            default: "false",
            about: "Whether messages are notices: most clients make no sound for them.",
        },
        max_length("30000"),
    ],
    wanted_by: &["token", "password"],
    // For a day (Synapse), also when the server was killed or we logged in again.
    deduplicates: true,
    guarantee: "exactly once, as long as the server remembers a message's key (Synapse: a day)",
    make,
};

const DEVICE: &str = "KANBAN_GATEWAY";
/// In bytes of text, which is there twice: an event has 65,536, and 5,536 are left for all that is around.
const LIMIT: usize = 30_000;
const PARTS: usize = 10;
/// What a server allows is its own affair, and told; this only keeps bursts short.
const USER: Cap = Cap::new(20, Duration::from_millis(100));
const ROOM: Cap = Cap::new(10, Duration::from_millis(200));

/// One user of one server.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with an event id | delivered |
/// | 429, by header or by body | busy; nothing goes to the room meanwhile |
/// | 401; 403 of the account | permanent: credential; of a login: it is made anew |
/// | 403 `M_RESOURCE_LIMIT_EXCEEDED` | busy: the server is full |
/// | other 403, 404 `M_NOT_FOUND` | permanent: target |
/// | 400 of a thread | permanent: thread |
/// | other 400, 413 | permanent: payload |
struct Matrix {
    name: ChannelName,
    origin: String,
    base: String,
    kind: &'static str,
    session: Session,
    format: Format,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let missing = || AdapterError::Address { channel: name.to_string(), reason: "it is not set" };
    let base = base(name.as_str(), settings.text("url").ok_or_else(missing)?)?;
    Ok(Arc::new(Matrix {
        session: Session::new(&name, client, &base, settings)?,
        base,
        kind: if settings.is_on("notice") { "m.notice" } else { "m.text" },
        format: Format {
            unit: Unit::Bytes,
            part: settings.count(MAX_LENGTH, LIMIT).saturating_mul(2),
            parts: PARTS,
            ours: twice,
            quoted: |text| twice(&mentions(text)),
        },
        pace: Pace::new(USER),
        origin: settings.origin().to_owned(),
        name,
    }))
}

/// A text as it is in an event: plain, and as HTML.
fn twice(text: &str) -> String {
    let json = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
    };
    format!("{}{}", json(text), json(&markup(text)))
}

fn markup(text: &str) -> String {
    html(text).replace('\n', "<br>")
}

fn words(answer: &Answer) -> String {
    format!("{} {}", answer.text_at("/errcode"), answer.text_at("/error"))
}

/// The longer of what header and body ask for.
fn rest(answer: &Answer) -> Option<Duration> {
    let told = answer.json.pointer("/retry_after_ms").and_then(Value::as_u64);
    told.map(Duration::from_millis).map(clamp).max(answer.retry_after)
}

fn set(event: &mut Value, key: &str, value: Value) {
    if let Some(fields) = event.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// A text as it is sent.
fn written(span: &Span) -> String {
    match span {
        Span::Ours(text) => text.clone(),
        Span::Quoted(text) => mentions(text),
    }
}

impl Matrix {
    fn request(
        &self,
        room: &str,
        thread: &str,
        key: &str,
        next: &Next,
    ) -> Result<Request<Bytes>, Verdict> {
        let mut event = json!({
            "msgtype": self.kind,
            "body": format!("{}{}", next.before, next.part.text),
            // Nobody is meant, whatever names are in the text.
            "m.mentions": {},
        });
        if let Some(rich) = next.part.rich.as_ref().and_then(Value::as_str) {
            set(&mut event, "format", "org.matrix.custom.html".into());
            set(&mut event, "formatted_body", format!("{}{rich}", next.before).into());
        }
        self.event(room, thread, key, event)
    }

    fn event(
        &self,
        room: &str,
        thread: &str,
        key: &str,
        mut event: Value,
    ) -> Result<Request<Bytes>, Verdict> {
        let fault = |fault, reason| Verdict::Permanent { fault, detail: Detail::new(reason) };
        // The newest rooms have no server behind a colon.
        if !room.starts_with('!') {
            return Err(fault(Fault::Target, "the chat is no id of a room: those begin with !"));
        }
        let path = format!(
            "/_matrix/client/v3/rooms/{}/send/m.room.message/{}",
            segment(room),
            segment(key)
        );
        let uri = route(self.name.as_str(), &self.base, &path)
            .map_err(|_| fault(Fault::Target, "the room does not fit an address"))?;
        if !thread.is_empty() {
            if !thread.starts_with('$') {
                let reason = "the thread is no id of an event: those begin with $";
                return Err(fault(Fault::Thread, reason));
            }
            let relation = json!({
                "rel_type": "m.thread",
                "event_id": thread,
                "is_falling_back": true,
                "m.in_reply_to": {"event_id": thread},
            });
            set(&mut event, "m.relates_to", relation);
        }
        let mut request = post_json(uri, &event);
        *request.method_mut() = Method::PUT;
        Ok(request)
    }

    async fn judge(&self, room: &str, next: &Next, way: &Arc<Way>, answer: &Answer) -> Verdict {
        let id = answer.text_at("/event_id");
        if answer.status.is_success() && !id.is_empty() {
            return next.accepted(Some(id.to_owned()));
        }
        let words = words(answer);
        let detail = || way.caller.detail(answer.status, &words);
        let fault = |fault| way.caller.fault(fault, answer, &words);
        match (answer.status.as_u16(), answer.text_at("/errcode")) {
            (429, _) => {
                let retry_after = rest(answer);
                if let Some(wait) = retry_after {
                    self.pace.hold(room, wait, ROOM);
                }
                Verdict::Busy { retry_after, detail: detail() }
            }
            (401, _) => self.named(self.session.refused(way, answer).await),
            (403, code) if OF_ACCOUNT.contains(&code) => self.named(fault(Fault::Credential)),
            (403, "M_RESOURCE_LIMIT_EXCEEDED") => {
                Verdict::Busy { retry_after: answer.retry_after, detail: detail() }
            }
            (403, code) if !code.is_empty() => fault(Fault::Target),
            (404, "M_NOT_FOUND") => fault(Fault::Target),
            (400, _) if is_of_thread(&words) => fault(Fault::Thread),
            _ => self.named(way.caller.refused(answer, &words)),
        }
    }

    fn named(&self, verdict: Verdict) -> Verdict {
        named(verdict, &self.origin)
    }
}

/// What is said of the account, whatever the room.
const OF_ACCOUNT: &[&str] = &[
    "M_UNKNOWN_TOKEN",
    "M_MISSING_TOKEN",
    "M_USER_DEACTIVATED",
    "M_USER_LOCKED",
    "M_USER_SUSPENDED",
    "M_CONSENT_NOT_GIVEN",
];

/// A thread has no error code of its own.
fn is_of_thread(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("relation") || words.contains("thread")
}

#[async_trait]
impl Channel for Matrix {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let parts = split(&message.spans, &self.format);
        let parts = parts.iter().enumerate().map(|(number, spans)| {
            let text = written;
            // What it is about stands out.
            let rich = match spans.split_first() {
                Some((subject @ Span::Quoted(_), others)) if number == 0 => {
                    let others: String = others.iter().map(|span| markup(&text(span))).collect();
                    Some(format!("<strong>{}</strong>{others}", markup(&text(subject))).into())
                }
                _ => None,
            };
            Part { text: spans.iter().map(text).collect(), rich }
        });
        pin_files(parts.collect(), files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "matrix.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { chat: room, thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no room");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let mut next = match next(parcel) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let (now, at) = (next.clone(), (room.as_str(), thread.as_str()));
        let upload = |files, caption| self.upload(at, parcel, &now, (files, caption));
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let request = self.request(room, thread, &parcel.part_key(), &next);
        let mut request = match request {
            Ok(request) => request,
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.pace.wait(room, ROOM).await {
            return busy;
        }
        let way = match self.session.way().await {
            Ok(way) => way,
            Err(verdict) => return self.named(verdict),
        };
        request.headers_mut().insert(header::AUTHORIZATION, way.authorization.clone());
        match way.caller.call(request).await {
            Ok(answer) => self.judge(room, &next, &way, &answer).await,
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        let uri = route(self.name.as_str(), &self.base, "/_matrix/client/v3/account/whoami");
        let uri = match uri {
            Ok(uri) => uri,
            Err(error) => return Verdict::Unreachable { detail: Detail::new(&error.to_string()) },
        };
        let way = match self.session.way().await {
            Ok(way) => way,
            Err(verdict) => return self.named(verdict),
        };
        let mut request = get(uri);
        request.headers_mut().insert(header::AUTHORIZATION, way.authorization.clone());
        match way.caller.call(request).await {
            Ok(answer) if answer.status.is_success() && !answer.text_at("/user_id").is_empty() => {
                Verdict::Delivered(Receipt::default())
            }
            Ok(answer) if answer.status.as_u16() == 401 => {
                self.named(self.session.refused(&way, &answer).await)
            }
            Ok(answer) => self.named(way.caller.refused(&answer, &words(&answer))),
            Err(verdict) => verdict,
        }
    }
}
