//! Home Assistant, over a strict server: its own interface, and a notify service.

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, homeassistant},
};
use kanban_notify::message::{Destination, Span};

use super::contract::{Answers, Subject, bench, contract, parcel, shown};

const TOKEN: &str = "eyJ.FAKEtokenfortests.x";

const SUBJECT: Subject = Subject {
    name: "homeassistant",
    server: || homeassistant(TOKEN, "mobile_app_ann"),
    settings: &[("token", TOKEN)],
    secret: "FAKEtokenfortests",
    chat: "panel",
    thread: "",
    unit: Unit::Bytes,
    limit: 16_384,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

const SERVICE: Subject = Subject {
    name: "homeassistant_notify",
    chat: "mobile_app_ann",
    limit: 2_048,
    answers: || {
        let mut answers = answers();
        answers[0].1 = "target";
        answers
    },
    ..SUBJECT
};

mod service {
    use super::{SERVICE, contract};

    contract!(SERVICE);
}

fn answers() -> Answers {
    vec![
        (PushAnswer::new(400, "400: Bad Request"), "payload", None),
        (PushAnswer::new(401, "401: Unauthorized"), "credential", None),
        (PushAnswer::new(403, "403: Forbidden"), "credential", None),
        (PushAnswer::new(404, "404: Not Found"), "retryable", None),
        (PushAnswer::new(405, "405: Method Not Allowed"), "retryable", None),
        (PushAnswer::new(413, "Maximum request body size exceeded"), "payload", None),
        (PushAnswer::new(500, "500 Internal Server Error"), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
    ]
}

#[tokio::test]
async fn a_title_is_no_template_and_no_markup() {
    for subject in [SUBJECT, SERVICE] {
        let bench = bench(&subject).await;
        let title = "{{ states('lock.door') }} {% if x %} {# y #} &amp; **z** #1";
        let parcel = parcel(&subject, &*bench.channel, vec![Span::quoted(title)]);
        assert_eq!(bench.channel.send(&parcel).await.name(), "delivered", "{}", subject.name);
        assert_eq!(shown(&bench.server.seen()[0].text), title);
    }
}

#[tokio::test]
async fn d7_a_repeat_replaces_the_notification() {
    let bench = bench(&SUBJECT).await;
    let parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    bench.server.play([PushAct::Swallow]);
    assert_eq!(bench.channel.send(&parcel).await.name(), "unknown");
    assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
    assert_eq!((bench.server.requests().len(), bench.server.seen().len()), (2, 1));
}

/// Each refused token counts towards shutting this machine out.
#[tokio::test]
async fn a_token_that_is_refused_is_not_tried_again() {
    let bench = bench(&SUBJECT).await;
    let parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    bench.server.play([PushAct::Answer(PushAnswer::new(401, "401: Unauthorized"))]);
    for _ in 0..2 {
        assert_eq!(bench.channel.send(&parcel).await.name(), "credential");
        assert_eq!(bench.channel.probe().await.name(), "credential");
    }
    assert_eq!(bench.server.requests().len(), 1);
}

#[tokio::test]
async fn a_chat_is_the_name_of_a_notify_service() {
    for (chat, verdict) in [
        ("notify.mobile_app_ann", "delivered"),
        ("mobile_app_bob", "target"),
        ("", "target"),
        ("../config", "target"),
        ("a b", "target"),
    ] {
        let bench = bench(&SERVICE).await;
        let mut parcel = parcel(&SERVICE, &*bench.channel, vec![Span::quoted("x")]);
        if let Destination::Chat { chat: to, .. } = &mut parcel.destination {
            *to = chat.to_owned();
        }
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict, "{chat}");
        let sent = bench.server.requests().len();
        assert_eq!(sent, usize::from(chat.contains("mobile")), "{chat}");
    }
}
