//! Pushover, over a strict server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, pushover},
};
use kanban_notify::message::{Destination, Span};
use serde_json::json;

use super::contract::{Answers, Subject, bench, contract, hint, parcel};

const TOKEN: &str = "aFAKEtokenfortests000000000000";
const USER: &str = "uQiRzpo4DXghDmr9QzzfQu27cmVRsG";

const SUBJECT: Subject = Subject {
    name: "pushover",
    server: || pushover(TOKEN, USER),
    settings: &[("token", TOKEN)],
    secret: "FAKEtokenfortests",
    chat: USER,
    thread: "",
    unit: Unit::Chars,
    limit: 1_024,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn error(status: u16, field: &str, words: &str) -> PushAnswer {
    let body = json!({field: "invalid", "errors": [words], "status": 0, "request": "5042853c"});
    PushAnswer::new(status, body.to_string())
}

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    vec![
        (error(400, "token", "application token is invalid"), "credential", None),
        (error(400, "user", "user identifier is invalid"), "target", None),
        (error(400, "message", "message cannot be blank"), "payload", None),
        (error(400, "x", "message limits reached"), "busy", None),
        (PushAnswer::new(413, "<html>"), "payload", None),
        (error(429, "x", "application is over its quota"), "busy", None),
        (error(429, "x", "too fast").with("retry-after", "7"), "busy", seconds(7)),
        // The month is over in a hundred days: it is asked again each hour.
        (error(429, "x", "over").with("x-limit-app-reset", in_days(100)), "busy", seconds(3_600)),
        (
            error(429, "x", "over").with("x-limit-app-reset", "1"),
            "busy",
            Some(Duration::from_millis(100)),
        ),
        (error(429, "x", "over").with("x-limit-app-reset", "soon"), "busy", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, r#"{"status":0}"#), "unknown", None),
    ]
}

fn in_days(days: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    (now + days * 86_400).to_string()
}

#[tokio::test]
async fn a_chat_is_a_key_or_the_one_that_is_set() {
    let settings: &'static [(&str, &str)] = &[("token", TOKEN), ("user", USER)];
    let with_user = || Subject { settings, ..SUBJECT };
    let wrong = "u".repeat(30);
    for (subject, chat, verdict) in [
        (with_user(), "me", "delivered"),
        (with_user(), USER, "delivered"),
        (SUBJECT, "me", "target"),
        (SUBJECT, "", "target"),
        (SUBJECT, "ann", "target"),
        (SUBJECT, &wrong, "target"),
    ] {
        let bench = bench(&subject).await;
        let mut parcel = parcel(&subject, &*bench.channel, vec![Span::quoted("x & y = ü+%")]);
        if let Destination::Chat { chat: to, .. } = &mut parcel.destination {
            *to = chat.to_owned();
        }
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict, "{chat}");
        let seen = bench.server.seen();
        assert!(seen.iter().all(|one| one.text == "x & y = ü+%" && one.chat == USER), "{seen:?}");
        assert_eq!(bench.server.requests().len(), usize::from(chat == wrong) + seen.len());
    }
}

#[tokio::test]
async fn a_month_that_is_used_up_is_so_for_everybody() {
    let bench = bench(&SUBJECT).await;
    let over = error(429, "x", "over").with("x-limit-app-reset", in_days(3));
    bench.server.play([PushAct::Answer(over)]);
    let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(bench.channel.send(&parcel).await.name(), "busy");
    if let Destination::Chat { chat, .. } = &mut parcel.destination {
        *chat = "g".repeat(30);
    }
    let verdict = bench.channel.send(&parcel).await;
    assert!(hint(&verdict) > Some(Duration::from_secs(3_500)), "{verdict:?}");
    assert_eq!(bench.server.requests().len(), 1);
}
