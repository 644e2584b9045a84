//! The routes of a receiver, and the checks that come before them.

use std::sync::Arc;

use ::http::{HeaderMap, Method, Request, StatusCode, header, request::Parts};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{
    chat,
    log::{How, Pending},
    reply::{self, Closed, Reply},
    shared::Shared,
};
use crate::http::base::unescaped;

/// The route of a wake.
pub(super) const CHAT: &str = "/v1/chat/completions";

pub(super) async fn handle(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Reply, Closed> {
    let (head, body) = request.into_parts();
    let body = read(body, shared.config.max_body).await?;
    let recorded = shared.log.arrived(&head, body.as_deref().unwrap_or_default());
    if !recorded.is_wake() {
        return Ok(other(&shared, &head));
    }
    let pending = Pending::new(&shared.log, recorded.number);
    let (answer, how) = match before_wake(&shared, &head, body.is_none()) {
        Some(refused) => (Ok(refused), How::Refused),
        None => chat::wake(&shared, &recorded).await,
    };
    let status = answer.as_ref().ok().map(|reply| reply.status().as_u16());
    pending.answered(status, how);
    answer
}

/// The whole body, or nothing if it is over the limit; read to its end either way, so that the
/// client hears the answer.
async fn read(mut body: Incoming, limit: usize) -> Result<Option<Vec<u8>>, Closed> {
    let mut whole = Some(Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Closed)?.into_data() else {
            continue;
        };
        whole = whole.and_then(|mut bytes: Vec<u8>| {
            bytes.extend_from_slice(&data);
            (bytes.len() <= limit).then_some(bytes)
        });
    }
    Ok(whole)
}

/// The checks in their order: origin, size, key, draining.
fn before_wake(shared: &Shared, head: &Parts, too_large: bool) -> Option<Reply> {
    if head.headers.contains_key(header::ORIGIN) {
        return Some(reply::error(
            StatusCode::FORBIDDEN,
            "invalid_request_error",
            None,
            "Origin not allowed",
        ));
    }
    let declared = head.headers.contains_key(header::CONTENT_LENGTH);
    if too_large && declared {
        return Some(reply::error(
            StatusCode::PAYLOAD_TOO_LARGE,
            "invalid_request_error",
            Some("body_too_large"),
            "Request body too large.",
        ));
    }
    if !is_let_in(shared, &head.headers) {
        return Some(wrong_key());
    }
    if shared.is_draining() {
        let draining = reply::error(
            StatusCode::SERVICE_UNAVAILABLE,
            "invalid_request_error",
            Some("gateway_draining"),
            "Draining, come back shortly.",
        );
        return Some(reply::with(draining, header::RETRY_AFTER, &shared.config.retry_after));
    }
    // Without a declared length, a body that is too large reads as one that is no JSON.
    too_large.then(|| reply::invalid(None, "Invalid JSON in request body"))
}

fn other(shared: &Shared, head: &Parts) -> Reply {
    let path = head.uri.path();
    if matches!(path, "/health" | "/v1/health") && head.method == Method::GET {
        let version = env!("CARGO_PKG_VERSION");
        let body =
            json!({"status": "ok", "platform": "kanban-gateway-receiver", "version": version});
        return reply::json(StatusCode::OK, &body);
    }
    let found = match path {
        "/v1/models" => Found::Models,
        "/api/sessions" => Found::Sessions,
        CHAT => {
            return reply::error(
                StatusCode::METHOD_NOT_ALLOWED,
                "invalid_request_error",
                None,
                "405: Method Not Allowed",
            );
        }
        _ => match path.strip_prefix("/api/sessions/") {
            Some(rest) => match rest.split_once('/') {
                None => Found::Session(unescaped(rest)),
                Some((id, "messages")) => Found::Messages(unescaped(id)),
                Some(_) => return no_route(),
            },
            None => return no_route(),
        },
    };
    if head.method != Method::GET {
        return no_route();
    }
    if !is_let_in(shared, &head.headers) {
        return wrong_key();
    }
    let sessions = shared.sessions();
    let (id, body) = match found {
        Found::Models => {
            let model = &shared.config.model;
            let models = json!([{"id": model, "object": "model", "owned_by": "hermes"}]);
            return reply::json(StatusCode::OK, &json!({"object": "list", "data": models}));
        }
        Found::Sessions => return reply::json(StatusCode::OK, &sessions.list()),
        Found::Session(id) => {
            let shown = sessions.show(&id);
            (id, shown)
        }
        Found::Messages(id) => {
            let shown = sessions.messages(&id);
            (id, shown)
        }
    };
    match body {
        Some(body) => reply::json(StatusCode::OK, &body),
        None => reply::error(
            StatusCode::NOT_FOUND,
            "invalid_request_error",
            Some("session_not_found"),
            &format!("Session not found: {id}"),
        ),
    }
}

enum Found {
    Models,
    Sessions,
    Session(String),
    Messages(String),
}

fn is_let_in(shared: &Shared, headers: &HeaderMap) -> bool {
    let key = shared.config.key.expose_secret();
    let sent = headers.get(header::AUTHORIZATION);
    let sent = sent.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    key.is_empty() || sent.is_some_and(|sent| sent.trim_ascii() == key.as_bytes())
}

fn wrong_key() -> Reply {
    reply::error(
        StatusCode::UNAUTHORIZED,
        "invalid_request_error",
        Some("invalid_api_key"),
        "Invalid API key",
    )
}

/// No JSON: so a client can tell a missing route from a missing session.
fn no_route() -> Reply {
    let mut reply = Reply::new(bytes::Bytes::from_static(b"404: Not Found").into());
    *reply.status_mut() = StatusCode::NOT_FOUND;
    reply::with(reply, header::CONTENT_TYPE, "text/plain; charset=utf-8")
}
