//! E-mail: one letter for each message, over SMTP, with the events of a task in one thread.

mod letter;
mod smtp;

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Fault, Receipt, Verdict},
};
use lettre::Address;
use secrecy::SecretString;

use self::{letter::With, smtp::Server};
use super::{
    AT_LEAST_ONCE, Field, FieldKind, Platform, Settings,
    attach::{FAILURES, REFUSED, contents, told_of},
    call::named,
    max_length,
    pin::{Next, next, unfit},
    secret,
    split::{Format, Unit},
};
use crate::{
    AdapterError,
    error::NOT_SET,
    http::{HttpClient, Redactor},
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "email",
    fields: &[
        Field {
            name: "host",
            kind: FieldKind::Text,
            variable: "EMAIL_SMTP_HOST",
            default: "",
            about: "The server that takes letters.",
        },
        Field {
            name: "port",
            kind: FieldKind::Count,
            variable: "EMAIL_SMTP_PORT",
            default: "587",
            about: "Its port.",
        },
        Field {
            name: "address",
            kind: FieldKind::Text,
            variable: "EMAIL_ADDRESS",
            default: "",
            about: "The address that letters are from.",
        },
        Field {
            name: "user",
            kind: FieldKind::Text,
            variable: "",
            default: "",
            about: "Who logs in, where that is not the address.",
        },
        secret("password", "EMAIL_PASSWORD", "The password; without one nobody logs in."),
        Field {
            name: "security",
            kind: FieldKind::Text,
            variable: "",
            default: "starttls",
            about: "starttls, tls (from the first byte, port 465), or none (a password only for this machine).",
        },
        Field {
            name: "ca_file",
            kind: FieldKind::Text,
            variable: "",
            default: "",
            about: "A file with certificates (PEM) that are trusted besides the system's.",
        },
        max_length("40000"),
    ],
    wanted_by: &["host"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In bytes. As it is encoded, a letter stays below the 64 KiB that every server must take.
const LIMIT: usize = 40_000;

/// One server and one sender; `smtp` has the table of replies.
struct Email {
    name: ChannelName,
    origin: String,
    from: Address,
    server: Server,
    format: Format,
    redactor: Redactor,
}

fn make(_: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let refused =
        |reason| AdapterError::Address { channel: name.to_string(), reason }.of_field("address");
    let from = settings.text("address").ok_or_else(|| refused(NOT_SET))?;
    let from = address(from).map_err(refused)?;
    let server = Server::new(&name, settings, &from)?;
    let user = settings.text("user").unwrap_or(from.as_ref());
    // The server may repeat what it was sent.
    let secrets = settings.text("password").into_iter().flat_map(|password| {
        let plain = STANDARD.encode(format!("\0{user}\0{password}"));
        [SecretString::from(password), plain.into(), STANDARD.encode(password).into()]
    });
    Ok(Arc::new(Email {
        format: Format::new(Unit::Bytes, settings.max_length(LIMIT), str::to_owned, str::to_owned),
        redactor: Redactor::new(secrets),
        origin: settings.origin_or(&PLATFORM, "password"),
        server,
        from,
        name,
    }))
}

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    address(chat).map(drop)
}

/// An address alone: no name, no brackets, ASCII.
fn address(text: &str) -> Result<Address, &'static str> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("an address is one word of visible ASCII characters here");
    }
    text.parse().map_err(|_| "it is no e-mail address")
}

impl Email {
    async fn sent(&self, parcel: &Parcel) -> Result<Verdict, Verdict> {
        let next = next(parcel)?;
        let to = address(next.chat).map_err(|reason| unfit(Fault::Target, reason))?;
        let all = letter::files(&next);
        let names = |why: &str| -> Vec<_> {
            all.iter().map(|file| (file.name.clone(), why.to_owned())).collect()
        };
        let with = if parcel.failures >= FAILURES {
            With { lost: names("it failed several times"), ..With::default() }
        } else {
            let (files, lost) = contents(all.clone()).await;
            With { files, lost }
        };
        let has_files = !with.files.is_empty();
        match self.sent_with(&to, &next, with).await {
            // The same letter without what may have been too much.
            Err(Verdict::Permanent { fault: Fault::Payload, detail }) if has_files => {
                told_of(&parcel.destination, &detail);
                let with = With { lost: names(REFUSED), ..With::default() };
                self.sent_with(&to, &next, with).await
            }
            sent => sent,
        }
    }

    async fn sent_with(
        &self,
        to: &Address,
        next: &Next<'_>,
        with: With,
    ) -> Result<Verdict, Verdict> {
        let id = letter::message_id(&self.from, &next.key);
        let letter = letter::of(&self.from, to, &id, next, with)
            .map_err(|_| unfit(Fault::Payload, "the message does not fit a letter"))?;
        let delivered = self.server.deliver(&self.from, to, &letter).await;
        delivered.map_err(|failure| self.judge(&failure))?;
        Ok(next.accepted(Some(id)))
    }

    fn judge(&self, failure: &smtp::Failure) -> Verdict {
        named(&self.origin, failure.verdict(&self.redactor))
    }
}

#[async_trait]
impl Channel for Email {
    fn takes(&self) -> Takes {
        letter::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        letter::pinned(message, &self.format)
    }

    #[tracing::instrument(level = "debug", name = "push.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        self.sent(parcel).await.unwrap_or_else(|verdict| verdict)
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        match self.server.probe(&self.from).await {
            Ok(()) => Verdict::Delivered(Receipt::default()),
            Err(failure) => self.judge(&failure),
        }
    }
}
