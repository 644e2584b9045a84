//! Targets: which address and which secret belong to a subscription's chat.

use std::collections::BTreeMap;

use ::http::Uri;
use kanban_notify::ids::ChannelName;
use secrecy::{ExposeSecret as _, SecretString};

use super::Signer;
use crate::{
    AdapterError,
    error::NOT_SET,
    push::{Settings, hooks::is_label},
};

/// Where one message goes. Its address may hold a secret, so it is never shown.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) uri: Uri,
    pub(super) signer: Signer,
}

/// All of them.
pub(super) struct Targets {
    named: BTreeMap<String, Target>,
    /// Signs what goes to a chat that is an address; `None` where none may be.
    anybody: Option<Signer>,
}

impl Targets {
    /// The targets of these settings.
    ///
    /// # Errors
    ///
    /// An address or secret that cannot be used.
    pub(super) fn new(name: &ChannelName, settings: &Settings) -> Result<Self, AdapterError> {
        let refused = |field, reason| {
            AdapterError::Address { channel: name.to_string(), reason }.of_field(field)
        };
        let (address, key) =
            (|reason| refused("targets", reason), |reason| refused("secret", reason));
        let shared = match settings.text("secret") {
            Some(_) => Some(settings.secret(name, "secret")?),
            None => None,
        };
        let shared = shared.as_ref().map(|secret| Signer::new(secret.expose_secret().split(',')));
        let shared = shared.transpose().map_err(key)?;
        let unsigned = || key(NOT_SET);
        let mut named = BTreeMap::new();
        for item in items(settings) {
            let (label, rest) =
                item.split_once('=').ok_or_else(|| address("a target is no name=URL"))?;
            if !is_label(label) {
                return Err(address(
                    "a target's name has other signs than a-z, A-Z, 0-9, -, _ and .",
                ));
            }
            let (url, own) =
                rest.split_once('#').map_or((rest, None), |(url, own)| (url, Some(own)));
            let signer = match own {
                Some(own) => Signer::new(own.split('#')).map_err(address)?,
                None => shared.clone().ok_or_else(unsigned)?,
            };
            let target = Target { uri: uri(url).map_err(address)?, signer };
            if named.insert(label.to_owned(), target).is_some() {
                return Err(address("two targets have one name"));
            }
        }
        let anybody = match settings.is_on("any_url") {
            true => Some(shared.ok_or_else(unsigned)?),
            false => None,
        };
        if named.is_empty() && anybody.is_none() {
            return Err(address(NOT_SET));
        }
        Ok(Self { named, anybody })
    }

    /// The target of a chat.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(super) fn find(&self, chat: &str) -> Result<Target, &'static str> {
        if let Some(target) = self.named.get(chat) {
            return Ok(target.clone());
        }
        match &self.anybody {
            _ if !chat.contains("://") => {
                Err("no target in `signed_webhook.targets` has this name")
            }
            None => Err("a chat that is a URL needs `signed_webhook.any_url`"),
            Some(signer) => Ok(Target { uri: uri(chat)?, signer: signer.clone() }),
        }
    }

    /// What must never be told: secrets, and what stands behind the hosts of addresses.
    pub(super) fn secrets(&self, settings: &Settings) -> Vec<SecretString> {
        let shared = settings.text("secret").into_iter().flat_map(|secret| secret.split(','));
        let own = items(settings).flat_map(|item| item.split('#').skip(1));
        let mut secrets: Vec<SecretString> = shared.chain(own).map(SecretString::from).collect();
        for target in self.named.values() {
            let path = target.uri.path_and_query().map_or("", |path| path.as_str());
            // Shorter ones are no secrets, and words of every other text.
            if path.len() >= 8 {
                secrets.push(SecretString::from(path));
            }
        }
        secrets
    }
}

fn items(settings: &Settings) -> impl Iterator<Item = &str> {
    let targets = settings.text("targets").unwrap_or_default();
    targets.split(',').filter(|item| !item.is_empty())
}

fn uri(url: &str) -> Result<Uri, &'static str> {
    if url.contains('#') {
        return Err("the URL has a fragment");
    }
    let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
    let authority = uri.authority().ok_or("the URL has no host")?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("the URL does not begin with http:// or https://");
    }
    match authority.host() {
        "" => Err("the URL has no host"),
        _ if authority.as_str().contains('@') => {
            Err("the URL holds a user or password; requests are signed instead")
        }
        _ => Ok(uri),
    }
}
