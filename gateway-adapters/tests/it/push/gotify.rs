//! Gotify, over a strict server.

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAnswer, gotify},
};
use kanban_notify::message::Span;
use serde_json::{Value, json};

use super::contract::{Answers, Subject, bench, contract, parcel};

const SUBJECT: Subject = Subject {
    name: "gotify",
    server: || gotify("AFAKEtokenfortests"),
    settings: &[("token", "AFAKEtokenfortests")],
    secret: "FAKEtokenfortests",
    chat: "app",
    thread: "",
    unit: Unit::Bytes,
    limit: 16_384,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn error(status: u16) -> PushAnswer {
    let body = json!({"error": "x", "errorCode": status, "errorDescription": "as the server says"});
    PushAnswer::new(status, body.to_string())
}

fn answers() -> Answers {
    vec![
        (error(401), "credential", None),
        (error(403), "credential", None),
        (error(400), "payload", None),
        (error(404), "retryable", None),
        (error(500), "retryable", None),
        (PushAnswer::new(413, "<html>"), "payload", None),
        (PushAnswer::new(429, ""), "busy", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
    ]
}

#[tokio::test]
async fn it_is_as_loud_as_the_application_unless_that_is_set() {
    for (priority, sent) in [("", json!(null)), ("7", json!(7)), ("99", json!(10))] {
        let settings: &'static [(&str, &str)] = match priority {
            "7" => &[("token", "AFAKEtokenfortests"), ("priority", "7")],
            "99" => &[("token", "AFAKEtokenfortests"), ("priority", "99")],
            _ => SUBJECT.settings,
        };
        let subject = Subject { settings, ..SUBJECT };
        let bench = bench(&subject).await;
        let parcel = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
        assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
        let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
        assert_eq!(body["priority"], sent);
    }
}
