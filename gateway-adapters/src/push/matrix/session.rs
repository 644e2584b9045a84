//! Who we are for a Matrix server: by a token that is set, or by one login with a password.

use std::sync::Arc;

use ::http::{HeaderValue, Uri};
use kanban_notify::{
    ids::ChannelName,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tokio::sync::Mutex;

use crate::{
    AdapterError,
    http::{HttpClient, base::route},
    push::{
        Settings,
        call::{Answer, Caller, bearer, post_json},
    },
};

use super::{rest, words};

/// A way to the server that it knows us on, and that tells no secret.
#[derive(Debug)]
pub struct Way {
    /// The `Authorization`.
    pub authorization: HeaderValue,
    /// What sends.
    pub caller: Caller,
}

/// How a way is come by.
pub enum Session {
    /// By a token.
    Token(Arc<Way>),
    /// By a password.
    Password(Box<Login>),
}

/// A login, made when it is needed and kept for as long as the server takes its token.
pub struct Login {
    name: ChannelName,
    origin: String,
    uri: Uri,
    user: String,
    password: SecretString,
    device: String,
    client: HttpClient,
    current: Mutex<Option<Arc<Way>>>,
}

impl Session {
    /// A session as it is set; a token goes before a password.
    ///
    /// # Errors
    ///
    /// [`AdapterError`], where something is missing.
    pub fn new(
        name: &ChannelName,
        client: HttpClient,
        base: &str,
        settings: &Settings,
    ) -> Result<Self, AdapterError> {
        if settings.text("token").is_some() {
            let token = settings.secret(name, "token")?;
            let authorization = bearer(name, &token)?;
            let caller = Caller::new(client, settings.origin(), [token]);
            return Ok(Self::Token(Arc::new(Way { authorization, caller })));
        }
        let missing = |reason| AdapterError::Key { channel: name.to_string(), reason };
        let user = settings.text("user").ok_or_else(|| missing("its `user` is not set"))?;
        let password =
            settings.text("password").ok_or_else(|| missing("its `password` is not set"))?;
        Ok(Self::Password(Box::new(Login {
            name: name.clone(),
            origin: settings.origin().to_owned(),
            uri: route(name.as_str(), base, "/_matrix/client/v3/login")?,
            user: user.to_owned(),
            password: password.into(),
            device: settings.text("device_id").unwrap_or(super::DEVICE).to_owned(),
            client,
            current: Mutex::default(),
        })))
    }

    /// The way, after a login if there is none yet.
    ///
    /// # Errors
    ///
    /// Why there is none; certainly no message left.
    pub async fn way(&self) -> Result<Arc<Way>, Verdict> {
        let login = match self {
            Self::Token(way) => return Ok(Arc::clone(way)),
            Self::Password(login) => login,
        };
        // Held over the login: a second one could end the first.
        let mut current = login.current.lock().await;
        if let Some(way) = &*current {
            return Ok(Arc::clone(way));
        }
        let way = Arc::new(login.login().await?);
        *current = Some(Arc::clone(&way));
        Ok(way)
    }

    /// What it means that the server does not take this way any more.
    pub async fn refused(&self, way: &Arc<Way>, answer: &Answer) -> Verdict {
        let words = words(answer);
        match self {
            Self::Token(_) => way.caller.fault(Fault::Credential, answer, &words),
            Self::Password(login) => {
                let mut current = login.current.lock().await;
                // Somebody may have found out before us, and have logged in again.
                if current.as_ref().is_some_and(|known| Arc::ptr_eq(known, way)) {
                    *current = None;
                }
                let detail = way.caller.detail(answer.status, &words);
                Verdict::Retryable { retry_after: None, detail }
            }
        }
    }
}

impl Login {
    async fn login(&self) -> Result<Way, Verdict> {
        let body = json!({
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self.user},
            "password": self.password.expose_secret(),
            // The server knows keys of messages for each device.
            "device_id": self.device,
            "initial_device_display_name": "kanban-gateway",
        });
        let caller = self.caller([self.password.clone()]);
        let answer = match caller.call(post_json(self.uri.clone(), &body)).await {
            Ok(answer) => answer,
            // Whatever became of the login, there was no message.
            Err(Verdict::Unknown { detail }) => {
                return Err(Verdict::Retryable { retry_after: None, detail });
            }
            Err(verdict) => return Err(verdict),
        };
        let token = SecretString::from(answer.text_at("/access_token"));
        if answer.status.is_success() && !token.expose_secret().is_empty() {
            let authorization = bearer(&self.name, &token).map_err(|_| {
                let detail = caller.detail(answer.status, "the token of the login cannot be used");
                Verdict::Retryable { retry_after: None, detail }
            })?;
            let caller = self.caller([self.password.clone(), token]);
            return Ok(Way { authorization, caller });
        }
        let words = format!("login: {}", words(&answer));
        Err(match answer.status.as_u16() {
            429 => Verdict::Busy {
                retry_after: rest(&answer),
                detail: caller.detail(answer.status, &words),
            },
            400 | 401 | 403 => caller.fault(Fault::Credential, &answer, &words),
            _ => match caller.refused(&answer, &words) {
                Verdict::Unknown { detail } => Verdict::Retryable { retry_after: None, detail },
                verdict => verdict,
            },
        })
    }

    fn caller(&self, secrets: impl IntoIterator<Item = SecretString>) -> Caller {
        Caller::new(self.client.clone(), &self.origin, secrets)
    }
}
