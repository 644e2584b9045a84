//! Signatures of requests: HMAC-SHA256 in base64.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The signature of a text by a key.
pub(super) fn signature(key: &[u8], text: &[u8]) -> String {
    // HMAC takes keys of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    mac.update(text);
    STANDARD.encode(mac.finalize().into_bytes())
}

/// The time of an attempt.
pub(super) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Apprise 2.3.0 signs for DingTalk with this secret, at this time.
    #[test]
    fn a_signature_is_the_one_that_another_program_makes() {
        let made = signature(b"SECsecret", b"1796061807168\nSECsecret");
        assert_eq!(made, "wxxo1tptLJG8F//LcUCjvl9IqjJJMlXRn9NDvLHjzQE=");
    }
}
