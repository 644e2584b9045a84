//! A certificate for localhost that nobody signed, made anew for each run.

use std::sync::LazyLock;

static MADE: LazyLock<(String, String)> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])
        .expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
});

/// The certificate and its key, both as PEM.
pub fn made() -> (&'static str, &'static str) {
    (&MADE.0, &MADE.1)
}
