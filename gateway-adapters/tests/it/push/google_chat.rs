//! Google Chat, over a strict space with one webhook.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, google_chat},
};
use kanban_notify::{
    message::{Parcel, Span},
    verdict::Verdict,
};
use serde_json::{Value, json};

use super::contract::{Answers, Subject, bench, contract, parcel, to};

const KEY: &str = "AIzaFAKEkeyFAKEkeyFAKE";
const TOKEN: &str = "FAKEtokenFAKEtokenFAKE=";
const ADDRESS: &str =
    "{url}/v1/spaces/AAAA/messages?key=AIzaFAKEkeyFAKEkeyFAKE&token=FAKEtokenFAKEtokenFAKE%3D";

const SUBJECT: Subject = Subject {
    name: "google_chat_webhook",
    server: || google_chat(KEY, TOKEN),
    settings: &[("url", ADDRESS)],
    secret: "FAKE",
    chat: "AAAA",
    thread: "release-7",
    unit: Unit::Utf16,
    limit: 4_000,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn error(code: u16, status: &str, message: &str) -> PushAnswer {
    let error = json!({"code": code, "message": message, "status": status});
    PushAnswer::new(code, json!({"error": error}).to_string())
}

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let key = json!({"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid.",
        "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]});
    let quota = "Quota exceeded for quota metric 'Message writes' of service 'chat.googleapis.com'";
    vec![
        (error(429, "RESOURCE_EXHAUSTED", quota), "busy", None),
        (error(429, "RESOURCE_EXHAUSTED", quota).with("retry-after", "7"), "busy", seconds(7)),
        (error(503, "UNAVAILABLE", "The service is currently unavailable."), "busy", None),
        (error(409, "ABORTED", "The operation was aborted."), "busy", None),
        (error(500, "INTERNAL", "Internal error encountered."), "retryable", None),
        (error(504, "DEADLINE_EXCEEDED", "Deadline expired."), "unknown", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (error(401, "UNAUTHENTICATED", "Invalid Credentials"), "credential", None),
        (
            error(403, "PERMISSION_DENIED", "The caller does not have permission"),
            "credential",
            None,
        ),
        (PushAnswer::new(400, json!({"error": key}).to_string()), "credential", None),
        (PushAnswer::new(404, "<html>Error 404 (Not Found)!!1</html>"), "credential", None),
        (error(404, "NOT_FOUND", "Space not found."), "target", None),
        (error(400, "INVALID_ARGUMENT", "Message cannot be empty."), "payload", None),
        (PushAnswer::new(413, ""), "payload", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
    ]
}

/// The answers are lost, the messages are not; sent again, nobody sees one twice.
#[tokio::test]
async fn d7_a_message_and_each_part_have_a_key_and_are_shown_once() {
    let bench = bench(&SUBJECT).await;
    let mut sent = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("word ".repeat(1_000))]);
    bench.server.play([PushAct::Swallow, PushAct::Honest, PushAct::Swallow]);
    for (part, verdict) in [(0, "unknown"), (0, "part"), (1, "unknown")] {
        sent.part = part;
        assert_eq!(bench.channel.send(&sent).await.name(), verdict);
    }
    let again = super::contract::channel(&SUBJECT, &bench.server.url());
    let last = again.send(&sent).await;
    let Verdict::Delivered(receipt) = &last else { panic!("{last:?}") };
    assert_eq!(receipt.remote_id.as_deref(), Some("spaces/AAAA/messages/BBBB.BBBB"));
    let keys: Vec<String> = bench.server.seen().into_iter().map(|message| message.key).collect();
    assert_eq!(keys, ["kgw-1", "kgw-1/1"]);
    let sent: Vec<_> =
        bench.server.requests().into_iter().map(|one| (one.path, one.body)).collect();
    assert_eq!(sent[0], sent[1], "the same again");
    assert_eq!(sent[2], sent[3]);
}

#[tokio::test]
async fn a_thread_is_a_key_of_ones_own_or_a_name_and_none_that_is_too_long() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let name = "spaces/AAAA/threads/CCCC";
    for (thread, key, field) in [("release-7", "a", "threadKey"), (name, "b", "name")] {
        let sent = Parcel { destination: to(&SUBJECT, thread), key: key.into(), ..first.clone() };
        assert_eq!(bench.channel.send(&sent).await.name(), "delivered");
        let body: Value =
            serde_json::from_slice(&bench.server.requests().pop().unwrap().body).unwrap();
        assert_eq!(body["thread"], json!({field: thread}));
    }
    let threads: Vec<String> = bench.server.seen().into_iter().map(|one| one.thread).collect();
    assert_eq!(threads, ["release-7", name]);
    let long = Parcel { destination: to(&SUBJECT, &"x".repeat(4_001)), ..first };
    assert_eq!(bench.channel.send(&long).await.name(), "thread");
}

#[tokio::test]
async fn report_77_a_title_mentions_nobody_and_hides_no_link() {
    let bench = bench(&SUBJECT).await;
    let title = "<users/all> <https://example.org|click> @all";
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, vec![Span::quoted(title)])).await;
    assert_eq!(bench.server.seen()[0].text, title.replace('<', "<\u{200b}"));
}
