//! ntfy, over a strict server.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, ntfy},
};
use kanban_notify::message::{Destination, Parcel, Span};
use serde_json::json;

use super::{
    contract::{Answers, Subject, bench, contract, parcel},
    files::{self, Carrier, Folder, file_contract},
};

const SUBJECT: Subject = Subject {
    name: "ntfy",
    server: || ntfy("Bearer tk_FAKEtokenfortests"),
    settings: &[("token", "tk_FAKEtokenfortests")],
    secret: "FAKEtokenfortests",
    chat: "kanban_a-1",
    thread: "",
    unit: Unit::Bytes,
    limit: 4_096,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

const CARRIER: Carrier =
    Carrier { subject: SUBJECT, refused: || error(400, 40_014), tries: 1, steps: 1 };

file_contract!(CARRIER);

fn error(status: u16, code: u32) -> PushAnswer {
    let body = json!({"code": code, "http": status, "error": "as the server says"});
    PushAnswer::new(status, body.to_string())
}

fn answers() -> Answers {
    let hour = Some(Duration::from_secs(3_600));
    vec![
        (error(429, 42_901), "busy", None),
        (error(429, 42_901).with("retry-after", "7"), "busy", Some(Duration::from_secs(7))),
        (error(429, 42_905), "busy", None),
        (error(429, 42_908), "busy", hour),
        (error(429, 42_909), "credential", None),
        (error(401, 40_101), "credential", None),
        (error(403, 40_301), "target", None),
        (error(400, 40_009), "target", None),
        (error(400, 40_010), "target", None),
        (error(400, 40_001), "payload", None),
        (error(413, 41_301), "payload", None),
        (error(500, 50_001), "retryable", None),
        (error(507, 50_701), "retryable", None),
        (PushAnswer::new(404, "404 page not found"), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
    ]
}

#[tokio::test]
async fn report_76_report_131_long_text_of_any_script_stays_a_message() {
    let bench = bench(&SUBJECT).await;
    let text = "日".repeat(1_500);
    let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted(&text)]);
    assert_eq!(bench.channel.send(&parcel).await.name(), "part");
    parcel.part = 1;
    assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
    let seen: String = bench.server.seen().into_iter().map(|message| message.text).collect();
    assert_eq!(seen, text);
}

#[tokio::test]
async fn a_user_with_a_password_and_a_server_for_everybody() {
    for (settings, authorization) in
        [(&[("token", "ann:pw")][..], "Basic YW5uOnB3"), (&[("topic", "kanban_a-1")][..], "")]
    {
        let server: fn() -> _ = match authorization {
            "" => || ntfy(""),
            _ => || ntfy("Basic YW5uOnB3"),
        };
        let subject = Subject { settings, server, secret: "ann:pw", ..SUBJECT };
        let bench = bench(&subject).await;
        let parcel = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
        assert_eq!(bench.channel.send(&parcel).await.name(), "delivered", "{authorization}");
        assert_eq!(bench.channel.probe().await.name(), "delivered");
    }
}

#[tokio::test]
async fn markdown_is_off_unless_it_is_wanted_and_then_titles_are_escaped() {
    let settings = &[("token", "tk_FAKEtokenfortests"), ("markdown", "true")];
    let subject = Subject { settings, markup: true, ..SUBJECT };
    let bench = bench(&subject).await;
    let spans = vec![Span::quoted("*a*"), Span::ours(" is **blocked**.")];
    let parcel = parcel(&subject, &*bench.channel, spans);
    bench.channel.send(&parcel).await;
    bench.channel.send(&Parcel { plain: true, ..parcel }).await;
    let seen = bench.server.seen();
    assert_eq!((seen[0].rich, seen[0].text.as_str()), (true, "\\*a\\* is **blocked**."));
    assert_eq!((seen[1].rich, seen[1].text.as_str()), (false, "*a* is **blocked**."));
}

#[tokio::test]
async fn what_is_no_topic_is_not_sent() {
    let bench = bench(&SUBJECT).await;
    for topic in ["", "a/b", "../x", "a b", "ä", &"x".repeat(65)] {
        let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
        if let Destination::Chat { chat, .. } = &mut parcel.destination {
            *chat = topic.to_owned();
        }
        assert_eq!(bench.channel.send(&parcel).await.name(), "target", "{topic:?}");
    }
    assert!(bench.server.requests().is_empty());
}

#[tokio::test]
async fn traffic_that_is_used_up_is_told_and_waits_for_nothing() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let checked = folder.files(&[("a.txt", b"x")]).await;
    let parcel = Parcel { part: 1, ..files::parcel(&CARRIER, &bench, checked) };
    bench.server.play([PushAct::Answer(error(429, 42_905))]);
    assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
    assert!(bench.server.seen()[0].text.contains("a.txt (refused here)"));
}

#[tokio::test]
async fn a_credential_that_is_not_set_is_named_and_what_is_kept_out_is_none() {
    let subject = Subject { settings: &[("topic", "kanban_a-1")], server: || ntfy(""), ..SUBJECT };
    let bench = bench(&subject).await;
    let said = "the credential of `ntfy.token` (NTFY_TOKEN), which is not set: 401";
    let parcel = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
    bench.server.play([PushAct::Answer(error(401, 40_101))]);
    let refused = bench.channel.send(&parcel).await;
    assert!(refused.name() == "credential" && refused.detail().starts_with(said), "{refused:?}");
    bench.server.play([PushAct::Answer(error(401, 40_101))]);
    let refused = bench.channel.probe().await;
    assert!(refused.name() == "credential" && refused.detail().starts_with(said), "{refused:?}");
    bench.server.play([PushAct::Answer(error(403, 40_301))]);
    assert_eq!(bench.channel.probe().await.name(), "target");
}

#[tokio::test]
async fn a_thread_is_refused_where_there_are_none() {
    let bench = bench(&SUBJECT).await;
    let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    if let Destination::Chat { thread, .. } = &mut parcel.destination {
        "77".clone_into(thread);
    }
    let refused = bench.channel.send(&parcel).await;
    assert_eq!((refused.name(), refused.detail()), ("thread", "this platform has no threads"));
    assert!(bench.server.requests().is_empty());
}
