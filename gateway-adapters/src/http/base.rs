//! Base addresses that an operator gives: which of them can be used, and routes below them.

use ::http::Uri;

use crate::AdapterError;

/// The base without a slash at its end.
///
/// # Errors
///
/// [`AdapterError::Address`], which names no part of it.
pub fn base(channel: &str, given: &str) -> Result<String, AdapterError> {
    let refuse = |reason| AdapterError::Address { channel: channel.to_owned(), reason };
    let base = given.trim().trim_end_matches('/');
    if base.contains('#') {
        return Err(refuse("it has a fragment"));
    }
    let uri: Uri = base.parse().map_err(|_| refuse("it is no URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(refuse("it does not begin with http:// or https://"));
    }
    let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
    if authority.host().is_empty() {
        return Err(refuse("it has no host"));
    }
    if authority.as_str().contains('@') {
        return Err(refuse("it holds a user or password; the key is sent instead"));
    }
    if uri.query().is_some() {
        return Err(refuse("it has a query"));
    }
    Ok(base.to_owned())
}

/// The whole address of a hook, which is itself the credential.
///
/// # Errors
///
/// [`AdapterError::Address`], which names no part of it.
pub fn hook(channel: &str, given: &str) -> Result<Uri, AdapterError> {
    let given = given.trim();
    // What follows the path is the hook's own.
    let (path, query) = given.split_once('?').unwrap_or((given, ""));
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    route(channel, &base(channel, path)?, &query)
}

/// A route below a base that [`base()`] has passed.
///
/// # Errors
///
/// [`AdapterError::Address`], which names no part of it.
pub fn route(channel: &str, base: &str, path: &str) -> Result<Uri, AdapterError> {
    format!("{base}{path}")
        .parse()
        .map_err(|_| AdapterError::Address { channel: channel.to_owned(), reason: "it is no URL" })
}

/// A segment of a path: every byte but unreserved ones is escaped.
pub fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut path = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b'.') {
            path.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

/// Text of an address without its escapes.
pub fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.split_at_checked(2)).flatten().and_then(
            |(hex, beyond)| {
                let byte = u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
                Some((byte, beyond))
            },
        );
        let (byte, beyond) = escaped.unwrap_or((first, after));
        bytes.push(byte);
        rest = beyond;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_108_a_hook_keeps_its_query_and_a_refused_one_is_not_repeated() {
        let kept = hook("x", " https://h.example/a/FAKE?thread_id=7 ").unwrap();
        assert_eq!(kept.to_string(), "https://h.example/a/FAKE?thread_id=7");
        for given in
            ["FAKE", "ftp://h/FAKE", "https://u:FAKE@h/x", "https://h/FAKE#x", "https://h/?FAKE x"]
        {
            let refused = hook("x", given).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("FAKE"), "{refused:?}");
        }
    }

    #[test]
    fn a_path_segment_stays_one_segment() {
        assert_eq!(segment("a b?c#d%e:é"), "a%20b%3Fc%23d%25e%3A%C3%A9");
        assert_eq!(segment("A-z_0.~"), "A-z_0.~");
        for text in ["a b?c#d%e:é", "100%", "%zz%4"] {
            assert_eq!(unescaped(&segment(text)), text);
        }
        assert_eq!(unescaped("100%+%zz%4"), "100%+%zz%4");
    }
}
