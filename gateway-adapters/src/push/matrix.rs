//! Matrix: one event for each part, whose transaction is its key, so that a server takes it once.

mod files;
mod session;

use std::{sync::Arc, time::Duration};

use ::http::{Method, Request, Uri};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Fault, Receipt, Verdict},
};
use serde_json::{Value, json};

use super::{
    Field, FieldKind, Platform, Settings,
    attach::carry,
    call::{Answer, authorized, get, post_json, set},
    escape::{html, mentions},
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files, unfit},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    http::{
        HttpClient,
        base::{route, segment},
        retry_after::clamp,
    },
};
use session::{Session, Way};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "matrix",
    fields: &[
        url("MATRIX_HOMESERVER", "", "Where the client API of the server is."),
        Field {
            name: "user",
            kind: FieldKind::Text,
            variable: "MATRIX_USER_ID",
            default: "",
            about: "The user, for a login with a password.",
        },
        secret("password", "MATRIX_PASSWORD", "The user's password, where there is no token."),
        Field {
            name: "device_id",
            kind: FieldKind::Text,
            // Hermes' own would end Hermes' session on servers that keep one login for a device.
            variable: "",
            default: DEVICE,
            about: "The device of a login with a password; a server remembers messages for each device.",
        },
        // After the password: where both are set, this one is used, and told when it is refused.
        secret("token", "MATRIX_ACCESS_TOKEN", "An access token of the user."),
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
    needs_all: false,
    // For a day (Synapse), also when the server was killed or we logged in again.
    deduplicates: true,
    guarantee: "exactly once, as long as the server remembers a message's key (Synapse: a day)",
    check_chat,
    make,
};

const DEVICE: &str = "KANBAN_GATEWAY";
/// In bytes of text, which is there twice: an event has 65,536, and 5,536 are left for all that is around.
const LIMIT: usize = 30_000;
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
    base: String,
    whoami: Uri,
    kind: &'static str,
    session: Session,
    format: Format,
    pace: Pace,
}

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    check_room(chat)
}

/// The newest rooms have no server behind a colon.
fn check_room(room: &str) -> Result<(), &'static str> {
    match room.chars().next() {
        Some('!') if room.len() > 1 => Ok(()),
        Some('#') => Err("the chat is an alias, and an id is needed, which begins with !; \
                          a client shows it among the advanced settings of the room"),
        _ => Err("the chat is no id of a room: those begin with !"),
    }
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let base = settings.base(&name)?;
    Ok(Arc::new(Matrix {
        session: Session::new(&name, client, &base, settings)?,
        whoami: route(name.as_str(), &base, "/_matrix/client/v3/account/whoami")?,
        base,
        kind: if settings.is_on("notice") { "m.notice" } else { "m.text" },
        format: Format::new(
            Unit::Bytes,
            settings.max_length(LIMIT).saturating_mul(2),
            twice,
            |text| twice(&mentions(text)),
        ),
        pace: Pace::new(USER),
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

/// A text as it is sent.
fn written(span: &Span) -> String {
    match span {
        Span::Ours(text) => text.clone(),
        Span::Quoted(text) => mentions(text),
    }
}

impl Matrix {
    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let mut event = json!({
            "msgtype": self.kind,
            "body": next.text(),
            // Nobody is meant, whatever names are in the text.
            "m.mentions": {},
        });
        if let Some(rich) = next.rich() {
            set(&mut event, "format", "org.matrix.custom.html");
            set(&mut event, "formatted_body", rich);
        }
        self.event(next, event)
    }

    fn event(&self, next: &Next<'_>, mut event: Value) -> Result<Request<Bytes>, Verdict> {
        check_room(next.chat).map_err(|reason| unfit(Fault::Target, reason))?;
        let path = format!(
            "/_matrix/client/v3/rooms/{}/send/m.room.message/{}",
            segment(next.chat),
            segment(&next.key)
        );
        let uri = route(self.name.as_str(), &self.base, &path)
            .map_err(|_| unfit(Fault::Target, "the room does not fit an address"))?;
        if !next.thread.is_empty() {
            if !next.thread.starts_with('$') {
                let reason = "the thread is no id of an event: those begin with $";
                return Err(unfit(Fault::Thread, reason));
            }
            let relation = json!({
                "rel_type": "m.thread",
                "event_id": next.thread,
                "is_falling_back": true,
                "m.in_reply_to": {"event_id": next.thread},
            });
            set(&mut event, "m.relates_to", relation);
        }
        let mut request = post_json(uri, &event);
        *request.method_mut() = Method::PUT;
        Ok(request)
    }

    async fn judge(&self, next: &Next<'_>, way: &Arc<Way>, answer: &Answer) -> Verdict {
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
                    self.pace.hold(next.chat, wait, ROOM);
                }
                Verdict::Busy { retry_after, detail: detail() }
            }
            (401, _) => self.session.refused(way, answer).await,
            (403, code) if OF_ACCOUNT.contains(&code) => fault(Fault::Credential),
            (403, "M_RESOURCE_LIMIT_EXCEEDED") => {
                Verdict::Busy { retry_after: answer.retry_after, detail: detail() }
            }
            (403, code) if !code.is_empty() => fault(Fault::Target),
            (404, "M_NOT_FOUND") => fault(Fault::Target),
            (400, _) if is_of_thread(&words) => fault(Fault::Thread),
            _ => way.caller.refused(answer, &words),
        }
    }

    async fn sent(&self, parcel: &Parcel) -> Result<Verdict, Verdict> {
        let mut next = next(parcel)?;
        let now = next.clone();
        let write = |spans: &[Span]| Part { text: spans.iter().map(written).collect(), rich: None };
        let upload = |files, caption| self.upload(&now, files, caption);
        if let Some(verdict) = carry(parcel, &mut next, write, upload).await {
            return Ok(verdict);
        }
        let request = self.request(&next)?;
        self.pace.wait(next.chat, ROOM).await?;
        let way = self.session.way().await?;
        let answer = way.caller.call(authorized(request, &way.authorization)).await?;
        Ok(self.judge(&next, &way, &answer).await)
    }

    async fn tested(&self) -> Result<Verdict, Verdict> {
        let way = self.session.way().await?;
        let request = authorized(get(self.whoami.clone()), &way.authorization);
        let answer = way.caller.call(request).await?;
        if answer.status.is_success() && !answer.text_at("/user_id").is_empty() {
            return Ok(Verdict::Delivered(Receipt::default()));
        }
        Err(match answer.status.as_u16() {
            401 => self.session.refused(&way, &answer).await,
            _ => way.caller.refused(&answer, &words(&answer)),
        })
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
        let part = |number, spans: &[Span]| {
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
        };
        pin_files(message, &self.format, Value::Null, part, files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "push.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        self.sent(parcel).await.unwrap_or_else(|verdict| verdict)
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        self.tested().await.unwrap_or_else(|verdict| verdict)
    }
}
