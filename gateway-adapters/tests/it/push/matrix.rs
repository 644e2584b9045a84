//! Matrix, over a strict server.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, matrix},
};
use kanban_notify::message::{Destination, Parcel, Span};
use serde_json::{Value, json};

use super::{
    contract::{Answers, Subject, bench, contract, hint, parcel, to},
    files::{self, Carrier, Folder, PNG, file_contract},
};

const TOKEN: &str = "syt_FAKEtokenfortests";
const PASSWORD: &str = "FAKEpassword";

const SUBJECT: Subject = Subject {
    name: "matrix",
    server: || matrix(TOKEN, PASSWORD),
    settings: &[("token", TOKEN)],
    secret: "FAKE",
    chat: "!Vo-8ut5oj:localhost",
    thread: "$root",
    unit: Unit::Bytes,
    limit: 30_000,
    markup: true,
    mentions: true,
    answers,
};

contract!(SUBJECT);

const CARRIER: Carrier = Carrier {
    subject: SUBJECT,
    refused: || error(413, "M_TOO_LARGE", "Upload request body is too large"),
    tries: 1,
    steps: 2,
};

file_contract!(CARRIER);

fn by_password() -> Subject {
    Subject { settings: &[("user", "@bot:localhost"), ("password", PASSWORD)], ..SUBJECT }
}

fn error(status: u16, code: &str, error: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"errcode": code, "error": error}).to_string())
}

/// The words are those of Synapse.
fn answers() -> Answers {
    let limited = |more: Value| {
        let mut body = json!({"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        PushAnswer::new(429, body.to_string())
    };
    let millis = |millis| Some(Duration::from_millis(millis));
    let mut answers = vec![
        (limited(json!({"retry_after_ms": 876})).with("retry-after", "1"), "busy", millis(1_000)),
        (limited(json!({"retry_after_ms": 2_500})).with("retry-after", "1"), "busy", millis(2_500)),
        (limited(json!({"retry_after_ms": 876})), "busy", millis(876)),
        (limited(json!({})).with("retry-after", "7"), "busy", millis(7_000)),
        (limited(json!({"retry_after_ms": -5})), "busy", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        (PushAnswer::new(403, "<html>a proxy</html>"), "credential", None),
        (PushAnswer::new(404, "<html>No Such Resource</html>"), "retryable", None),
        (PushAnswer::new(502, "<html>bad gateway</html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(504, ""), "unknown", None),
    ];
    for (status, code, words, verdict) in [
        (401, "M_UNKNOWN_TOKEN", "Invalid access token passed.", "credential"),
        (401, "M_MISSING_TOKEN", "Missing access token", "credential"),
        (401, "M_USER_LOCKED", "User account has been locked", "credential"),
        (403, "M_USER_DEACTIVATED", "This account has been deactivated", "credential"),
        (403, "M_USER_SUSPENDED", "Sending messages while account is suspended", "credential"),
        (403, "M_CONSENT_NOT_GIVEN", "To continue using this homeserver", "credential"),
        (403, "M_FORBIDDEN", "User @bot:localhost not in room !a:localhost", "target"),
        (403, "M_FORBIDDEN", "You don't have permission to post to the room", "target"),
        (403, "M_GUEST_ACCESS_FORBIDDEN", "Guest access not allowed", "target"),
        (403, "M_RESOURCE_LIMIT_EXCEEDED", "Monthly Active User Limit Exceeded", "busy"),
        (404, "M_NOT_FOUND", "Unknown room", "target"),
        (404, "M_UNRECOGNIZED", "Unrecognized request", "retryable"),
        (400, "M_UNKNOWN", "Can't send relation to unknown event", "thread"),
        (400, "M_UNKNOWN", "Cannot start threads from an event with a relation", "thread"),
        (400, "M_UNKNOWN", "Relations must be in the same room", "thread"),
        (400, "M_NOT_JSON", "Content not JSON.", "payload"),
        (400, "M_BAD_JSON", "Bad JSON value", "payload"),
        (413, "M_TOO_LARGE", "event too large", "payload"),
        (500, "M_UNKNOWN", "Internal server error", "retryable"),
    ] {
        answers.push((error(status, code, words), verdict, None));
    }
    answers
}

#[tokio::test]
async fn report_117_each_message_and_part_has_a_key_of_its_own_and_keeps_it() {
    let bench = bench(&SUBJECT).await;
    let long = vec![Span::quoted("word ".repeat(10_000))];
    let mut sent = parcel(&SUBJECT, &*bench.channel, long);
    bench.server.play([PushAct::Swallow]);
    assert_eq!(bench.channel.send(&sent).await.name(), "unknown");
    assert_eq!(bench.channel.send(&sent).await.name(), "part");
    sent.part = 1;
    assert_eq!(bench.channel.send(&sent).await.name(), "delivered");
    sent = Parcel {
        key: "kgw-2".to_owned(),
        ..parcel(&SUBJECT, &*bench.channel, vec![Span::ours("x")])
    };
    assert_eq!(bench.channel.send(&sent).await.name(), "delivered");
    let keys: Vec<String> = bench.server.seen().into_iter().map(|message| message.key).collect();
    assert_eq!(keys, ["kgw-1", "kgw-1/1", "kgw-2"], "each is shown once");
    let sent: Vec<String> = bench.server.requests().into_iter().map(|heard| heard.path).collect();
    assert_eq!(sent.len(), 4);
    assert!(sent[0] == sent[1] && sent[0].ends_with("/kgw-1"), "the same again: {sent:?}");
}

#[tokio::test]
async fn a_password_logs_in_once_whoever_comes_first_and_again_when_its_token_is_gone() {
    let subject = by_password();
    let bench = bench(&subject).await;
    let sent = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
    let (one, two) = tokio::join!(bench.channel.send(&sent), bench.channel.send(&sent));
    assert_eq!((one.name(), two.name()), ("delivered", "delivered"));
    assert_eq!(bench.channel.probe().await.name(), "delivered");
    let logins = || {
        let requests = bench.server.requests();
        requests.iter().filter(|heard| heard.path.ends_with("/login")).count()
    };
    assert_eq!(logins(), 1);
    let login: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    assert_eq!(login["device_id"], "KANBAN_GATEWAY");
    bench.server.play([PushAct::Answer(error(401, "M_UNKNOWN_TOKEN", "Access token has expired"))]);
    let verdict = bench.channel.send(&sent).await;
    assert_eq!(verdict.name(), "retryable", "{verdict:?}");
    assert_eq!(bench.channel.send(&sent).await.name(), "delivered");
    assert_eq!(logins(), 2);
}

#[tokio::test]
async fn report_108_a_login_that_fails_has_its_verdict_and_no_message_left() {
    let subject = by_password();
    for (act, wanted, wait) in [
        (PushAct::Answer(error(403, "M_FORBIDDEN", "Invalid FAKEpassword")), "credential", None),
        (PushAct::Answer(error(400, "M_UNKNOWN", "Unknown login type")), "credential", None),
        (PushAct::Answer(error(500, "M_UNKNOWN", "")), "retryable", None),
        (PushAct::Answer(PushAnswer::new(502, "")), "retryable", None),
        (PushAct::Answer(PushAnswer::new(200, "{}")), "retryable", None),
        (
            PushAct::Answer(error(429, "M_LIMIT_EXCEEDED", "").with("retry-after", "9")),
            "busy",
            Some(Duration::from_secs(9)),
        ),
        (PushAct::Lose, "retryable", None),
    ] {
        let bench = bench(&subject).await;
        let sent = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
        bench.server.play([act.clone()]);
        let verdict = bench.channel.send(&sent).await;
        assert_eq!((verdict.name(), hint(&verdict)), (wanted, wait), "{act:?}: {verdict:?}");
        assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
        assert_eq!(bench.server.requests().len(), 1);
        assert!(bench.server.seen().is_empty());
    }
}

/// An answer that repeats the token of a login has it masked, too.
#[tokio::test]
async fn report_108_what_a_login_answered_is_a_secret() {
    let subject = by_password();
    let bench = bench(&subject).await;
    let sent = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
    let echo = error(403, "M_FORBIDDEN", &format!("{TOKEN} may not"));
    bench.server.play([PushAct::Honest, PushAct::Answer(echo)]);
    let verdict = bench.channel.send(&sent).await;
    assert_eq!(verdict.name(), "target");
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
}

#[tokio::test]
async fn what_is_no_room_or_no_thread_is_not_sent() {
    let bench = bench(&SUBJECT).await;
    let sent = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    for room in ["", "#alias:localhost", "@bot:localhost", "Vo-8ut5oj"] {
        let mut sent = sent.clone();
        if let Destination::Chat { chat, .. } = &mut sent.destination {
            *chat = room.to_owned();
        }
        assert_eq!(bench.channel.send(&sent).await.name(), "target", "{room:?}");
    }
    let lost = Parcel { destination: to(&SUBJECT, "42"), ..sent };
    assert_eq!(bench.channel.send(&lost).await.name(), "thread");
    assert!(bench.server.requests().is_empty());
}

#[tokio::test]
async fn a_message_is_a_text_or_a_notice_that_calls_nobody() {
    for (settings, kind) in [
        (&[("token", TOKEN)][..], "m.text"),
        (&[("token", TOKEN), ("notice", "true")][..], "m.notice"),
    ] {
        let subject = Subject { settings, ..SUBJECT };
        let bench = bench(&subject).await;
        let spans = vec![Span::quoted("<b> & @room"), Span::ours(" is done.\nLine")];
        bench.channel.send(&parcel(&subject, &*bench.channel, spans)).await;
        let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
        assert_eq!((&body["msgtype"], &body["m.mentions"]), (&json!(kind), &json!({})));
        let html = "<strong>&lt;b&gt; &amp; @\u{200b}room</strong> is done.<br>Line";
        assert_eq!(body["formatted_body"], html);
    }
}

#[tokio::test]
async fn what_escaping_adds_fits_an_event_too() {
    let bench = bench(&SUBJECT).await;
    for sign in ["<", "\"", "\ny", "\\", "\u{7f}", "@"] {
        let long = vec![Span::quoted(format!("x{}", sign.repeat(35_000)))];
        let mut sent = parcel(&SUBJECT, &*bench.channel, long);
        sent.part = 1;
        sent.repeat = true;
        let verdict = bench.channel.send(&sent).await;
        assert!(matches!(verdict.name(), "part" | "delivered"), "{sign:?} {verdict:?}");
        sent.part = 0;
        assert_eq!(bench.channel.send(&sent).await.name(), "part", "{sign:?}");
    }
}

#[tokio::test]
async fn a_file_is_kept_first_and_then_shown_under_the_key_of_its_part() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let checked = folder.files(&[("a.png", PNG)]).await;
    let parcel = Parcel { part: 1, ..files::parcel(&CARRIER, &bench, checked) };
    // What became of an upload is no doubt: nobody sees it by itself.
    bench.server.play([
        PushAct::Lose,
        PushAct::Answer(PushAnswer::new(502, "")),
        PushAct::Answer(error(429, "M_LIMIT_EXCEEDED", "Too Many Requests")),
        PushAct::Answer(error(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.")),
        PushAct::Honest,
        PushAct::Swallow,
    ]);
    for verdict in ["retryable", "retryable", "busy", "credential", "unknown", "delivered"] {
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict);
    }
    // The event that was in doubt is shown once.
    let seen = bench.server.seen();
    assert_eq!((seen.len(), seen[0].key.as_str()), (1, "kgw-1/1"));
    let events = bench.server.requests();
    let event: Value = serde_json::from_slice(&events.last().unwrap().body).unwrap();
    assert_eq!(
        (&event["msgtype"], &event["info"]["mimetype"]),
        (&json!("m.image"), &json!("image/png"))
    );
}
