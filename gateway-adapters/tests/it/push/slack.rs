//! Slack, over a strict Web API and a strict incoming webhook.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, slack},
};
use kanban_notify::{
    message::{Destination, Parcel, Span},
    verdict::Verdict,
};
use serde_json::{Value, json};

use super::{
    contract::{Answers, Subject, bench, contract, hint, parcel, to},
    files::{self, Carrier, Folder, PNG, file_contract},
};

const TOKEN: &str = "xoxb-FAKE-1";
const OTHER: &str = "xoxb-FAKE-2";

const SUBJECT: Subject = Subject {
    name: "slack",
    server: || slack(&[(TOKEN, &["C1"]), (OTHER, &["C2"])]),
    settings: &[("token", TOKEN)],
    secret: "FAKE",
    chat: "C1",
    thread: "1700000000.000100",
    unit: Unit::Utf16,
    limit: 4_000,
    markup: false,
    mentions: false,
    answers,
};

/// The bots of two workspaces.
const TWO: Subject = Subject { settings: &[("token", "xoxb-FAKE-1, xoxb-FAKE-2,")], ..SUBJECT };

contract!(SUBJECT);

const CARRIER: Carrier =
    Carrier { subject: SUBJECT, refused: || error("missing_scope"), tries: 1, steps: 3 };

file_contract!(CARRIER);

fn error(name: &str) -> PushAnswer {
    PushAnswer::new(200, json!({"ok": false, "error": name}).to_string())
}

/// The names are those of the Web API.
fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let mut answers = vec![
        (PushAnswer::new(429, "").with("retry-after", "1"), "busy", seconds(1)),
        (
            PushAnswer { status: 429, ..error("ratelimited") }.with("retry-after", "30"),
            "busy",
            seconds(30),
        ),
        (error("ratelimited").with("retry-after", "7"), "busy", seconds(7)),
        (error("rate_limited"), "busy", None),
        (PushAnswer::new(401, "{}"), "credential", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(504, ""), "unknown", None),
        (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        // What is no answer of a Web API.
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, ""), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
        (PushAnswer::new(200, r#"{"ok":"true"}"#), "unknown", None),
    ];
    for (verdict, names) in [
        ("credential", &["invalid_auth", "not_authed", "account_inactive", "token_revoked"][..]),
        ("credential", &["token_expired", "missing_scope", "not_allowed_token_type"]),
        ("target", &["channel_not_found", "is_archived", "not_in_channel", "restricted_action"]),
        ("target", &["restricted_action_read_only_channel", "messages_tab_disabled"]),
        (
            "target",
            &["restricted_action_thread_only_channel", "ekm_access_denied", "no_permission"],
        ),
        ("thread", &["cannot_reply_to_message", "restricted_action_non_threadable_channel"]),
        ("thread", &["restricted_action_thread_locked"]),
        ("payload", &["no_text", "msg_too_long", "msg_blocks_too_long", "invalid_arguments"]),
        ("payload", &["too_many_attachments", "metadata_too_large", "invalid_blocks"]),
        ("payload", &["invalid_blocks_format"]),
        ("busy", &["service_unavailable", "team_added_to_org", "message_limit_exceeded"]),
        ("busy", &["org_login_required"]),
        ("retryable", &["request_timeout", "an_error_that_is_new"]),
        ("unknown", &["fatal_error", "internal_error"]),
    ] {
        answers.extend(names.iter().map(|name| (error(name), verdict, None)));
    }
    answers
}

#[tokio::test]
async fn report_78_a_thread_keeps_every_digit_and_what_is_no_timestamp_is_not_sent() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(bench.channel.send(&first).await.name(), "delivered");
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    assert_eq!((&body["channel"], &body["thread_ts"]), (&json!("C1"), &json!("1700000000.000100")));
    for thread in ["1700000000", "C1:1700000000.000100", "1.", "."] {
        let wrong = Parcel { destination: to(&SUBJECT, thread), ..first.clone() };
        assert_eq!(bench.channel.send(&wrong).await.name(), "thread", "{thread}");
    }
    assert_eq!(bench.server.requests().len(), 1);
}

#[tokio::test]
async fn report_77_a_title_pings_nobody_and_stays_readable() {
    let bench = bench(&SUBJECT).await;
    let title = "<!channel> @all @everyone <@&123> *b* &amp;";
    let spans = vec![Span::quoted(title), Span::ours(" was completed.")];
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, spans)).await;
    let body: Value = serde_json::from_slice(&bench.server.requests()[0].body).unwrap();
    let written = "&lt;!channel&gt; @all @everyone &lt;@&amp;123&gt; *b* &amp;amp; was completed.";
    assert_eq!(body["text"], written);
    assert_eq!((&body["parse"], &body["link_names"]), (&json!("none"), &json!(false)));
    assert_eq!(bench.server.seen()[0].text, format!("{title} was completed."));
}

#[tokio::test]
async fn report_100_a_header_is_enough_for_the_channel_to_be_left_alone() {
    let bench = bench(&SUBJECT).await;
    bench.server.play([PushAct::Answer(PushAnswer::new(429, "").with("retry-after", "1000"))]);
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(hint(&bench.channel.send(&first).await), Some(Duration::from_secs(1_000)));
    let again = bench.channel.send(&first).await;
    assert!(hint(&again).is_some_and(|wait| wait > Duration::from_secs(990)), "{again:?}");
    assert_eq!(bench.server.requests().len(), 1, "it is not asked again");
}

fn in_channel(name: &str, parcel: &Parcel) -> Parcel {
    let mut parcel = parcel.clone();
    if let Destination::Chat { chat, .. } = &mut parcel.destination {
        *chat = name.to_owned();
    }
    parcel
}

#[tokio::test]
async fn each_channel_is_found_in_the_workspace_whose_token_reaches_it_and_remembered() {
    let bench = bench(&TWO).await;
    let first = parcel(&TWO, &*bench.channel, vec![Span::quoted("x")]);
    for (chat, asked) in [("C2", 2), ("C2", 3), ("C1", 4)] {
        let verdict = bench.channel.send(&in_channel(chat, &first)).await;
        assert_eq!(verdict.name(), "delivered", "{chat}");
        assert_eq!(bench.server.requests().len(), asked, "{chat}");
    }
    let nowhere = bench.channel.send(&in_channel("C3", &first)).await;
    assert_eq!(nowhere.name(), "target");
    let chats: Vec<String> = bench.server.seen().into_iter().map(|seen| seen.chat).collect();
    assert_eq!(chats, ["C2", "C2", "C1"]);
    assert_eq!(bench.channel.probe().await.name(), "delivered");
}

#[tokio::test]
async fn one_refused_token_of_two_is_named_and_does_not_stop_the_channels_of_the_other() {
    let settings = &[("token", "xoxb-FAKE-wrong,xoxb-FAKE-2")];
    let subject = Subject { settings, ..SUBJECT };
    let bench = bench(&subject).await;
    let first = parcel(&subject, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(bench.channel.send(&in_channel("C2", &first)).await.name(), "delivered");
    for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
        assert_eq!(verdict.name(), "credential");
        assert!(verdict.detail().contains("token 1 of 2"), "{verdict:?}");
        assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
    }
}

/// A doubtful end in one workspace is never followed by a try in another one.
#[tokio::test]
async fn d7_what_may_have_been_posted_is_not_tried_elsewhere() {
    for act in [PushAct::Lose, PushAct::Answer(error("fatal_error"))] {
        let bench = bench(&TWO).await;
        bench.server.play([act]);
        let first = parcel(&TWO, &*bench.channel, vec![Span::quoted("x")]);
        assert_eq!(bench.channel.send(&first).await.name(), "unknown");
        assert_eq!(bench.server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_scope_that_is_missing_is_named_and_looked_for_until_it_is_there() {
    let bench = bench(&SUBJECT).await;
    let lacks = json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "users:read"});
    let lacks = PushAnswer::new(200, lacks.to_string());
    let fine = |scopes| PushAnswer::new(200, r#"{"ok":true}"#).with("x-oauth-scopes", scopes);
    bench.server.play([lacks, fine("users:read")].map(PushAct::Answer));
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
        assert_eq!(verdict.name(), "credential");
        assert!(verdict.detail().contains("chat:write"), "{verdict:?}");
    }
    assert!(matches!(bench.channel.probe().await, Verdict::Delivered(_)));
}

mod webhook {
    use gateway_adapters::receiver::push::slack_webhook;

    use super::*;

    const SUBJECT: Subject = Subject {
        name: "slack_webhook",
        server: || slack_webhook("/services/T0/B0/FAKEhook"),
        settings: &[("url", "{url}/services/T0/B0/FAKEhook")],
        answers,
        ..super::SUBJECT
    };

    contract!(SUBJECT);

    fn answers() -> Answers {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let mut answers = vec![
            (PushAnswer::new(429, "rate_limited").with("retry-after", "30"), "busy", seconds(30)),
            (PushAnswer::new(429, ""), "busy", None),
            (PushAnswer::new(500, "rollup_error"), "retryable", None),
            (PushAnswer::new(502, "<html>"), "unknown", None),
            (PushAnswer::new(503, ""), "busy", None),
            (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
            (PushAnswer::new(200, ""), "unknown", None),
            (PushAnswer::new(302, "").with("location", "https://example.org/"), "retryable", None),
        ];
        for (status, words, verdict) in [
            (400, "invalid_payload", "payload"),
            (400, "no_text", "payload"),
            (400, "too_many_attachments", "payload"),
            (400, "user_not_found", "target"),
            (403, "action_prohibited", "target"),
            (403, "posting_to_general_channel_denied", "target"),
            (403, "invalid_token", "credential"),
            (403, "", "credential"),
            (404, "channel_not_found", "target"),
            (404, "no_service", "credential"),
            (404, "no_team", "credential"),
            (404, "no_active_hooks", "credential"),
            (410, "channel_is_archived", "target"),
        ] {
            answers.push((PushAnswer::new(status, words), verdict, None));
        }
        answers
    }

    #[tokio::test]
    async fn report_108_an_address_that_is_refused_is_not_repeated_anywhere() {
        let settings = &[("url", "{url}/services/T0/B0/FAKEwrong")];
        let wrong = Subject { settings, ..SUBJECT };
        let bench = bench(&wrong).await;
        let first = parcel(&wrong, &*bench.channel, vec![Span::quoted("x")]);
        for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
            assert_eq!(verdict.name(), "credential");
            assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
        }
        // Whole, as a path or its end: an answer that repeats it has it masked.
        for echo in ["https://hooks.slack.com/services/T0/B0/FAKEwrong", "/T0/B0/FAKEwrong"] {
            bench.server.play([PushAct::Answer(PushAnswer::new(400, format!("no {echo} here")))]);
            let verdict = bench.channel.send(&first).await;
            assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
        }
    }

    #[tokio::test]
    async fn a_channel_that_is_archived_is_no_wrong_address() {
        let bench = bench(&SUBJECT).await;
        bench.server.play([PushAct::Answer(PushAnswer::new(410, "channel_is_archived"))]);
        assert_eq!(bench.channel.probe().await.name(), "delivered");
    }
}

#[tokio::test]
async fn files_are_shown_together_in_the_workspace_that_knows_the_channel() {
    let carrier = Carrier { subject: Subject { chat: "C2", ..TWO }, ..CARRIER };
    let (bench, folder) = (bench(&carrier.subject).await, Folder::new());
    let checked = folder.files(&[("a.png", PNG), ("b & <c>.txt", b"x")]).await;
    // As after a restart: nobody knows yet whose channel it is.
    let parcel = Parcel { part: 1, ..files::parcel(&carrier, &bench, checked) };
    assert_eq!(bench.channel.send(&parcel).await.name(), "delivered");
    let seen = bench.server.seen();
    let names: Vec<&str> = seen[0].files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((seen.len(), names), (1, vec!["a.png", "b & <c>.txt"]));
    // What became of an upload is no doubt, what became of the message is.
    for (before, act, verdict) in [
        (0, PushAct::Lose, "retryable"),
        (1, PushAct::Answer(PushAnswer::new(502, "")), "retryable"),
        (4, PushAct::Answer(error("fatal_error")), "unknown"),
    ] {
        let honest = std::iter::repeat_n(PushAct::Honest, before);
        bench.server.play(honest.chain([act]));
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict);
    }
    // A place that is not Slack's, and not encrypted, is not used.
    let place = json!({"ok": true, "upload_url": "http://127.0.0.1:9/x", "file_id": "F1"});
    bench.server.play([PushAct::Answer(PushAnswer::new(200, place.to_string()))]);
    assert_eq!(bench.channel.send(&parcel).await.name(), "retryable");
}
