//! Files for ntfy: each the body of a request of its own, whose headers name it.

use ::http::{HeaderName, HeaderValue, Method, Request};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kanban_notify::{
    artifacts::Takes,
    verdict::{Fault, Verdict},
};
use serde_json::Value;

use super::Ntfy;
use crate::{
    files::{
        OpenFile,
        stream::{FileBody, Piece},
    },
    push::{attach::Groups, call::Lost, pin::Next, post::Post as _},
};

/// What a server takes where nobody says otherwise; others take less, and say so.
pub(super) const TAKES: Takes = Takes::files(15 << 20);

/// Each is a message of its own.
pub(super) const GROUPS: Groups = Groups { files: 1, bytes: u64::MAX, together: |_| false };

const FILENAME: HeaderName = HeaderName::from_static("filename");
const MESSAGE: HeaderName = HeaderName::from_static("message");
/// The visitor's traffic of the day, or the server's room, is used up.
const USED_UP: u64 = 42_905;

impl Ntfy {
    /// Sends the file of a part.
    pub(super) async fn send_files(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        let Some(file) = files.into_iter().next() else { return Err(Lost::Changed) };
        let name = word(&file.name);
        let mut request = Request::new(FileBody::new(vec![Piece::File(file)]));
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = self.address(next.chat)?;
        let headers = request.headers_mut();
        headers.extend(name.map(|name| (FILENAME, name)));
        if !caption.is_empty() {
            headers.extend(word(&caption).map(|caption| (MESSAGE, caption)));
        }
        let request = self.authorized(request);
        let answer = self.line.caller.upload(request).await?;
        let code = answer.json.pointer("/code").and_then(Value::as_u64);
        if code == Some(USED_UP) {
            let words = answer.text_at("/error");
            return Ok(self.line.caller.fault(Fault::Payload, &answer, words));
        }
        Ok(self.judge(next, &answer))
    }
}

/// A text as a header takes it.
fn word(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("=?UTF-8?B?{}?=", STANDARD.encode(text))).ok()
}
