//! What an API server's channel is told, and what of it is refused.

use std::time::Duration;

use ::http::{HeaderValue, Uri};
use kanban_notify::ids::ChannelName;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{AdapterError, http::base};

/// Everything about one API server.
#[derive(Clone, Debug)]
pub struct ApiServerConfig {
    /// The channel's name.
    pub name: ChannelName,
    /// `http://host:port`, or with a path in front of the routes (`…/p/<profile>`).
    pub base: String,
    /// The server's key; white space around it is dropped.
    pub key: SecretString,
    /// Where the key comes from and what to do after changing it, for whoever reads that it is refused;
    /// never the key. Empty for nothing to say.
    pub key_from: String,
    /// The model name that every wake carries.
    pub model: String,
    /// Time-outs and sizes.
    pub limits: ApiServerLimits,
}

/// The limits of one API server; connecting has its own, in the client.
#[derive(Clone, Copy, Debug)]
pub struct ApiServerLimits {
    /// The longest a turn may take. After it the outcome is unknown. Default 1800 s.
    pub turn: Duration,
    /// The longest a look may take. Default 30 s.
    pub look: Duration,
    /// The longest a probe may take. Default 15 s.
    pub probe: Duration,
    /// The most bytes of an answer that are read (never kept). Default 64 MiB.
    pub answer_bytes: usize,
    /// The most bytes of a history that are read (never kept). Default 64 MiB.
    pub history_bytes: usize,
}

impl Default for ApiServerLimits {
    fn default() -> Self {
        Self {
            turn: Duration::from_secs(1800),
            look: Duration::from_secs(30),
            probe: Duration::from_secs(15),
            answer_bytes: 64 << 20,
            history_bytes: 64 << 20,
        }
    }
}

/// The base without a slash at its end.
pub(super) fn base(config: &ApiServerConfig) -> Result<String, AdapterError> {
    base::base(config.name.as_str(), &config.base)
}

/// The `Authorization` header.
pub(super) fn bearer(config: &ApiServerConfig) -> Result<HeaderValue, AdapterError> {
    let refuse = |reason| AdapterError::Key { channel: config.name.to_string(), reason };
    let key = config.key.expose_secret().trim();
    if key.is_empty() {
        return Err(refuse("it is empty"));
    }
    let mut value = HeaderValue::from_bytes(format!("Bearer {key}").as_bytes())
        .map_err(|_| refuse("it holds control characters"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A route below a base that [`base()`] has passed.
pub(super) fn route(name: &ChannelName, base: &str, path: &str) -> Result<Uri, AdapterError> {
    base::route(name.as_str(), base, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(address: &str, key: &str) -> ApiServerConfig {
        ApiServerConfig {
            name: ChannelName::api_server("default"),
            base: address.to_owned(),
            key: SecretString::from(key),
            key_from: String::new(),
            model: String::new(),
            limits: ApiServerLimits::default(),
        }
    }

    #[test]
    fn an_address_is_a_scheme_a_host_and_perhaps_a_path() {
        for (given, kept) in [
            ("http://127.0.0.1:8642/", "http://127.0.0.1:8642"),
            ("https://[::1]:8642", "https://[::1]:8642"),
            (" http://h/p/dev// ", "http://h/p/dev"),
        ] {
            assert_eq!(base(&config(given, "k")).unwrap(), kept);
        }
        for bad in [
            "",
            "h:1",
            "//h",
            "ftp://h",
            "http://",
            "http://u:pw@h",
            "http://h?k=pw",
            "http://h/#pw",
            "http://h h",
        ] {
            let error = base(&config(bad, "k")).unwrap_err();
            assert!(!format!("{error}{error:?}").contains("pw"), "{error:?}");
        }
    }

    #[test]
    fn a_key_is_trimmed_and_never_shown() {
        let value = bearer(&config("http://h", " s3cret-key\n")).unwrap();
        assert_eq!(value.as_bytes(), b"Bearer s3cret-key");
        assert_eq!(format!("{value:?}"), "Sensitive");
        for bad in ["", " \n", "a\nb", "a\0"] {
            let error = bearer(&config("http://h", bad)).unwrap_err();
            assert!(matches!(error, AdapterError::Key { .. }));
        }
        assert!(!format!("{:?}", config("http://h", "s3cret-key")).contains("s3cret"));
    }
}
