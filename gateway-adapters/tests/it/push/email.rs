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

use super::files::{Folder, PNG};

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
    (platform.make)(HttpClient::new(&HttpClientConfig::default()).unwrap(), &settings)
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

#[tokio::test]
async fn each_reply_has_its_verdict_and_tells_no_secret() {
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

#[tokio::test]
async fn lengths_are_bytes() {
    for unit in ["a", "日", "\u{1f600}", "e\u{301}"] {
        let most = LIMIT / unit.len();
        for (count, parts) in [(most, 1), (most + 1, 2)] {
            let seen = all(vec![Span::quoted(unit.repeat(count))]).await;
            assert_eq!(seen.len(), parts, "{count} of {unit:?}");
            let text: String = seen.iter().map(|letter| letter.message.text.as_str()).collect();
            assert!(text == unit.repeat(count), "{count} of {unit:?}");
        }
    }
}

#[tokio::test]
async fn hostile_titles_are_text_and_never_a_header() {
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

#[tokio::test]
async fn what_is_no_address_or_none_of_its_messages_is_not_sent() {
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

#[tokio::test]
async fn a_probe_checks_password_and_sender_and_sends_nothing() {
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

#[tokio::test]
async fn report_43_files_are_in_the_last_letter_byte_for_byte() {
    let (server, channel) = bench().await;
    let folder = Folder::new();
    let lines = b"one\ntwo\r\n.\r\n--boundary\r\nFrom me\n\x00\xff";
    let files = folder
        .files(&[
            ("a.png", PNG),
            ("lines.txt", lines),
            ("empty.csv", b""),
            ("\u{1f600} and a rather long name that goes over several lines of a header.pdf", b"x"),
            ("evil\r\nX: 1\".txt", b"y"),
        ])
        .await;
    let total: u64 = files.iter().map(|file| file.size).sum();
    assert!(total <= channel.takes().total);
    let expected: Vec<(String, Vec<u8>)> =
        files.iter().map(|file| (file.name.clone(), std::fs::read(&file.path).unwrap())).collect();
    let words = vec![Span::ours("word ".repeat(LIMIT / 5 + 10))];
    let mut parcel = parcel_with(&*channel, "ann@example.org", words, files);
    assert!(matches!(channel.send(&parcel).await, Verdict::Part { next: 1, .. }));
    parcel.part = 1;
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let seen = server.seen();
    assert!(seen[0].message.files.is_empty());
    let found = seen[1].message.files.iter().map(|(name, bytes)| (name.clone(), bytes.to_vec()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn report_43_a_letter_goes_without_what_is_gone_or_too_much() {
    let (server, channel) = bench().await;
    let folder = Folder::new();
    let files = folder.files(&[("a.pdf", b"one"), ("b.pdf", b"two")]).await;
    let mut parcel =
        parcel_with(&*channel, "ann@example.org", vec![Span::ours("done")], files.clone());
    std::fs::remove_file(&files[0].path).unwrap();
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    for (act, verdict) in [
        (MailAct::Say("CONTENT", "552 5.3.4 too big"), "delivered"),
        (MailAct::Say("CONTENT", "451 4.3.0 later"), "retryable"),
        (MailAct::Say("RCPT", "550 5.1.1 no such user"), "target"),
    ] {
        server.play([act]);
        assert_eq!(channel.send(&parcel).await.name(), verdict);
    }
    parcel.failures = 3;
    assert_eq!(channel.send(&parcel).await.name(), "delivered");
    let seen: Vec<(String, usize)> = server
        .seen()
        .into_iter()
        .map(|letter| (letter.message.text, letter.message.files.len()))
        .collect();
    let told = |lost: &str| format!("done\nNot attached after all: {lost}");
    assert_eq!(
        seen,
        [
            (told("a.pdf (gone or changed since)"), 1),
            (told("a.pdf (refused here), b.pdf (refused here)"), 0),
            (told("a.pdf (it failed several times), b.pdf (it failed several times)"), 0),
        ]
    );
}
