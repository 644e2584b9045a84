//! Telegram, over a strict Bot API.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, telegram},
};
use kanban_notify::{
    message::{Parcel, Span},
    verdict::Verdict,
};
use serde_json::{Value, json};

use super::{
    contract::{self, Answers, Subject, bench, contract, hint, parcel, to},
    files::{self, Carrier, Folder, PNG, file_contract},
};

const TOKEN: &str = "123456:FAKE-token_for_tests";

const SUBJECT: Subject = Subject {
    name: "telegram",
    server: || telegram(TOKEN),
    settings: &[("token", TOKEN)],
    secret: "FAKE-token_for_tests",
    chat: "-1001",
    thread: "77",
    unit: Unit::Utf16,
    limit: 4_096,
    markup: true,
    mentions: true,
    answers,
};

contract!(SUBJECT);

fn error(code: u16, description: &str) -> PushAnswer {
    let body = json!({"ok": false, "error_code": code, "description": description});
    PushAnswer::new(code, body.to_string())
}

/// The words are those of the Bot API.
fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let flood = |parameters: Value| {
        let body = json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry later",
            "parameters": parameters});
        PushAnswer::new(429, body.to_string())
    };
    let mut answers = vec![
        (flood(json!({"retry_after": 30})), "busy", seconds(30)),
        (flood(json!({})).with("retry-after", "12"), "busy", seconds(12)),
        (flood(json!({"retry_after": 5})).with("retry-after", "9"), "busy", seconds(9)),
        (flood(json!({"retry_after": 1_000_000_000_u64})), "busy", seconds(3_600)),
        (PushAnswer::new(429, "").with("retry-after", "abc"), "busy", None),
        (
            error(
                500,
                "Internal Server Error: sent message was immediately deleted and can't be returned",
            ),
            "delivered",
            None,
        ),
        (error(500, "Internal Server Error: restart"), "retryable", None),
        (PushAnswer::new(502, "<html>bad gateway</html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(504, ""), "unknown", None),
        // A failure that looks like success, and what is no answer of a Bot API.
        (
            PushAnswer::new(200, error(403, "Forbidden: bot was blocked by the user").body),
            "target",
            None,
        ),
        (PushAnswer::new(200, "<html>"), "unknown", None),
        (PushAnswer::new(200, ""), "unknown", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
    ];
    for (code, words, verdict) in [
        (401, "Unauthorized: invalid token specified", "credential"),
        (404, "Not Found", "credential"),
        (403, "Forbidden: bot was blocked by the user", "target"),
        (403, "Forbidden: user is deactivated", "target"),
        (403, "Forbidden: the group chat was deleted", "target"),
        (403, "Forbidden: bot was kicked from the group chat", "target"),
        (403, "Forbidden: bot was kicked from the supergroup chat", "target"),
        (403, "Forbidden: bot was kicked from the channel chat", "target"),
        (403, "Forbidden: bot is not a member of the channel chat", "target"),
        (400, "Bad Request: chat not found", "target"),
        (400, "Bad Request: private chat not found", "target"),
        (400, "Bad Request: chat_id is empty", "target"),
        (400, "Bad Request: not enough rights to send text messages to the chat", "target"),
        (400, "Bad Request: group chat was upgraded to a supergroup chat", "target"),
        (400, "Bad Request: message thread not found", "thread"),
        (400, "Bad Request: TOPIC_CLOSED", "thread"),
        (400, "Bad Request: can't parse entities: Unsupported start tag", "payload"),
        (400, "Bad Request: message is too long", "payload"),
        (400, "Bad Request: Text is too long", "payload"),
        (413, "Request Entity Too Large", "payload"),
    ] {
        answers.push((error(code, words), verdict, None));
    }
    answers
}

#[tokio::test]
async fn report_137_a_chat_that_was_upgraded_is_told_with_its_new_id() {
    let bench = bench(&SUBJECT).await;
    let body = json!({"ok": false, "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": -1_002_000_000_001_i64}});
    bench.server.play([PushAct::Answer(PushAnswer::new(400, body.to_string()))]);
    let parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let verdict = bench.channel.send(&parcel).await;
    assert!(
        matches!(&verdict, Verdict::Moved { chat, .. } if chat == "-1002000000001"),
        "{verdict:?}"
    );
}

#[tokio::test]
async fn report_94_the_general_topic_is_addressed_by_leaving_it_out() {
    let bench = bench(&SUBJECT).await;
    for (thread, sent) in [("", ""), ("1", ""), ("9", "9")] {
        let destination = to(&SUBJECT, thread);
        let parcel =
            Parcel { destination, ..parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]) };
        assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
        assert_eq!(bench.server.seen().last().unwrap().thread, sent);
    }
    let destination = to(&SUBJECT, "general");
    let parcel =
        Parcel { destination, ..parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]) };
    assert_eq!(bench.channel.send(&parcel).await.name(), "thread");
}

#[tokio::test]
async fn report_116_report_104_markup_lies_beside_the_text_and_cannot_be_cut() {
    let bench = bench(&SUBJECT).await;
    let title = "\u{1f600} & <b>";
    let spans = vec![Span::quoted(title), Span::ours(" is blocked.")];
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, spans)).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    assert_eq!(body["text"], format!("{title} is blocked."));
    assert_eq!(body["entities"], json!([{"type": "bold", "offset": 0, "length": 8}]));
    assert_eq!(body["link_preview_options"], json!({"is_disabled": true}));
}

#[tokio::test]
async fn report_69_report_70_a_chat_that_asked_to_be_left_alone_is_and_another_is_not() {
    let bench = bench(&SUBJECT).await;
    let body = json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 1000}});
    bench.server.play([PushAct::Answer(PushAnswer::new(429, body.to_string()))]);
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(hint(&bench.channel.send(&first).await), Some(Duration::from_secs(1_000)));
    let again = bench.channel.send(&first).await;
    assert!(hint(&again).is_some_and(|wait| wait > Duration::from_secs(990)), "{again:?}");
    assert_eq!(bench.server.requests().len(), 1, "it is not asked again");
    let mut other = first.clone();
    if let kanban_notify::message::Destination::Chat { chat, .. } = &mut other.destination {
        *chat = "42".to_owned();
    }
    assert_eq!(bench.channel.send(&other).await.name(), "delivered");
}

#[tokio::test]
async fn report_108_a_token_that_is_refused_is_not_repeated_anywhere() {
    let wrong = Subject { settings: &[("token", "1:FAKE-token_for_tests-wrong")], ..SUBJECT };
    let bench = bench(&wrong).await;
    let verdict =
        bench.channel.send(&parcel(&wrong, &*bench.channel, vec![Span::quoted("x")])).await;
    assert_eq!(verdict.name(), "credential");
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
    assert_eq!(bench.channel.probe().await.name(), "credential");
    // An answer that repeats the address has it masked.
    let echo = error(400, &format!("no https://api.telegram.org/bot{TOKEN}/sendMessage"));
    let bench = contract::bench(&SUBJECT).await;
    bench.server.play([PushAct::Answer(echo)]);
    let verdict =
        bench.channel.send(&parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")])).await;
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
}

const CARRIER: Carrier = Carrier {
    // A group is written to less often.
    subject: Subject { chat: "1001", ..SUBJECT },
    refused: || error(413, "Request Entity Too Large"),
    tries: 1,
    steps: 1,
};

file_contract!(CARRIER);

#[tokio::test]
async fn photos_stand_together_and_what_is_none_goes_as_a_document() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let files = folder
        .files(&[
            ("1.png", PNG),
            ("a.pdf", b"x"),
            ("2.png", PNG),
            ("e.png", b""),
            ("m.gif", b"GIF"),
        ])
        .await;
    let seen = files::send(&bench, files::parcel(&CARRIER, &bench, files)).await;
    let shown: Vec<Vec<&str>> = seen
        .iter()
        .map(|message| message.files.iter().map(|(name, _)| name.as_str()).collect())
        .collect();
    assert_eq!(shown, [&[][..], &["1.png", "2.png"], &["a.pdf"], &[], &["m.gif"]]);
    assert!(seen[3].text.contains("e.png (refused here)"), "{:?}", seen[3]);
    // Named like images, and none: asked as photos, taken as documents, which may stand together too.
    let files = folder.files(&[("1.png", b"no"), ("2.png", b"image")]).await;
    let seen = files::send(&bench, files::parcel(&CARRIER, &bench, files)).await;
    assert_eq!(seen.last().unwrap().files.len(), 2);
    let methods: Vec<String> = bench.server.requests().iter().map(|one| one.path.clone()).collect();
    assert!(methods.iter().rev().take(2).all(|path| path.ends_with("/sendMediaGroup")));
}

#[tokio::test]
async fn d8_a_limit_a_topic_and_a_chat_are_what_they_are_for_texts() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let checked = folder.files(&[("a.pdf", b"x")]).await;
    let parcel = Parcel { part: 1, ..files::parcel(&CARRIER, &bench, checked) };
    bench.server.play([
        PushAct::Answer(error(400, "Bad Request: message thread not found")),
        PushAct::Answer(error(401, "Unauthorized")),
        // A chat that takes no documents takes a text that says so; one that is gone takes neither.
        PushAct::Answer(error(400, "Bad Request: not enough rights to send documents to the chat")),
        PushAct::Honest,
        PushAct::Answer(error(403, "Forbidden: bot was kicked from the supergroup chat")),
        PushAct::Answer(error(403, "Forbidden: bot was kicked from the supergroup chat")),
        PushAct::Answer(error(429, "Too Many Requests").with("retry-after", "900")),
    ]);
    for verdict in ["thread", "credential", "delivered", "target", "busy"] {
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict);
    }
    assert!(bench.server.seen()[0].text.contains("a.pdf (refused here)"));
}

/// Without its end nobody can have taken an upload: it is no repeat when it is sent again.
#[tokio::test]
async fn d7_an_upload_that_breaks_off_had_no_effect_and_an_early_refusal_counts() {
    let folder = Folder::new();
    let large = vec![b'x'; 8 << 20];
    let cut = |stream| drop(stream);
    let refuse = |mut stream: std::net::TcpStream| {
        use std::io::{Read as _, Write as _};
        let body = "{\"ok\":false,\"error_code\":413,\"description\":\"Request Entity Too Large\"}";
        let head = "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: ";
        write!(stream, "{head}{}\r\n\r\n{body}", body.len()).unwrap();
        // What is on its way is taken, so that the answer is not lost with it.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    };
    let here = bench(&SUBJECT).await;
    let checked = folder.files(&[("a.bin", &large)]).await;
    let parcel = Parcel { part: 1, ..files::parcel(&CARRIER, &here, checked) };
    let channel = contract::channel(&SUBJECT, &files::rude(cut));
    assert_eq!(channel.send(&parcel).await.name(), "retryable");
    // The text that follows finds nobody.
    let channel = contract::channel(&SUBJECT, &files::rude(refuse));
    assert_eq!(channel.send(&parcel).await.name(), "unreachable");
}
