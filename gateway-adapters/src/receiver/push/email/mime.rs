//! What a letter is made of: a text and files, each in its encoding.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

/// A text and the files with it.
type Parts = (Vec<u8>, Vec<(String, Bytes)>);

/// The parts of a letter: first its text, then its files.
pub(super) fn parts(body: &str, boundary: &str) -> Option<Parts> {
    let body = format!("\r\n{body}\r\n");
    let (_, rest) = body.split_once(&format!("\r\n--{boundary}\r\n"))?;
    let (inner, end) = rest.split_once(&format!("\r\n--{boundary}--"))?;
    if !end.trim().is_empty() {
        return None;
    }
    let between = format!("\r\n--{boundary}\r\n");
    let mut all = inner.split(&between).map(part);
    let (name, text) = all.next()??;
    let files = all.map(|part| {
        let (name, content) = part?;
        Some((name?, Bytes::from(content)))
    });
    let files: Vec<_> = files.collect::<Option<_>>()?;
    (name.is_none() && !files.is_empty()).then_some((text, files))
}

/// The name of the file that a part is, if it is one, and its content.
fn part(text: &str) -> Option<(Option<String>, Vec<u8>)> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let head = head.replace("\r\n ", " ");
    let (mut name, mut encoding) = (None, "");
    for line in head.split("\r\n") {
        match line.split_once(": ")? {
            ("Content-Type", _) => {}
            ("Content-Transfer-Encoding", value) => encoding = value,
            ("Content-Disposition", value) => {
                name = Some(filename(value.strip_prefix("attachment;")?)?);
            }
            _ => return None,
        }
    }
    Some((name, decoded(encoding, body)?))
}

/// A name as RFC 2231 writes it: in one piece or in several, plain or in percent signs.
fn filename(parameters: &str) -> Option<String> {
    let mut bytes = Vec::new();
    for (number, parameter) in parameters.split(';').map(str::trim).enumerate() {
        let (key, value) = parameter.split_once('=')?;
        let is_coded = key.ends_with('*');
        let expected = ["filename".to_owned(), format!("filename*{number}")];
        if !expected.iter().any(|one| key.trim_end_matches('*') == one) {
            return None;
        }
        if is_coded {
            let value = value.strip_prefix("utf-8''").unwrap_or(value);
            let mut pieces = value.split('%');
            bytes.extend_from_slice(pieces.next()?.as_bytes());
            for piece in pieces {
                let (code, rest) = piece.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(code, 16).ok()?);
                bytes.extend_from_slice(rest.as_bytes());
            }
        } else {
            let plain = value.strip_prefix('"')?.strip_suffix('"')?;
            bytes.extend_from_slice(plain.replace("\\", "").as_bytes());
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text out of its encoding.
pub(super) fn decoded(encoding: &str, text: &str) -> Option<Vec<u8>> {
    match encoding {
        "7bit" => Some(text.as_bytes().to_vec()),
        "base64" if text.split("\r\n").all(|line| line.len() <= 76) => {
            STANDARD.decode(text.replace("\r\n", "")).ok()
        }
        "quoted-printable" => unquoted(text),
        _ => None,
    }
}

fn unquoted(text: &str) -> Option<Vec<u8>> {
    let joined = text.replace("=\r\n", "");
    let mut bytes = Vec::with_capacity(joined.len());
    let mut parts = joined.split('=');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}
