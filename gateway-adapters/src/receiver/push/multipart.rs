//! Forms of several parts, read strictly: what a careful server would refuse is refused here.

use bytes::Bytes;

use super::Heard;

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its name.
    pub name: String,
    /// The name of the file that it is, if it is one.
    pub filename: Option<String>,
    /// Its media type; empty where it has none.
    pub kind: String,
    /// What it holds.
    pub bytes: Bytes,
}

impl FormField {
    /// What it holds as text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// The fields of a form, in order; `None` where it is none, or not whole.
pub fn multipart(heard: &Heard) -> Option<Vec<FormField>> {
    let boundary = heard.header("content-type").strip_prefix("multipart/form-data; boundary=")?;
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !(1..=70).contains(&boundary.len()) || !boundary.bytes().all(is_fit) {
        return None;
    }
    let length: usize = heard.header("content-length").parse().ok()?;
    let mut rest: &[u8] = &heard.body;
    if length != rest.len() || !heard.header("transfer-encoding").is_empty() {
        return None;
    }
    rest = rest.strip_prefix(format!("--{boundary}\r\n").as_bytes())?;
    let delimiter = format!("\r\n--{boundary}");
    let mut fields: Vec<FormField> = Vec::new();
    loop {
        let end = find(rest, delimiter.as_bytes())?;
        let (part, after) = rest.split_at_checked(end)?;
        let field = field(part)?;
        // Two of one name would be a list, which nobody asked for.
        if fields.iter().any(|known| known.name == field.name) {
            return None;
        }
        fields.push(field);
        let after = after.strip_prefix(delimiter.as_bytes())?;
        match after.strip_prefix(b"\r\n") {
            Some(next) => rest = next,
            None if after == b"--\r\n" => return Some(fields),
            None => return None,
        }
    }
}

fn field(part: &[u8]) -> Option<FormField> {
    let end =
        if part.starts_with(b"\r\n") { 0 } else { find(part, b"\r\n\r\n")?.checked_add(2)? };
    let (head, body) = part.split_at_checked(end)?;
    let (mut name, mut filename, mut kind) = (None, None, String::new());
    for line in std::str::from_utf8(head).ok()?.split_terminator("\r\n") {
        let (header, value) = line.split_once(": ")?;
        match header {
            "Content-Type" if kind.is_empty() => kind = value.to_owned(),
            "Content-Disposition" if name.is_none() => {
                let rest = value.strip_prefix("form-data; name=\"")?;
                let (given, rest) = rest.split_once('"')?;
                name = Some(given.to_owned());
                filename = match rest.strip_prefix("; filename=\"") {
                    Some(rest) => Some(rest.strip_suffix('"').filter(|one| !one.contains('"'))?),
                    None if rest.is_empty() => None,
                    None => return None,
                };
            }
            _ => return None,
        }
    }
    Some(FormField {
        name: name.filter(|name| !name.is_empty())?,
        filename: filename.map(str::to_owned),
        kind,
        bytes: Bytes::copy_from_slice(body.strip_prefix(b"\r\n")?),
    })
}

/// A text out of an address, or of a form of one line.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
