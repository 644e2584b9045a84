//! Home Assistant: notifications in its own interface, which a repeat replaces, or one of its notify services.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderValue, Request, Uri};
use bytes::Bytes;
use kanban_notify::{
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Field, Platform, Settings, any_chat,
    call::{Answer, Caller, Spent, authorized, bearer, get, post_json},
    escape::{markdown, templates},
    max_length,
    pace::{Cap, Pace},
    pin::{Next, unfit},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    http::{HttpClient, base::route},
};

/// The entry in the list for its own interface.
pub const PLATFORM: Platform = Platform {
    name: "homeassistant",
    fields: &[TOKEN, ADDRESS, max_length("16384")],
    wanted_by: &["token"],
    needs_all: false,
    // It forgets a notification at its restart, and no longer shows it then.
    deduplicates: true,
    guarantee: "exactly once: a repeat replaces the notification (one that was dismissed meanwhile shows again)",
    check_chat: any_chat,
    make: |client, settings| make(&PLATFORM, Way::Interface, client, settings),
};

/// The entry for its notify services.
pub const NOTIFY: Platform = Platform {
    name: "homeassistant_notify",
    fields: &[TOKEN, ADDRESS, max_length("2048")],
    wanted_by: &["token"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat: |_, chat| service(chat).map(drop),
    make: |client, settings| make(&NOTIFY, Way::Service, client, settings),
};

const TOKEN: Field = secret("token", "HASS_TOKEN", "A long-lived access token.");
const ADDRESS: Field = url("HASS_URL", DEFAULT_URL, "Where Home Assistant is.");
const DEFAULT_URL: &str = "http://homeassistant.local:8123";

/// In bytes, as in the next one: there is no limit, and people read no more.
const INTERFACE: usize = 16_384;
/// What services for telephones take at the most is 4 KiB with all that is around it.
const SERVICE: usize = 2_048;
/// It has no limit; this only keeps bursts short.
const ALL: Cap = Cap::new(20, Duration::from_millis(100));

/// How a message is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// In the interface, as Markdown.
    Interface,
    /// By the notify service that is the chat.
    Service,
}

/// One Home Assistant.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with a list | delivered |
/// | 401 | permanent: credential, and it is not asked again: it may shut this machine out |
/// | 403: this machine is shut out | permanent: credential |
/// | 400 of a service | permanent: target (there is no such service) |
/// | other 400, 413 | permanent: payload |
struct HomeAssistant {
    way: Way,
    base: String,
    running: Uri,
    authorization: HeaderValue,
    spent: Spent,
    line: Line,
}

/// The notify service that is a chat.
fn service(chat: &str) -> Result<&str, &'static str> {
    let service = chat.strip_prefix("notify.").unwrap_or(chat);
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if service.is_empty() || !service.bytes().all(is_fit) {
        return Err("the chat is no name of a notify service: those have a-z, 0-9 and _");
    }
    Ok(service)
}

fn make(
    platform: &Platform,
    way: Way,
    client: HttpClient,
    settings: &Settings,
) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = platform.channel();
    let token = settings.secret(&name, "token")?;
    let base = settings.base_or(&name, DEFAULT_URL)?;
    let format = match way {
        Way::Interface => Format::new(Unit::Bytes, settings.max_length(INTERFACE), shown, shown),
        Way::Service => {
            Format::new(Unit::Bytes, settings.max_length(SERVICE), templates, templates)
        }
    };
    Ok(channel(HomeAssistant {
        way,
        running: route(name.as_str(), &base, "/api/")?,
        base,
        authorization: bearer(&name, &token)?,
        spent: Spent::default(),
        line: Line {
            format,
            caller: Caller::new(client, settings.origin(), [token]),
            pace: Pace::new(ALL),
            name,
        },
    }))
}

/// Text for the interface, which shows Markdown and its entities.
fn shown(text: &str) -> String {
    templates(&markdown(text).replace('&', "\\&"))
}

impl HomeAssistant {
    fn refused(&self, answer: &Answer) -> Verdict {
        let caller = &self.line.caller;
        let words = match answer.text_at("/message") {
            "" => answer.text.trim(),
            message => message,
        };
        match (answer.status.as_u16(), self.way) {
            (401, _) => self.spent.spend(caller.fault(Fault::Credential, answer, words)),
            (400, Way::Service) => {
                let words = "there is no such notify service, or it refused the message";
                caller.fault(Fault::Target, answer, words)
            }
            _ => caller.refused(answer, words),
        }
    }
}

impl Post for HomeAssistant {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, ALL)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        self.spent.check()?;
        let text = next.text();
        let (service, body) = match self.way {
            Way::Interface => (
                "persistent_notification/create".to_owned(),
                json!({"message": text, "notification_id": next.key}),
            ),
            Way::Service => {
                let service = service(next.chat).map_err(|reason| unfit(Fault::Target, reason))?;
                (format!("notify/{service}"), json!({"message": text}))
            }
        };
        let path = format!("/api/services/{service}");
        let uri = route(self.line.name.as_str(), &self.base, &path)
            .map_err(|_| unfit(Fault::Target, "the chat does not fit an address"))?;
        Ok(authorized(post_json(uri, &body), &self.authorization))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        // The states that have changed.
        if answer.status.is_success() && answer.json.is_array() {
            return next.accepted(None);
        }
        self.refused(answer)
    }

    fn has_threads(&self) -> bool {
        false
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        self.spent.check()?;
        Ok(authorized(get(self.running.clone()), &self.authorization))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match answer.json.pointer("/message").map(Value::is_string) {
            Some(true) if answer.status.is_success() => Ok(()),
            _ => Err(self.refused(answer)),
        }
    }
}
