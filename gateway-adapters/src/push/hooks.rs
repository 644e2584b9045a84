//! Webhooks: addresses that are the credential and decide the chat, one for all chats or one for each by its name.

use ::http::Uri;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{Field, FieldKind, Settings, any_chat, call::hook_at, pin::unfit};
use crate::{AdapterError, http::base::segment};

/// The field that holds them.
pub const fn hooks(variable: &'static str, about: &'static str) -> Field {
    Field { name: "url", kind: FieldKind::Secrets, variable, default: "", about }
}

/// One webhook.
pub struct Hook {
    /// The chat it stands for; empty for every chat that has none of its own.
    label: String,
    /// What is posted to.
    pub uri: Uri,
    /// What signs its requests, where they are signed.
    pub secret: Option<SecretString>,
}

impl Hook {
    /// Its address with more parameters.
    ///
    /// # Errors
    ///
    /// Permanent, where that is no address.
    pub fn with(&self, parameters: &[(&str, &str)]) -> Result<Uri, Verdict> {
        let mut address = self.uri.to_string();
        for (name, value) in parameters {
            let before = if address.contains('?') { '&' } else { '?' };
            address.push_str(&format!("{before}{name}={}", segment(value)));
        }
        address
            .parse()
            .map_err(|_| unfit(Fault::Payload, "what belongs in the address is too long"))
    }
}

/// Refuses a chat that has no webhook; where the settings cannot be used, nobody can tell.
///
/// # Errors
///
/// Why it has none.
pub fn check_chat(settings: &Settings, chat: &str) -> Result<(), &'static str> {
    match Hooks::new(&ChannelName(String::new()), settings, true) {
        Ok((hooks, _)) if hooks.place(chat).is_none() => Err(NONE),
        _ => any_chat(settings, chat),
    }
}

/// All webhooks of one platform.
pub struct Hooks {
    all: Vec<Hook>,
}

impl Hooks {
    /// The webhooks of these settings, and what must never be told of them. Of several, each has a name
    /// before it, `name=https://…`; one may go without. Where requests are signed, what stands behind a `#`
    /// is that one's own secret.
    ///
    /// # Errors
    ///
    /// [`AdapterError`], where there is none, or one that cannot be used.
    pub fn new(
        name: &ChannelName,
        settings: &Settings,
        signs: bool,
    ) -> Result<(Self, Vec<SecretString>), AdapterError> {
        let refuse = |reason| AdapterError::Address { channel: name.to_string(), reason };
        let shared = match settings.text(SECRET) {
            Some(_) => Some(settings.secret(name, SECRET)?),
            None => None,
        };
        let mut all: Vec<Hook> = Vec::new();
        let mut secrets: Vec<SecretString> = shared.iter().cloned().collect();
        for item in settings.secrets(name, "url")? {
            let item = item.expose_secret();
            let named = item.split_once('=').filter(|(label, _)| is_label(label));
            let (label, address) = named.unwrap_or(("", item));
            let signed = address.split_once('#').filter(|_| signs);
            let (address, own) = signed.map_or((address, None), |(url, own)| (url, Some(own)));
            if all.iter().any(|hook| hook.label == label) {
                return Err(refuse("two webhooks have one name, or none"));
            }
            let (uri, more) = hook_at(name, SecretString::from(address))?;
            secrets.extend(more);
            let own = own.map(SecretString::from);
            secrets.extend(own.clone());
            all.push(Hook { label: label.to_owned(), uri, secret: own.or_else(|| shared.clone()) });
        }
        if all.is_empty() {
            return Err(refuse("it is not set"));
        }
        Ok((Self { all }, secrets))
    }

    /// The webhook of a chat.
    ///
    /// # Errors
    ///
    /// Permanent, where none has its name and every one has another.
    pub fn find(&self, chat: &str) -> Result<&Hook, Verdict> {
        let found = self.place(chat).and_then(|at| self.all.get(at));
        found.ok_or_else(|| unfit(Fault::Target, NONE))
    }

    /// The name of the webhook that a chat has; empty for the one without a name.
    pub fn name<'a>(&self, chat: &'a str) -> &'a str {
        let is_own = self.all.iter().any(|hook| hook.label == chat);
        if is_own { chat } else { "" }
    }

    /// Whether they are at several hosts.
    pub fn are_apart(&self) -> bool {
        let mut hosts = self.all.iter().map(|hook| hook.uri.authority());
        let first = hosts.next();
        hosts.any(|host| Some(host) != first)
    }

    /// The webhook to be probed: the only one is the one that may have been refused.
    ///
    /// # Errors
    ///
    /// None; there is always one.
    pub fn first(&self) -> Result<&Hook, Verdict> {
        self.all.first().ok_or_else(|| unfit(Fault::Credential, "there is no webhook"))
    }

    /// The verdict of a message to a chat. Of several webhooks a refused one is named, and is the matter of its
    /// chats alone: a refused credential would pause the others with it.
    pub fn judged(&self, chat: &str, verdict: Verdict) -> Verdict {
        let Verdict::Permanent { fault: Fault::Credential, detail } = &verdict else {
            return verdict;
        };
        if self.all.len() < 2 {
            return verdict;
        }
        let which = match self.name(chat) {
            "" => "the webhook without a name".to_owned(),
            name => format!("the webhook {name}"),
        };
        unfit(Fault::Target, &format!("{which} is refused: {}", detail.as_str()))
    }

    fn place(&self, chat: &str) -> Option<usize> {
        let label = self.name(chat);
        self.all.iter().position(|hook| hook.label == label)
    }
}

const NONE: &str = "no webhook has the name of this chat";

/// The name of the field that holds the secret of every webhook that has none of its own.
pub const SECRET: &str = "secret";

/// Whether a text can be the name of a webhook.
pub fn is_label(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(is_fit)
}
