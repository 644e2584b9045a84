//! The raw session id: which ones a server takes, and how they go into a header and a path (law W2).

use ::http::HeaderValue;
use kanban_notify::session::fault;

/// The id as the value of `X-Hermes-Session-Id`, in UTF-8, or what is wrong with it.
pub(super) fn header(session: &str) -> Result<HeaderValue, &'static str> {
    if let Some(fault) = fault(session) {
        return Err(fault);
    }
    // The server knows the letters of all scripts, and a drive by any of them.
    let mut chars = session.chars();
    if chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some(':') {
        return Err("the session id looks like a drive letter");
    }
    HeaderValue::from_bytes(session.as_bytes()).map_err(|_| "the session id has control characters")
}

/// The session that an answer names, if it is one that could be asked for again (law W3).
pub(super) fn named(value: Option<&HeaderValue>) -> Option<String> {
    valid(std::str::from_utf8(value?.as_bytes()).ok()?)
}

/// The id, if a wake could name it.
pub(super) fn valid(session: &str) -> Option<String> {
    header(session).is_ok().then(|| session.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_what_a_server_takes_is_sent_raw() {
        let longest = "é".repeat(256);
        for id in ["sess-abc", "a b", "agent:main:x", "user@host", "日本", "1:x", ".", &longest] {
            assert_eq!(header(id).unwrap().as_bytes(), id.as_bytes(), "{id}");
        }
    }

    #[test]
    fn w2_what_a_server_refuses_is_not_sent() {
        let long = "x".repeat(257);
        for id in [
            "", " ", "\u{3000}", " a", "a\n", "a\nb", "a\rb", "a\0b", "a\u{7f}", "..", "a..b",
            "a/b", "a\\b", "c:x", "é:", &long,
        ] {
            assert!(header(id).is_err(), "{id:?}");
        }
    }

    #[test]
    fn w3_a_name_from_an_answer_is_checked() {
        let name = |bytes: &[u8]| named(Some(&HeaderValue::from_bytes(bytes).unwrap()));
        assert_eq!(name("séance".as_bytes()), Some("séance".to_owned()));
        assert_eq!(name(b"../x"), None);
        assert_eq!(name(b""), None);
        assert_eq!(name(b"\xff"), None);
        assert_eq!(named(None), None);
    }
}
