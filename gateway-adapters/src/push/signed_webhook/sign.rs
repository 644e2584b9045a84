//! Signatures: HMAC-SHA256 over the id, the time of the attempt and the body.

use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret as _, SecretSlice};

use crate::push::sign::signature;

/// Fewer bytes are guessed too easily.
const SHORTEST: usize = 24;

/// The names of the standard, and those from which it came: Hermes knows only these.
const HEADERS: [[HeaderName; 2]; 3] = [
    [HeaderName::from_static("webhook-id"), HeaderName::from_static("svix-id")],
    [HeaderName::from_static("webhook-timestamp"), HeaderName::from_static("svix-timestamp")],
    [HeaderName::from_static("webhook-signature"), HeaderName::from_static("svix-signature")],
];

/// Signs with one secret, or with several while one is changed.
#[derive(Clone, Debug)]
pub(super) struct Signer {
    keys: Vec<SecretSlice<u8>>,
}

impl Signer {
    /// A signer with these secrets: `whsec_` and base64, or plain text.
    ///
    /// # Errors
    ///
    /// What is wrong with one, in words that hold no part of it.
    pub(super) fn new<'a>(
        secrets: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, &'static str> {
        let keys = secrets.into_iter().map(|secret| {
            let key = match secret.strip_prefix("whsec_") {
                Some(text) => {
                    STANDARD.decode(text).map_err(|_| "what follows whsec_ is no base64")?
                }
                None => secret.as_bytes().to_vec(),
            };
            match key.len() {
                SHORTEST.. => Ok(SecretSlice::from(key)),
                _ => Err("it has fewer than 24 bytes"),
            }
        });
        Ok(Self { keys: keys.collect::<Result<_, _>>()? })
    }

    /// The headers of one attempt; `None` for an id that no header can hold.
    pub(super) fn headers(&self, id: &str, body: &str, now: Duration) -> Option<HeaderMap> {
        let seconds = now.as_secs();
        let signatures: Vec<String> =
            self.keys.iter().map(|key| sign(key, id, seconds, body)).collect();
        let values = [id.to_owned(), seconds.to_string(), signatures.join(" ")];
        let mut headers = HeaderMap::new();
        for (names, value) in HEADERS.into_iter().zip(values) {
            let value = HeaderValue::from_str(&value).ok()?;
            headers.extend(names.map(|name| (name, value.clone())));
        }
        Some(headers)
    }
}

fn sign(key: &SecretSlice<u8>, id: &str, seconds: u64, body: &str) -> String {
    let text = format!("{id}.{seconds}.{body}");
    format!("v1,{}", signature(key.expose_secret(), text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn a_signature_is_that_of_the_standards_own_example() {
        let at = Duration::from_secs(1_614_265_330);
        let signer = Signer::new([SECRET, "plain text of 24 characters"]).unwrap();
        let headers =
            signer.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", r#"{"test": 2432232314}"#, at).unwrap();
        for family in ["webhook", "svix"] {
            let value = |name| headers[&format!("{family}-{name}")].to_str().unwrap();
            assert_eq!(value("id"), "msg_p5jXN8AQM9LWM0D4loKWxJek");
            assert_eq!(value("timestamp"), "1614265330");
            let signatures: Vec<&str> = value("signature").split(' ').collect();
            assert_eq!(signatures[0], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
            assert_eq!(signatures.len(), 2);
        }
        assert!(!format!("{signer:?}").contains("MfKQ"));
    }

    #[test]
    fn secrets_that_are_short_or_broken_are_refused() {
        for secret in ["", "short", "whsec_", "whsec_c2hvcnQ=", "whsec_%%%%"] {
            assert!(Signer::new([secret]).is_err(), "{secret}");
        }
        assert!(Signer::new([SECRET]).unwrap().headers("a\nb", "{}", Duration::ZERO).is_none());
    }
}
