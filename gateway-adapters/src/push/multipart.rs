//! Forms of several parts (`multipart/form-data`), with files that are read while they leave.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use ::http::{HeaderValue, Method, Request, Uri, header};
use bytes::Bytes;
use serde_json::Value;

use super::attach::content_type;
use crate::files::{
    OpenFile,
    stream::{FileBody, Piece},
};

/// A form.
#[derive(Debug)]
pub struct Form {
    boundary: String,
    pieces: Vec<Piece>,
}

impl Default for Form {
    /// An empty one. Its boundary is drawn by lot, so that nothing in a file can be one.
    fn default() -> Self {
        let lot = || RandomState::new().build_hasher().finish();
        Self { boundary: format!("kanban-{:016x}{:016x}", lot(), lot()), pieces: Vec::new() }
    }
}

impl Form {
    /// With a field of text.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.field(name, "", &format!("\r\n{value}"))
    }

    /// With a field of JSON.
    #[must_use]
    pub fn json(self, name: &str, value: &Value) -> Self {
        self.field(name, "", &format!("Content-Type: application/json\r\n\r\n{value}"))
    }

    /// With a file.
    #[must_use]
    pub fn file(self, name: &str, file: OpenFile) -> Self {
        let kind = content_type(&file.name);
        let filename = format!("; filename=\"{}\"", quoted(&file.name));
        let mut form = self.field(name, &filename, &format!("Content-Type: {kind}\r\n\r\n"));
        form.pieces.push(Piece::File(file));
        form
    }

    /// The form as a `POST`.
    pub fn post(mut self, uri: Uri) -> Request<FileBody> {
        let end = format!("\r\n--{}--\r\n", self.boundary);
        self.pieces.push(Piece::Bytes(Bytes::from(end)));
        let kind = format!("multipart/form-data; boundary={}", self.boundary);
        let mut request = Request::new(FileBody::new(self.pieces));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        // A boundary has nothing that a header could not hold.
        if let Ok(kind) = HeaderValue::from_str(&kind) {
            request.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
        request
    }

    fn field(mut self, name: &str, more: &str, rest: &str) -> Self {
        let line = if self.pieces.is_empty() { "" } else { "\r\n" };
        let head = format!(
            "{line}--{}\r\nContent-Disposition: form-data; name=\"{}\"{more}\r\n{rest}",
            self.boundary,
            quoted(name)
        );
        self.pieces.push(Piece::Bytes(Bytes::from(head)));
        self
    }
}

/// A name between quotes, in the way that browsers write it: nothing ends it or its line.
fn quoted(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '"' => safe.push_str("%22"),
            '\r' => safe.push_str("%0D"),
            '\n' => safe.push_str("%0A"),
            c if c.is_control() => safe.push('_'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_quotes_or_its_line() {
        assert_eq!(quoted("a\"b\r\nX: y\u{0}é.pdf"), "a%22b%0D%0AX: y_é.pdf");
        assert_ne!(Form::default().boundary, Form::default().boundary);
    }
}
