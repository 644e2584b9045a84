//! Microsoft Teams, over a strict workflow that posts cards.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::{
        RawAct, RawServer,
        push::{PushAct, PushAnswer, teams},
    },
};
use kanban_notify::message::{Parcel, Span};
use serde_json::{Value, json};

use super::contract::{Answers, Subject, bench, channel, contract, parcel, to};

const SIGNATURE: &str = "FAKE-signature_FAKE-signature_FAKE";
const ADDRESS: &str = "{url}/workflows/0a1b2c/triggers/manual/paths/invoke?api-version=2016-06-01\
    &sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=FAKE-signature_FAKE-signature_FAKE";

const SUBJECT: Subject = Subject {
    name: "teams_webhook",
    server: || teams(SIGNATURE),
    settings: &[("url", ADDRESS)],
    secret: "FAKE",
    chat: "the workflow's",
    thread: "",
    unit: Unit::Bytes,
    limit: 26_000,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn error(status: u16, code: &str, message: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"error": {"code": code, "message": message}}).to_string())
}

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let inner = |status| {
        let words =
            format!("Microsoft Teams endpoint returned HTTP error {status} with ContextId x");
        PushAnswer::new(200, format!("Webhook message delivery failed with error: {words}"))
    };
    let state = "Could not execute workflow 'x' trigger 'manual' with state";
    let mut answers = vec![
        (PushAnswer::new(202, ""), "delivered", None),
        (PushAnswer::new(200, "1"), "delivered", None),
        (inner(429), "busy", None),
        (PushAnswer { status: 202, ..inner(429) }, "busy", None),
        (inner(400), "payload", None),
        (inner(413), "payload", None),
        (inner(404), "credential", None),
        (inner(500), "retryable", None),
        // As everywhere, these may have taken effect.
        (inner(502), "unknown", None),
        (PushAnswer { status: 202, ..inner(504) }, "unknown", None),
        (PushAnswer::new(200, "HTTP error 200"), "unknown", None),
        (PushAnswer::new(429, "").with("retry-after", "7"), "busy", seconds(7)),
        (error(429, "TooManyRequests", "Rate limit is exceeded."), "busy", None),
        (error(401, "DirectApiAuthorizationRequired", "No scheme."), "credential", None),
        (error(403, "Forbidden", "Not from this address."), "credential", None),
        (error(404, "WorkflowNotFound", "It could not be found."), "credential", None),
        (PushAnswer::new(410, ""), "credential", None),
        (error(400, "TriggerInputSchemaMismatch", "Invalid type."), "payload", None),
        (PushAnswer::new(413, "Request Entity Too Large"), "payload", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        // The workflow ran, and said nothing or failed on the way.
        (error(502, "NoResponse", "The server did not receive a response."), "unknown", None),
        (error(504, "GatewayTimeout", "It took too long."), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
    ];
    for state in [format!("{state} 'Deleted'."), format!("{state} 'Suspended'.")] {
        answers.push((error(400, "WorkflowTriggerIsNotEnabled", &state), "credential", None));
    }
    answers
}

#[tokio::test]
async fn a_message_is_one_card_with_a_block_for_each_line() {
    let bench = bench(&SUBJECT).await;
    let spans = vec![Span::quoted("a*b_c [d]"), Span::ours(" is done:\n\n- 1. x\n# y")];
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, spans)).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    let card = &body["attachments"][0];
    assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
    let blocks = card["content"]["body"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    let b = '\u{200b}';
    let lines =
        ["a\\*b\\_c \\[d\\] is done:", &format!("{b}"), &format!("{b}- 1. x"), &format!("{b}# y")];
    assert_eq!(texts, lines);
    assert_eq!(bench.server.seen()[0].text, "a*b_c [d] is done:\n\n- 1. x\n# y");
}

/// The room that lines and escapes take is counted: no request is larger than what is taken.
#[tokio::test]
async fn many_short_lines_go_in_parts_that_fit() {
    for text in ["- *x*\n".repeat(3_000), "\"\\\n".repeat(3_000), "\n".repeat(3_000)] {
        let bench = bench(&SUBJECT).await;
        let spans = vec![Span::quoted("x"), Span::quoted(text), Span::ours("end")];
        let mut sent = parcel(&SUBJECT, &*bench.channel, spans);
        let mut verdict = bench.channel.send(&sent).await;
        while verdict.name() == "part" {
            sent.part += 1;
            verdict = bench.channel.send(&sent).await;
        }
        assert_eq!(verdict.name(), "delivered", "{verdict:?}");
        let requests = bench.server.requests();
        assert!(requests.len() > 1 && requests.iter().all(|one| one.body.len() <= 28 << 10));
    }
}

#[tokio::test]
async fn a_probe_runs_no_workflow_and_sees_that_one_is_switched_off() {
    let bench = bench(&SUBJECT).await;
    assert_eq!(bench.channel.probe().await.name(), "delivered");
    assert_eq!(bench.server.requests()[0].method, "GET");
    let off = error(400, "WorkflowTriggerIsNotEnabled", "state 'Suspended'");
    bench.server.play([PushAct::Answer(off)]);
    assert_eq!(bench.channel.probe().await.name(), "credential");
}

/// What it would have said may be an error of Teams itself.
#[tokio::test]
async fn d7_an_answer_that_is_cut_off_is_in_doubt() {
    let cut = b"HTTP/1.1 202 Accepted\r\ncontent-length: 90\r\n\r\nWebhook message".to_vec();
    let acts = vec![RawAct::ReadRequest, RawAct::Write(cut), RawAct::Reset];
    let server = RawServer::start(vec![acts]).await.unwrap();
    let channel = channel(&SUBJECT, &server.url());
    let parcel = parcel(&SUBJECT, &*channel, vec![Span::quoted("x")]);
    assert_eq!(channel.send(&parcel).await.name(), "unknown");
}

#[tokio::test]
async fn a_workflow_has_no_threads() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let sent = Parcel { destination: to(&SUBJECT, "19:x@thread.tacv2"), ..first };
    assert_eq!(bench.channel.send(&sent).await.name(), "thread");
    assert!(bench.server.requests().is_empty());
}
