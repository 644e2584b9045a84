//! The replies of a receiver, in the real server's words.

use ::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};

/// A reply.
pub(super) type Reply = Response<Full<Bytes>>;

/// Ends a connection without a reply.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without a reply")]
pub(super) struct Closed;

pub(super) fn json(status: StatusCode, body: &Value) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(body.to_string())));
    *reply.status_mut() = status;
    with(reply, header::CONTENT_TYPE, "application/json; charset=utf-8")
}

/// An error in the envelope that clients of the contract know.
pub(super) fn error(status: StatusCode, kind: &str, code: Option<&str>, message: &str) -> Reply {
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    self::json(status, &body)
}

pub(super) fn invalid(code: Option<&str>, message: &str) -> Reply {
    error(StatusCode::BAD_REQUEST, "invalid_request_error", code, message)
}

/// The reply with one more header; without it if the value is none.
pub(super) fn with(mut reply: Reply, name: HeaderName, value: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
        reply.headers_mut().insert(name, value);
    }
    reply
}
