//! Signed webhooks, over a receiver that checks every signature.

use std::{sync::Arc, time::Duration};

use gateway_adapters::{
    AdapterError,
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform, split::Unit},
    receiver::push::{Heard, PushAct, PushAnswer, signed_webhook},
};
use kanban_notify::{
    message::{Destination, Fact, Message, Parcel, Span},
    ports::Channel,
    verdict::Verdict,
};
use serde_json::{Value, json};

use super::contract::{Answers, Bench, Subject, bench, channel, contract, hint, parcel, to};

const KEY: &str = "RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";
const SECRET: &str = "whsec_RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";
const TARGETS: &str = "team={url}/hook?key=FAKE-in-the-address,other={url}/other";

const SUBJECT: Subject = Subject {
    name: "signed_webhook",
    server: || signed_webhook(KEY),
    settings: &[("targets", TARGETS), ("secret", SECRET), ("allow_private", "127.0.0.1")],
    secret: "RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0",
    chat: "team",
    thread: "7",
    unit: Unit::Bytes,
    limit: 16_384,
    markup: false,
    mentions: false,
    answers,
};

// A probe sends nothing, and a receiver that is gone is said of one target only.
contract! {
    SUBJECT,
    a_limit_that_is_told_is_kept_by_header_and_by_body,
    a_part_that_may_be_a_repeat_says_so_and_fits,
    a_reset_before_within_or_after_the_body_is_in_doubt,
    an_answer_that_repeats_the_secret_or_floods_is_told_short_and_clean,
    connections_are_reused_whatever_is_answered,
    each_answer_has_its_verdict_and_tells_no_secret,
    hostile_titles_are_shown_as_they_are_and_call_nobody,
    lengths_are_counted_as_the_platform_counts_them,
    what_is_none_of_its_messages_is_not_sent,
    what_is_refused_as_markup_is_plain_the_next_time;
    a_probe_checks_the_credential_and_sends_nothing: a_probe_asks_no_receiver(),
    no_answer_is_unreachable_or_in_doubt: no_answer_is_said_of_one_target(),
    report_133_a_redirect_is_not_followed: a_redirect_is_not_followed(),
}

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let answer = |status| PushAnswer::new(status, format!("{SECRET} is not mine"));
    let mut answers = vec![
        (answer(429).with("retry-after", "7"), "busy", seconds(7)),
        (answer(409).with("retry-after", "2"), "busy", seconds(2)),
        (answer(429).with("retry-after", "1000000000"), "busy", seconds(3_600)),
        (answer(429).with("retry-after", "-5"), "busy", None),
        (answer(503), "busy", None),
        (answer(302).with("location", "http://127.0.0.1/"), "retryable", None),
        (PushAnswer::new(202, r#"{"status":"accepted"}"#), "delivered", None),
        (PushAnswer::new(201, "<html>"), "delivered", None),
    ];
    for (status, verdict) in [
        (200, "delivered"),
        (204, "delivered"),
        (307, "retryable"),
        (404, "retryable"),
        (408, "retryable"),
        (500, "retryable"),
        (401, "target"),
        (403, "target"),
        (410, "target"),
        (400, "payload"),
        (413, "payload"),
        (422, "payload"),
        (502, "unknown"),
        (504, "unknown"),
    ] {
        let body = if status == 204 { "" } else { "FAKE" };
        answers.push((PushAnswer::new(status, body), verdict, None));
    }
    answers
}

fn settings(all: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for field in platform("signed_webhook").unwrap().fields {
        let set = all.iter().find(|(name, _)| *name == field.name);
        settings.set(field, set.map_or("", |(_, value)| value));
    }
    settings
}

fn made(all: &[(&str, &str)]) -> Result<Arc<dyn Channel>, AdapterError> {
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    (platform("signed_webhook").unwrap().make)(client, &settings(all))
}

fn addressed(channel: &dyn Channel, chat: &str) -> Parcel {
    let mut parcel = parcel(&SUBJECT, channel, vec![Span::quoted("x")]);
    if let Destination::Chat { chat: to, .. } = &mut parcel.destination {
        *to = chat.to_owned();
    }
    parcel
}

fn body(heard: &Heard) -> Value {
    serde_json::from_slice(&heard.body).unwrap()
}

#[tokio::test]
async fn a_body_has_the_facts_and_the_text_and_each_part_its_own_id() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    let fact = Fact { board: "default".into(), task: "t_1".into(), event: 7, kind: "completed" };
    let spans = vec![Span::quoted("\"x\"\n".repeat(6_000))];
    let message = Message { spans, facts: vec![fact], ..Message::default() };
    let body_of = channel.encode(&to(&SUBJECT, ""), &message);
    let mut parcel = Parcel::new(to(&SUBJECT, ""), "kgw-1".to_owned(), body_of);
    assert!(matches!(channel.send(&parcel).await, Verdict::Part { next: 1, .. }));
    parcel.part = 1;
    parcel.plain = true;
    parcel.repeat = true;
    assert!(matches!(channel.send(&parcel).await, Verdict::Part { next: 2, .. }));
    let heard = server.requests();
    assert_eq!(heard[0].path, "/hook?key=FAKE-in-the-address");
    let ids: Vec<&str> = heard.iter().map(|heard| heard.header("webhook-id")).collect();
    assert_eq!(ids, ["kgw-1", "kgw-1/1"]);
    for (number, heard) in heard.iter().enumerate() {
        let body = body(heard);
        assert_eq!(body["type"], "kanban.completed");
        assert_eq!(
            body["data"]["events"],
            json!([{"board": "default", "task": "t_1", "event": 7, "kind": "completed"}])
        );
        assert_eq!(body["data"]["part"], number + 1);
        assert_eq!(body["data"]["parts"], 3);
        assert_eq!(body["data"]["possible_repeat"], number == 1);
    }
}

#[tokio::test]
async fn report_127_a_further_try_has_the_same_id_and_body_and_a_signature_of_its_own_time() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    server.play([PushAct::Answer(PushAnswer::new(500, ""))]);
    let parcel = addressed(&*channel, "team");
    assert_eq!(channel.send(&parcel).await.name(), "retryable");
    let second = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let first = second();
    while second() == first {
        tokio::task::yield_now().await;
    }
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let heard = server.requests();
    for (name, is_same) in
        [("webhook-id", true), ("webhook-timestamp", false), ("webhook-signature", false)]
    {
        assert_eq!(heard[0].header(name) == heard[1].header(name), is_same, "{name}");
    }
    assert_eq!(heard[0].body, heard[1].body);
}

#[tokio::test]
async fn report_97_report_79_report_123_private_addresses_are_refused_before_connecting() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let number = port.local_addr().unwrap().port();
    for host in [
        "127.0.0.1",
        "10.0.0.1",
        "[::1]",
        "169.254.169.254",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ] {
        let url = format!("http://{host}:{number}/");
        let channel = made(&[("targets", &format!("team={url}")), ("secret", SECRET)]).unwrap();
        let verdict = channel.send(&addressed(&*channel, "team")).await;
        assert_eq!(verdict.name(), "target", "{host}: {verdict:?}");
        assert!(verdict.detail().contains("signed_webhook.allow_private"), "{verdict:?}");
    }
    let asked = tokio::time::timeout(Duration::ZERO, port.accept()).await;
    assert!(asked.is_err(), "nobody connected");
}

#[tokio::test]
async fn report_97_what_is_allowed_passes_and_nothing_else() {
    for (allowed, verdict) in [
        ("localhost", "delivered"),
        ("10.0.0.1, LOCALHOST", "delivered"),
        ("127.0.0.0/8 ::1", "delivered"),
        ("example.org", "target"),
        ("10.0.0.0/8", "target"),
    ] {
        let server = bench(&SUBJECT).await.server;
        let url = server.url().replace("127.0.0.1", "localhost");
        let settings =
            [("targets", &*format!("team={url}")), ("secret", SECRET), ("allow_private", allowed)];
        let channel = made(&settings).unwrap();
        let met = channel.send(&addressed(&*channel, "team")).await;
        assert_eq!(met.name(), verdict, "{allowed}: {met:?}");
        if verdict == "delivered" {
            let host = server.requests()[0].header("host").to_owned();
            assert!(host.starts_with("localhost:"), "the name stays the host: {host}");
        }
    }
}

#[tokio::test]
async fn report_101_report_130_a_wait_that_is_told_is_kept_and_the_id_stays() {
    for (told, wanted) in [("2", Some(2)), ("abc", None), ("-1", None), ("1000000000", Some(3_600))]
    {
        let Bench { server, channel } = bench(&SUBJECT).await;
        let busy = PushAnswer::new(409, "in progress").with("retry-after", told);
        server.play([PushAct::Answer(busy)]);
        let met = channel.send(&addressed(&*channel, "team")).await;
        assert_eq!(met.name(), "busy");
        assert_eq!(hint(&met), wanted.map(Duration::from_secs), "{told}");
    }
    let Bench { server, channel } = bench(&SUBJECT).await;
    let busy = PushAnswer::new(409, "in progress").with("retry-after", "0.1");
    server.play([PushAct::Answer(busy)]);
    let parcel = addressed(&*channel, "team");
    for verdict in ["busy", "delivered"] {
        assert_eq!(channel.send(&parcel).await.name(), verdict);
    }
    let heard = server.requests();
    assert_eq!(heard[0].header("webhook-id"), heard[1].header("webhook-id"));
}

#[tokio::test]
async fn report_128_report_138_every_status_is_looked_at_and_a_refusal_is_final() {
    for (status, verdict) in [
        (201, "delivered"),
        (202, "delivered"),
        (204, "delivered"),
        (302, "retryable"),
        (404, "retryable"),
        (403, "target"),
    ] {
        let Bench { server, channel } = bench(&SUBJECT).await;
        let words = if status == 204 { "" } else { "as the receiver says" };
        server.play([PushAct::Answer(PushAnswer::new(status, words))]);
        let met = channel.send(&addressed(&*channel, "team")).await;
        assert_eq!(met.name(), verdict, "{status}");
        assert!(verdict == "delivered" || met.detail().ends_with(words), "{met:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

/// A probe asks nobody; else as everywhere.
async fn a_redirect_is_not_followed() {
    let elsewhere = bench(&SUBJECT).await.server;
    for status in [301, 302, 303, 307, 308] {
        let Bench { server, channel } = bench(&SUBJECT).await;
        for to in [elsewhere.url(), format!("{}/other", server.url())] {
            let answer = PushAnswer::new(status, "").with("location", to);
            server.play([PushAct::Answer(answer)]);
            assert_eq!(channel.send(&addressed(&*channel, "team")).await.name(), "retryable");
        }
        assert_eq!(server.requests().len(), 2, "{status}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_chat_is_the_name_of_a_target_or_a_url_where_that_is_wanted() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    let url = format!("{}/x", server.url());
    for chat in ["nobody", "", "TEAM", &url, "ftp://h/", "team\r\nx"] {
        assert_eq!(channel.send(&addressed(&*channel, chat)).await.name(), "target", "{chat}");
    }
    assert!(server.requests().is_empty());
    let settings = [("any_url", "true"), ("secret", SECRET), ("allow_private", "127.0.0.1")];
    let channel = made(&settings).unwrap();
    assert_eq!(channel.send(&addressed(&*channel, &url)).await.name(), "delivered");
    let with_user = url.replace("http://", "http://FAKE:pw@");
    for chat in
        ["team", "ftp://127.0.0.1/", "http://", "http:// x", &with_user, &format!("{url}#x")]
    {
        let verdict = channel.send(&addressed(&*channel, chat)).await;
        assert_eq!(verdict.name(), "target", "{chat}");
        assert!(!verdict.detail().contains("FAKE"), "{verdict:?}");
    }
}

#[tokio::test]
async fn a_target_may_have_a_secret_of_its_own_and_two_while_it_changes() {
    let server = bench(&SUBJECT).await.server;
    let url = server.url();
    let old = "whsec_b2xkc2VjcmV0b2Z0aGVvcGVyYXRvci0t";
    for (targets, secret, verdict) in [
        (format!("team={url}/#{SECRET}"), old.to_owned(), "delivered"),
        (format!("team={url}/#{SECRET}"), String::new(), "delivered"),
        (format!("team={url}/#{old}#{SECRET}"), String::new(), "delivered"),
        (format!("team={url}/"), format!("{old},{SECRET}"), "delivered"),
        (format!("team={url}/"), old.to_owned(), "target"),
    ] {
        let settings =
            [("targets", &*targets), ("secret", &*secret), ("allow_private", "127.0.0.1")];
        let channel = made(&settings).unwrap();
        let met = channel.send(&addressed(&*channel, "team")).await;
        assert_eq!(met.name(), verdict, "{targets} {secret}: {met:?}");
    }
}

#[test]
fn report_109_what_cannot_be_used_is_told_without_a_secret() {
    for settings in [
        &[("targets", "team=https://h/FAKE")][..],
        &[("secret", SECRET)],
        &[("any_url", "true")],
        &[("targets", "team=https://u:FAKE@h/"), ("secret", SECRET)],
        &[("targets", "https://h/FAKE"), ("secret", SECRET)],
        &[("targets", "a=ftp://h/FAKE"), ("secret", SECRET)],
        &[("targets", "a b=https://h/FAKE"), ("secret", SECRET)],
        &[("targets", "a=https://h/FAKE,a=https://h/FAKE"), ("secret", SECRET)],
        &[("targets", "a=https://h/"), ("secret", "FAKE-short")],
        &[("targets", "a=https://h/#FAKE-short"), ("secret", SECRET)],
        &[("targets", "a=https://h/"), ("secret", SECRET), ("allow_private", "10.0.0.0/99")],
    ] {
        let error = made(settings).err().map(|error| error.to_string());
        let error = error.unwrap_or_else(|| panic!("{settings:?}"));
        assert!(!error.contains("FAKE") && !error.contains(KEY), "{error}");
    }
}

/// Who is not there is one target of many: the channel goes on.
async fn no_answer_is_said_of_one_target() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    server.play([PushAct::Lose, PushAct::Swallow]);
    for _ in 0..2 {
        assert_eq!(channel.send(&addressed(&*channel, "team")).await.name(), "unknown");
    }
    let gone = nobody_there();
    let verdict = gone.send(&addressed(&*gone, "team")).await;
    assert_eq!(verdict.name(), "retryable");
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
}

/// A probe would be a message.
async fn a_probe_asks_no_receiver() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    for channel in [channel, nobody_there()] {
        assert_eq!(channel.probe().await.name(), "delivered");
    }
    assert!(server.requests().is_empty());
}

/// A channel whose targets are at a port that nobody listens at.
fn nobody_there() -> Arc<dyn Channel> {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    channel(&SUBJECT, &closed)
}

#[tokio::test]
async fn report_108_report_129_a_receiver_that_rests_is_no_reason_for_the_channel_to_rest() {
    let Bench { server, channel } = bench(&SUBJECT).await;
    server.play([PushAct::Answer(PushAnswer::new(429, "").with("retry-after", "1000"))]);
    assert_eq!(channel.send(&addressed(&*channel, "team")).await.name(), "busy");
    let rests = channel.send(&addressed(&*channel, "team")).await;
    assert!(hint(&rests).is_some_and(|wait| wait > Duration::from_secs(990)), "{rests:?}");
    assert_eq!(channel.send(&addressed(&*channel, "other")).await.name(), "delivered");
}

#[test]
fn the_operator_says_whether_receivers_remember_ids() {
    let platform = platform("signed_webhook").unwrap();
    assert!(!platform.deduplicates(&settings(&[])));
    assert!(platform.deduplicates(&settings(&[("deduplicates", "true")])));
}
