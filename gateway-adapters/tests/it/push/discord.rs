//! Discord, over a strict API and a strict webhook.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, discord},
};
use kanban_notify::{
    message::{Destination, Parcel, Span},
    verdict::Verdict,
};
use serde_json::{Value, json};

use super::{
    contract::{Answers, Bench, Subject, bench, contract, hint, parcel, to},
    files::{self, Carrier, Folder, PNG, file_contract},
};

const TOKEN: &str = "MTIz.FAKE-token_for.tests";

const SUBJECT: Subject = Subject {
    name: "discord",
    server: || discord(TOKEN, &[("100", &["777"]), ("101", &[])]),
    settings: &[("token", TOKEN)],
    secret: "FAKE",
    chat: "100",
    thread: "",
    unit: Unit::Utf16,
    limit: 2_000,
    markup: false,
    mentions: true,
    answers,
};

contract!(SUBJECT);

const CARRIER: Carrier =
    Carrier { subject: SUBJECT, refused: || error(413, 40_005), tries: 1, steps: 1 };

file_contract!(CARRIER);

fn error(status: u16, code: u32) -> PushAnswer {
    let body = json!({"message": "as Discord says", "code": code});
    PushAnswer::new(status, body.to_string())
}

fn limited(seconds: f64) -> PushAnswer {
    let body =
        json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false});
    PushAnswer::new(429, body.to_string())
}

fn common() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
    let mut answers = vec![
        (limited(0.65), "busy", seconds(0.65)),
        (limited(64.57).with("retry-after", "65"), "busy", seconds(65.0)),
        (limited(9.5).with("retry-after", "7"), "busy", seconds(9.5)),
        (PushAnswer::new(429, "{}").with("x-ratelimit-reset-after", "1.25"), "busy", seconds(1.25)),
        (
            PushAnswer::new(429, "error code: 1015").with("retry-after", "120"),
            "busy",
            seconds(120.0),
        ),
        (limited(1e12), "busy", seconds(3_600.0)),
        (
            PushAnswer::new(401, r#"{"message": "401: Unauthorized", "code": 0}"#),
            "credential",
            None,
        ),
        (PushAnswer::new(403, "<html>"), "retryable", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(504, ""), "unknown", None),
        // What does not say that the message is there.
        (PushAnswer::new(204, ""), "unknown", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
    ];
    for (status, verdict, codes) in [
        (403, "target", &[0, 50_001, 50_013, 50_007, 50_278][..]),
        (400, "target", &[50_008, 50_024, 40_058, 220_001]),
        (400, "target", &[50_083, 160_005]),
        (400, "payload", &[0, 50_035, 50_006, 50_109, 200_000, 240_000]),
        (413, "payload", &[40_005]),
        (403, "busy", &[40_004, 40_006]),
        (400, "busy", &[20_016, 20_028, 20_029]),
        (429, "busy", &[20_016, 40_062]),
        (503, "busy", &[130_000]),
        (403, "retryable", &[40_333]),
    ] {
        answers.extend(codes.iter().map(|code| (error(status, *code), verdict, None)));
    }
    answers
}

/// The codes are those of the API.
fn answers() -> Answers {
    let mut answers = common();
    for (status, code, verdict) in [
        (404, 10_003, "target"),
        (404, 0, "retryable"),
        (401, 40_001, "credential"),
        (403, 40_002, "credential"),
        (403, 50_014, "credential"),
    ] {
        answers.push((error(status, code), verdict, None));
    }
    answers
}

async fn send(bench: &Bench, subject: &Subject, thread: &str) -> Verdict {
    let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
    bench.channel.send(&Parcel { destination: to(subject, thread), ..parcel }).await
}

async fn what_a_thread_refuses_is_a_matter_of_the_thread(subject: &Subject) {
    for (status, code) in [(404, 10_003), (403, 50_001), (403, 0), (400, 50_083), (400, 160_005)] {
        let bench = bench(subject).await;
        bench.server.play([PushAct::Answer(error(status, code))]);
        assert_eq!(send(&bench, subject, "777").await.name(), "thread", "{code}");
        assert_eq!(send(&bench, subject, "").await.name(), "delivered", "{code}");
    }
    let bench = bench(subject).await;
    assert_eq!(send(&bench, subject, "777").await.name(), "delivered");
    assert_eq!(bench.server.seen()[0].thread, "777");
    assert_eq!(send(&bench, subject, "778").await.name(), "thread");
    for thread in ["general", "-7", "7/../8", "123456789012345678901"] {
        assert_eq!(send(&bench, subject, thread).await.name(), "thread", "{thread}");
    }
    assert_eq!(bench.server.requests().len(), 2);
}

#[tokio::test]
async fn a_thread_is_a_channel_and_what_it_refuses_is_its_own_matter() {
    what_a_thread_refuses_is_a_matter_of_the_thread(&SUBJECT).await;
}

#[tokio::test]
async fn what_is_no_id_of_a_channel_is_not_sent() {
    let bench = bench(&SUBJECT).await;
    for id in ["", "general", "#1", "1/../2", "-1", "@me"] {
        let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
        if let Destination::Chat { chat, .. } = &mut parcel.destination {
            *chat = id.to_owned();
        }
        assert_eq!(bench.channel.send(&parcel).await.name(), "target", "{id:?}");
    }
    assert!(bench.server.requests().is_empty());
}

#[tokio::test]
async fn d7_the_same_part_has_the_same_nonce_and_no_other_has() {
    let bench = bench(&SUBJECT).await;
    let spans = vec![Span::quoted("word ".repeat(1_000))];
    let mut first = parcel(&SUBJECT, &*bench.channel, spans);
    first.key = format!("kgw-{}", "0123456789abcdef".repeat(2));
    bench.server.play([PushAct::Swallow]);
    assert_eq!(bench.channel.send(&first).await.name(), "unknown");
    assert_eq!(bench.channel.send(&first).await.name(), "part");
    let second = Parcel { part: 1, ..first.clone() };
    assert_eq!(bench.channel.send(&second).await.name(), "part");
    let seen: Vec<String> = bench.server.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!(seen, ["789abcdef0123456789abcdef", "9abcdef0123456789abcdef/1"]);
}

#[tokio::test]
async fn report_77_a_title_pings_nobody_and_stays_readable() {
    let bench = bench(&SUBJECT).await;
    let title = "<!channel> @all @everyone <@&123>";
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, vec![Span::quoted(title)])).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    assert_eq!(super::contract::shown(&bench.server.seen()[0].text), title);
}

#[tokio::test]
async fn report_74_a_limit_in_the_middle_repeats_no_part() {
    let bench = bench(&SUBJECT).await;
    let text: String = (0..900).map(|number| format!("w{number} ")).collect();
    let mut next = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted(&text)]);
    bench.server.play([PushAct::Honest, PushAct::Answer(limited(1.0))]);
    let mut verdicts = Vec::new();
    loop {
        let verdict = bench.channel.send(&next).await;
        verdicts.push(verdict.name());
        match verdict {
            Verdict::Part { next: part, .. } => next.part = part,
            Verdict::Busy { .. } => {}
            _ => break,
        }
    }
    assert_eq!(verdicts, ["part", "busy", "part", "delivered"]);
    let seen = bench.server.seen();
    let told: Vec<&str> = seen.iter().flat_map(|seen| seen.text.split_whitespace()).collect();
    assert_eq!(told, text.split_whitespace().collect::<Vec<_>>());
}

#[tokio::test]
async fn report_112_a_fraction_of_a_second_is_waited_for() {
    let bench = bench(&SUBJECT).await;
    bench.server.play([PushAct::Answer(limited(0.65))]);
    assert_eq!(hint(&send(&bench, &SUBJECT, "").await), Some(Duration::from_millis(650)));
    let start = std::time::Instant::now();
    assert_eq!(send(&bench, &SUBJECT, "").await.name(), "delivered");
    assert!(start.elapsed() >= Duration::from_millis(600), "{:?}", start.elapsed());
}

#[tokio::test]
async fn report_113_report_119_parts_keep_the_limit_and_the_last_one_tells_what_is_left_out() {
    let bench = bench(&SUBJECT).await;
    let spans =
        vec![Span::quoted("t".repeat(50)), Span::ours("\n"), Span::quoted("b".repeat(1_980))];
    let mut parts = parcel(&SUBJECT, &*bench.channel, spans);
    assert_eq!(bench.channel.send(&parts).await.name(), "part");
    parts.part = 1;
    assert_eq!(bench.channel.send(&parts).await.name(), "delivered");
    let long = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("word ".repeat(10_000))]);
    let last = Parcel { part: 9, key: "kgw-2".to_owned(), ..long };
    assert_eq!(bench.channel.send(&last).await.name(), "delivered");
    let seen = bench.server.seen();
    assert!(seen.iter().all(|seen| seen.text.len() <= 2_000));
    assert!(seen[2].text.ends_with("characters left out]"), "{:?}", seen[2]);
}

#[tokio::test]
async fn d8_a_limit_of_everything_holds_for_each_chat_and_one_of_a_chat_does_not() {
    let global =
        json!({"message": "You are being rate limited.", "retry_after": 64.57, "global": true});
    let global = PushAnswer::new(429, global.to_string()).with("x-ratelimit-global", "true");
    // This machine is kept out.
    let banned = PushAnswer::new(429, "error code: 1015").with("retry-after", "1000");
    for (answer, other) in [(global, "busy"), (banned, "busy"), (limited(1000.0), "delivered")] {
        let bench = bench(&SUBJECT).await;
        bench.server.play([PushAct::Answer(answer.clone())]);
        assert_eq!(send(&bench, &SUBJECT, "").await.name(), "busy");
        assert_eq!(send(&bench, &Subject { chat: "101", ..SUBJECT }, "").await.name(), other);
        let asked = if other == "busy" { 1 } else { 2 };
        assert_eq!(bench.server.requests().len(), asked, "{answer:?}");
    }
}

#[tokio::test]
async fn an_allowance_that_is_used_up_is_not_asked_for_again() {
    let bench = bench(&SUBJECT).await;
    let used_up = PushAnswer::new(200, r#"{"id": "1"}"#)
        .with("x-ratelimit-remaining", "0")
        .with("x-ratelimit-reset-after", "1000");
    bench.server.play([PushAct::Answer(used_up)]);
    assert_eq!(send(&bench, &SUBJECT, "").await.name(), "delivered");
    let held = send(&bench, &SUBJECT, "").await;
    assert!(hint(&held).is_some_and(|wait| wait > Duration::from_secs(990)), "{held:?}");
    assert_eq!(bench.server.requests().len(), 1);
}

mod webhook {
    use gateway_adapters::receiver::push::discord_webhook;

    use super::*;

    const SUBJECT: Subject = Subject {
        name: "discord_webhook",
        server: || discord_webhook("FAKEhook", &["777"]),
        settings: &[("url", "{url}/api/webhooks/200/FAKEhook")],
        answers,
        ..super::SUBJECT
    };

    contract!(SUBJECT);

    const CARRIER: Carrier =
        Carrier { subject: SUBJECT, refused: || error(413, 40_005), tries: 1, steps: 1 };

    file_contract!(CARRIER);

    fn answers() -> Answers {
        let mut answers = common();
        for (status, code) in [(404, 10_015), (401, 50_027), (404, 10_003), (404, 0)] {
            answers.push((error(status, code), "credential", None));
        }
        answers
    }

    #[tokio::test]
    async fn a_thread_is_told_and_what_it_refuses_is_its_own_matter() {
        what_a_thread_refuses_is_a_matter_of_the_thread(&SUBJECT).await;
    }

    #[tokio::test]
    async fn what_was_not_kept_is_an_error_and_a_thread_in_the_address_is_one_for_all() {
        let settings = &[("url", "{url}/api/webhooks/200/FAKEhook?wait=false&thread_id=777")];
        let subject = Subject {
            settings,
            server: || discord_webhook("FAKEhook", &["777", "778"]),
            ..SUBJECT
        };
        let bench = bench(&subject).await;
        for (thread, told) in [("", "777"), ("778", "778")] {
            let mut parcel = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
            parcel.destination = to(&subject, thread);
            assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
            assert_eq!(bench.server.seen().last().unwrap().thread, told);
        }
        let paths: Vec<String> = bench.server.requests().into_iter().map(|one| one.path).collect();
        assert!(paths.iter().all(|path| path.contains("wait=true")), "{paths:?}");
    }

    #[tokio::test]
    async fn report_108_a_webhook_that_is_gone_is_not_asked_again_nor_repeated_anywhere() {
        let settings = &[("url", "{url}/api/webhooks/200/FAKEwrong")];
        let wrong = Subject { settings, ..SUBJECT };
        let bench = bench(&wrong).await;
        let first = parcel(&wrong, &*bench.channel, vec![Span::quoted("x")]);
        let again = bench.channel.send(&first).await;
        for verdict in [again, bench.channel.send(&first).await, bench.channel.probe().await] {
            assert_eq!(verdict.name(), "credential");
            assert!(verdict.detail().contains("not asked again"), "{verdict:?}");
            assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
        }
        assert_eq!(bench.server.requests().len(), 1);
    }
}

#[tokio::test]
async fn files_stand_together_as_far_as_a_request_takes_them() {
    let (bench, folder) = (bench(&SUBJECT).await, Folder::new());
    let names: Vec<String> = (0..12).map(|number| format!("{number:02}.png")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), PNG)).collect();
    let checked = folder.files(&files).await;
    let seen = files::send(&bench, files::parcel(&CARRIER, &bench, checked)).await;
    let counts: Vec<usize> = seen.iter().map(|message| message.files.len()).collect();
    assert_eq!(counts, [0, 10, 2]);
    // Three of the largest would be more than a request takes.
    let mut checked = folder.files(&[("1.bin", b"x"), ("2.bin", b"x"), ("3.bin", b"x")]).await;
    checked.iter_mut().for_each(|file| file.size = 10 << 20);
    let pinned: Value =
        serde_json::from_str(&files::parcel(&CARRIER, &bench, checked).body).unwrap();
    let groups = pinned["files"].as_array().unwrap().iter().map(|group| group.as_array().unwrap());
    assert_eq!(groups.map(Vec::len).collect::<Vec<_>>(), [2, 1]);
}
