//! E-mail, over a strict server; STARTTLS is tried with a real one.

use std::{sync::Arc, time::Duration};

use gateway_adapters::{
    AdapterError,
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform, split::REPEAT},
    receiver::push::{Letter, MailAct, MailServer},
};
use kanban_notify::{
    artifacts::Attachment,
    ids::ChannelName,
    message::{Destination, Fact, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::Verdict,
};

use super::own_way::own_way;
use session::{
    a_lost_answer_is_in_doubt, a_server_that_is_busy_tells_no_time,
    another_address_in_a_reply_is_not_written_to, each_letter_has_a_session_of_its_own,
    only_the_end_of_a_letter_is_in_doubt, replies_are_told_short, there_is_no_markup,
};

mod attached;
mod session;

const FROM: &str = "kanban@example.org";
const PASSWORD: &str = "FAKE-password";
const LIMIT: usize = 40_000;

fn made(all: &[(&str, &str)]) -> Result<Arc<dyn Channel>, AdapterError> {
    let platform = platform("email").unwrap();
    let mut settings = Settings::default();
    for field in platform.fields {
        let set = all.iter().find(|(name, _)| *name == field.name);
        settings.set(field, set.map_or("", |(_, value)| value));
    }
    assert!(!format!("{settings:?}").contains("FAKE"));
    (platform.make)(CLIENT.with(HttpClient::clone), &settings)
}

thread_local! {
    /// Not used for letters, and slow to make.
    static CLIENT: HttpClient = HttpClient::new(&HttpClientConfig::default()).unwrap();
}

fn channel(port: u16, password: &str) -> Arc<dyn Channel> {
    let port = port.to_string();
    made(&[
        ("host", "127.0.0.1"),
        ("port", &port),
        ("address", FROM),
        ("password", password),
        ("security", "none"),
    ])
    .unwrap()
}

async fn bench() -> (MailServer, Arc<dyn Channel>) {
    let server = MailServer::start(FROM, PASSWORD).await.unwrap();
    let channel = channel(server.port(), PASSWORD);
    (server, channel)
}

fn parcel(channel: &dyn Channel, chat: &str, spans: Vec<Span>) -> Parcel {
    parcel_with(channel, chat, spans, Vec::new())
}

fn parcel_with(
    channel: &dyn Channel,
    chat: &str,
    spans: Vec<Span>,
    files: Vec<Attachment>,
) -> Parcel {
    let destination = Destination::Chat {
        channel: ChannelName("email".to_owned()),
        chat: chat.to_owned(),
        thread: String::new(),
    };
    let fact = Fact { board: "ops".into(), task: "t_1".into(), event: 7, kind: "completed" };
    let message = Message { spans, facts: vec![fact], files, ..Message::default() };
    let body = channel.encode(&destination, &message);
    assert_eq!(body, channel.encode(&destination, &message), "what is pinned does not change");
    Parcel::new(destination, "kgw-1".to_owned(), body)
}

/// Sends all of a message, and answers what was taken.
async fn all(spans: Vec<Span>) -> Vec<Letter> {
    let (server, channel) = bench().await;
    let mut parcel = parcel(&*channel, "ann@example.org", spans);
    loop {
        match channel.send(&parcel).await {
            Verdict::Delivered(_) => return server.seen(),
            Verdict::Part { next, .. } => parcel.part = next,
            other => panic!("{other:?}"),
        }
    }
}

// The contract over SMTP, whose replies, lengths and connections are others than those of HTTP.
own_way! {
    "email",
    a_limit_that_is_told_is_kept_by_header_and_by_body: a_server_that_is_busy_tells_no_time(),
    a_part_that_may_be_a_repeat_says_so_and_fits: a_part_that_may_be_a_repeat_says_so(),
    a_probe_checks_the_credential_and_sends_nothing: a_probe_checks_password_and_sender(),
    a_reset_before_within_or_after_the_body_is_in_doubt: only_the_end_of_a_letter_is_in_doubt(),
    an_answer_that_repeats_the_secret_or_floods_is_told_short_and_clean: replies_are_told_short(),
    connections_are_reused_whatever_is_answered: each_letter_has_a_session_of_its_own(),
    each_answer_has_its_verdict_and_tells_no_secret: each_reply_has_its_verdict(),
    hostile_titles_are_shown_as_they_are_and_call_nobody: hostile_titles_are_never_a_header(),
    lengths_are_counted_as_the_platform_counts_them: lengths_are_bytes(),
    no_answer_is_unreachable_or_in_doubt: a_lost_answer_is_in_doubt(),
    report_133_a_redirect_is_not_followed: another_address_in_a_reply_is_not_written_to(),
    what_is_none_of_its_messages_is_not_sent: what_is_no_address_is_not_sent(),
    what_is_refused_as_markup_is_plain_the_next_time: there_is_no_markup(),
}

async fn each_reply_has_its_verdict() {
    use MailAct::{Lose, Say, Swallow};
    for (act, verdict) in [
        (MailAct::Honest, "delivered"),
        (Say("CONNECT", "421 4.3.2 too many connections"), "busy"),
        (Say("CONNECT", "554 5.7.1 you are on a list"), "retryable"),
        (Lose("CONNECT"), "unreachable"),
        (Lose("EHLO"), "unreachable"),
        (Say("AUTH", "535 5.7.8 FAKE-password is wrong"), "credential"),
        (Say("AUTH", "535 5.7.8 AGthbmJhbkBleGFtcGxlLm9yZwBGQUtFLXBhc3N3b3Jk"), "credential"),
        (Say("AUTH", "534 5.7.9 an application password is needed"), "credential"),
        (Say("AUTH", "454 4.7.0 temporary authentication failure"), "busy"),
        (Lose("AUTH"), "unreachable"),
        (Say("MAIL", "451 4.3.0 try again later"), "retryable"),
        (Say("MAIL", "421 4.7.0 closing"), "busy"),
        (Say("MAIL", "530 5.7.0 authentication required"), "credential"),
        (Say("MAIL", "553 5.7.1 sender address rejected"), "credential"),
        (Say("MAIL", "552 5.3.4 too big"), "payload"),
        (Lose("MAIL"), "retryable"),
        (Say("RCPT", "450 4.2.0 greylisted"), "retryable"),
        (Say("RCPT", "452 4.2.2 mailbox full"), "retryable"),
        (Say("RCPT", "550 5.1.1 no such user"), "target"),
        (Say("RCPT", "552 5.2.2 mailbox full"), "target"),
        (Say("RCPT", "554 5.7.1 relay access denied"), "target"),
        (Lose("RCPT"), "retryable"),
        (Say("DATA", "451 4.3.0 later"), "retryable"),
        (Say("DATA", "554 5.5.1 no valid recipients"), "payload"),
        (Lose("DATA"), "retryable"),
        (Say("CONTENT", "451 4.7.1 greylisted"), "retryable"),
        (Say("CONTENT", "421 4.3.2 shutting down"), "busy"),
        (Say("CONTENT", "552 5.3.4 too big"), "payload"),
        (Say("CONTENT", "554 5.7.1 looks like spam"), "payload"),
        (Say("CONTENT", "nonsense"), "unknown"),
        // Replies out of turn: somebody slipped one in before the encryption.
        (Say("AUTH", "250 2.0.0 Ok"), "unreachable"),
        (Say("RCPT", "354 go on"), "retryable"),
        (Say("DATA", "250 2.0.0 Ok"), "retryable"),
        (Say("CONTENT", "354 go on"), "unknown"),
        (Lose("CONTENT"), "unknown"),
        (Swallow, "unknown"),
    ] {
        let (server, channel) = bench().await;
        server.play([act]);
        let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("t_1 is done")]);
        let met = channel.send(&parcel).await;
        assert_eq!(met.name(), verdict, "{act:?}: {met:?}");
        assert!(!format!("{met:?}").contains("FAKE"), "{met:?}");
        assert!(!format!("{met:?}").contains("BGQUtF"), "{met:?}");
        assert!(verdict == "delivered" || !met.detail().is_empty(), "{met:?}");
        let taken = usize::from(matches!(act, MailAct::Honest | Swallow));
        assert_eq!(server.seen().len(), taken, "{act:?}");
    }
}

#[tokio::test]
async fn report_110_a_4_is_for_later_and_a_5_for_never() {
    let (server, channel) = bench().await;
    let later = MailAct::Say("RCPT", "451 4.3.0 later");
    server.play([later, MailAct::Say("RCPT", "550 5.1.1 no such user")]);
    let ann = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
    let bob = parcel(&*channel, "bob@example.org", vec![Span::quoted("x")]);
    assert_eq!(channel.send(&ann).await.name(), "retryable");
    assert_eq!(channel.send(&bob).await.name(), "target");
    assert_eq!(channel.send(&ann).await.name(), "delivered");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn every_attempt_has_the_same_identifier_and_all_letters_of_a_task_one_thread() {
    let (server, channel) = bench().await;
    server.play([MailAct::Swallow]);
    let spans = vec![Span::quoted("Build\r\nBcc: eve@example.org"), Span::ours(" was completed.")];
    let mut parcel = parcel(&*channel, "ann@example.org", spans);
    assert_eq!(channel.send(&parcel).await.name(), "unknown");
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    parcel.key = "kgw-2".to_owned();
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let seen = server.seen();
    let ids: Vec<&str> = seen.iter().map(|letter| letter.message.key.as_str()).collect();
    assert_eq!(ids, ["kgw-1@example.org", "kgw-1@example.org", "kgw-2@example.org"]);
    for letter in &seen {
        let header = |name: &str| letter.headers[name].as_str();
        assert!(header("references").starts_with("<task-"), "{letter:?}");
        assert_eq!(header("references"), seen[0].headers["references"]);
        assert_eq!(header("in-reply-to"), header("references"));
        assert_eq!(header("subject"), "[kanban] Build");
        assert!(!letter.headers.contains_key("bcc"));
    }
}

async fn lengths_are_bytes() {
    for unit in ["a", "日", "\u{1f600}", "e\u{301}"] {
        let most = LIMIT / unit.len();
        for (count, parts) in [(most - 1, 1), (most, 1), (most + 1, 2)] {
            let seen = all(vec![Span::quoted(unit.repeat(count))]).await;
            assert_eq!(seen.len(), parts, "{count} of {unit:?}");
            let text: String = seen.iter().map(|letter| letter.message.text.as_str()).collect();
            assert!(text == unit.repeat(count), "{count} of {unit:?}");
        }
    }
}

async fn hostile_titles_are_never_a_header() {
    for title in [
        "_*[]()~`>#+-=|{}.!\\",
        "<b>x</b> &amp; <script>",
        "\u{1f600} \u{5d0}\u{5d1} e\u{301}",
        ".\n.\nQUIT",
        "x\r\nBcc: eve@example.org",
        "x\nBcc: eve@example.org\n\nbody",
        "=?utf-8?q?x?=",
        "\u{0}\u{7}",
    ] {
        let seen = all(vec![Span::quoted(title), Span::ours(" was completed.")]).await;
        assert_eq!(seen.len(), 1, "{title:?}");
        let clean = title.replace('\r', " ").replace(['\u{0}', '\u{7}'], " ");
        assert_eq!(seen[0].message.text, format!("{clean} was completed."), "{title:?}");
        assert_eq!(seen[0].message.chat, "ann@example.org");
        assert!(!seen[0].headers.contains_key("bcc"));
    }
}

#[tokio::test]
async fn report_140_a_line_break_in_a_title_or_an_address_adds_no_header() {
    let (server, channel) = bench().await;
    let title = "Build\r\nBcc: x@example.org\r\n\r\nbody";
    let to = |chat| parcel(&*channel, chat, vec![Span::quoted(title), Span::ours(" is blocked.")]);
    let met = channel.send(&to("ann@example.org\r\nBcc: x@example.org")).await;
    assert_eq!((met.name(), server.sessions()), ("target", 0));
    assert_eq!(channel.send(&to("ann@example.org")).await.name(), "delivered");
    let letter = server.seen().remove(0);
    assert_eq!(letter.message.chat, "ann@example.org");
    assert_eq!(letter.headers["subject"], "[kanban] Build");
    assert!(!letter.headers.contains_key("bcc"), "{letter:?}");
    assert!(letter.message.text.contains("Bcc: x@example.org"), "it stays readable: {letter:?}");
}

async fn a_part_that_may_be_a_repeat_says_so() {
    let (server, channel) = bench().await;
    let long = vec![Span::quoted("word ".repeat(LIMIT))];
    let mut parcel = parcel(&*channel, "ann@example.org", long);
    (parcel.part, parcel.repeat) = (1, true);
    assert!(matches!(channel.send(&parcel).await, Verdict::Part { next: 2, .. }));
    let letter = server.seen().remove(0);
    assert!(letter.message.text.starts_with(REPEAT));
    assert_eq!(letter.message.key, "kgw-1/1@example.org");
    assert!(letter.headers["subject"].ends_with("(2/6)"), "{}", letter.headers["subject"]);
}

async fn what_is_no_address_is_not_sent() {
    let (server, channel) = bench().await;
    let spans = || vec![Span::quoted("x")];
    for chat in [
        "",
        "ann",
        "ann@example.org, bob@example.org",
        "Ann <ann@example.org>",
        "ann@example.org\r\nRCPT TO:<eve@example.org>",
        "änn@example.org",
        "ann@example.org>",
        "@example.org",
        "a@b@c",
    ] {
        let met = channel.send(&parcel(&*channel, chat, spans())).await;
        assert_eq!(met.name(), "target", "{chat:?}");
    }
    let mut parcel = parcel(&*channel, "ann@example.org", spans());
    let broken = Parcel { body: "{}".to_owned(), ..parcel.clone() };
    assert_eq!(channel.send(&broken).await.name(), "payload");
    parcel.destination =
        Destination::Session { channel: ChannelName("email".into()), session: "s".into() };
    assert_eq!(channel.send(&parcel).await.name(), "target");
    assert_eq!(channel.look("s", None).await, Err(LookError::Unsupported));
    assert_eq!(server.sessions(), 0);
}

async fn a_probe_checks_password_and_sender() {
    let (server, channel) = bench().await;
    assert_eq!(channel.probe().await.name(), "delivered");
    server.play([MailAct::Say("MAIL", "553 5.7.1 not your address")]);
    assert_eq!(channel.probe().await.name(), "credential");
    let wrong = self::channel(server.port(), "FAKE-wrong");
    assert_eq!(wrong.probe().await.name(), "credential");
    assert!(server.seen().is_empty());
    let port = server.port();
    drop(server);
    for nobody in [self::channel(port, PASSWORD), channel] {
        assert_eq!(nobody.probe().await.name(), "unreachable");
    }
}

#[tokio::test(start_paused = true)]
async fn d7_a_server_that_is_silent_after_the_letter_leaves_it_unknown() {
    for (step, verdict) in [("CONTENT", "unknown"), ("RCPT", "retryable"), ("AUTH", "unreachable")]
    {
        let (server, channel) = bench().await;
        server.play([MailAct::Hang(step)]);
        let parcel = parcel(&*channel, "ann@example.org", vec![Span::quoted("x")]);
        let began = tokio::time::Instant::now();
        assert_eq!(channel.send(&parcel).await.name(), verdict, "{step}");
        assert!(began.elapsed() < Duration::from_secs(130));
    }
}

#[test]
fn what_cannot_be_used_is_told_without_a_secret() {
    let usable = [("host", "mail.example.org"), ("address", FROM), ("password", "FAKE")];
    assert!(made(&usable).is_ok());
    for (name, value) in [
        ("host", "a b"),
        ("port", "70000"),
        ("address", "FAKE@"),
        ("address", "x\r\n@example.org"),
        ("security", "perhaps"),
        ("security", "none"),
        ("ca_file", "/nowhere/FAKE"),
    ] {
        let mut settings = usable.to_vec();
        settings.retain(|(known, _)| *known != name);
        settings.push((name, value));
        let error = made(&settings).err().unwrap_or_else(|| panic!("{name} {value}"));
        assert!(!format!("{error}").contains("FAKE"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_starttls_is_told_no_password() {
    let server = MailServer::start(FROM, PASSWORD).await.unwrap();
    let port = server.port().to_string();
    let settings =
        [("host", "127.0.0.1"), ("port", &*port), ("address", FROM), ("password", PASSWORD)];
    let channel = made(&settings).unwrap();
    let met = channel.send(&parcel(&*channel, "ann@example.org", vec![Span::quoted("x")])).await;
    assert_eq!(met.name(), "unreachable");
    assert!(met.detail().contains("STARTTLS"), "{met:?}");
    assert!(server.seen().is_empty());
}
