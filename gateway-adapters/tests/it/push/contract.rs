//! The contract of push channels, over a strict server in the place of the platform.

use std::{sync::Arc, time::Duration};

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{
        Settings, platform,
        split::{REPEAT, Unit},
    },
    receiver::push::{Platform, PushAct, PushAnswer, PushMessage, PushServer},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::Verdict,
};

/// One platform under test.
pub struct Subject {
    pub name: &'static str,
    /// The server in its place.
    pub server: fn() -> Platform,
    /// What is set besides `url`; `{url}` in a value is where the server is.
    pub settings: &'static [(&'static str, &'static str)],
    /// What must never be told.
    pub secret: &'static str,
    /// A chat, and a thread if it has them.
    pub chat: &'static str,
    pub thread: &'static str,
    pub unit: Unit,
    pub limit: usize,
    /// Whether its messages carry markup that can be refused.
    pub markup: bool,
    /// Whether a name behind an `@` calls people there.
    pub mentions: bool,
    /// An answer, its verdict, and the hint.
    pub answers: fn() -> Answers,
}

/// Answers with their verdicts, and the hints where they matter.
pub type Answers = Vec<(PushAnswer, &'static str, Option<Duration>)>;

/// A channel and the server that it sends to.
pub struct Bench {
    pub server: PushServer,
    pub channel: Arc<dyn Channel>,
}

pub fn channel(subject: &Subject, url: &str) -> Arc<dyn Channel> {
    let platform = platform(subject.name).unwrap();
    let mut settings = Settings::default();
    for field in platform.fields {
        let set = subject.settings.iter().find(|(name, _)| *name == field.name);
        if let Some((_, value)) = set {
            settings.set(field, &value.replace("{url}", url));
        } else if field.name == "url" {
            settings.set(field, url);
        }
    }
    assert!(platform.is_wanted(&settings));
    assert!(!format!("{settings:?}").contains(subject.secret));
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    (platform.make)(client, &settings).unwrap()
}

pub async fn bench(subject: &Subject) -> Bench {
    let server = PushServer::start((subject.server)()).await.unwrap();
    let channel = channel(subject, &server.url());
    Bench { server, channel }
}

pub fn to(subject: &Subject, thread: &str) -> Destination {
    Destination::Chat {
        channel: ChannelName(subject.name.to_owned()),
        chat: subject.chat.to_owned(),
        thread: thread.to_owned(),
    }
}

pub fn parcel(subject: &Subject, channel: &dyn Channel, spans: Vec<Span>) -> Parcel {
    let destination = to(subject, subject.thread);
    let message = Message { spans, facts: Vec::new(), ..Message::default() };
    let body = channel.encode(&destination, &message);
    assert_eq!(body, channel.encode(&destination, &message), "what is pinned does not change");
    Parcel::new(destination, "kgw-1".to_owned(), body)
}

pub fn hint(verdict: &Verdict) -> Option<Duration> {
    match verdict {
        Verdict::Busy { retry_after, .. } | Verdict::Retryable { retry_after, .. } => *retry_after,
        _ => None,
    }
}

/// Sends all of a message, and answers what people saw.
async fn all(subject: &Subject, spans: Vec<Span>) -> Vec<PushMessage> {
    let bench = bench(subject).await;
    let mut parcel = parcel(subject, &*bench.channel, spans);
    loop {
        match bench.channel.send(&parcel).await {
            Verdict::Delivered(_) => return bench.server.seen(),
            Verdict::Part { next, .. } => {
                assert_eq!(next, parcel.part + 1);
                parcel.part = next;
            }
            other => panic!("{}: {other:?} {:?}", subject.name, bench.server.requests().last()),
        }
    }
}

/// Quoted text as people see it.
pub fn shown(text: &str) -> String {
    text.replace('\u{200b}', "")
}

pub async fn each_answer_has_its_verdict_and_tells_no_secret(subject: &Subject) {
    for (answer, verdict, wanted) in (subject.answers)() {
        let bench = bench(subject).await;
        let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("t_1 is done")]);
        bench.server.play([PushAct::Answer(answer.clone())]);
        let met = bench.channel.send(&parcel).await;
        assert_eq!(met.name(), verdict, "{} {answer:?}: {met:?}", subject.name);
        if wanted.is_some() {
            assert_eq!(hint(&met), wanted, "{answer:?}");
        }
        assert!(!format!("{met:?}").contains(subject.secret), "{met:?}");
        assert!(verdict == "delivered" || !met.detail().is_empty(), "{met:?}");
    }
}

pub async fn lengths_are_counted_as_the_platform_counts_them(subject: &Subject) {
    for unit in ["a", "日", "\u{1f600}", "e\u{301}", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f466}"]
    {
        let one = subject.unit.len(unit);
        let most = subject.limit / one;
        for (count, parts) in [(most - 1, 1), (most, 1), (most + 1, 2)] {
            let seen = all(subject, vec![Span::quoted(unit.repeat(count))]).await;
            assert_eq!(seen.len(), parts, "{} {count} of {unit:?}", subject.name);
            let text: String = seen.iter().map(|message| message.text.as_str()).collect();
            assert_eq!(text, unit.repeat(count));
        }
    }
}

pub async fn hostile_titles_are_shown_as_they_are_and_call_nobody(subject: &Subject) {
    for title in [
        "_*[]()~`>#+-=|{}.!\\",
        "<b>x</b> &amp; <script>",
        "@everyone @channel @here <@123> <!channel>",
        "```\ncode",
        "[link](https://example.org/a?b=c)",
        "{\"json\": \"\\u0000\"}",
        "\u{1f600} \u{5d0}\u{5d1} e\u{301}",
    ] {
        let seen = all(subject, vec![Span::quoted(title), Span::ours(" was completed.")]).await;
        assert_eq!(seen.len(), 1);
        assert_eq!(shown(&seen[0].text), format!("{title} was completed."));
        for mention in ["@everyone", "@channel", "@here"] {
            assert!(!subject.mentions || !seen[0].text.contains(mention), "{:?}", seen[0]);
        }
        assert_eq!(
            (seen[0].chat.as_str(), seen[0].thread.as_str()),
            (subject.chat, subject.thread)
        );
    }
}

pub async fn what_is_refused_as_markup_is_plain_the_next_time(subject: &Subject) {
    let bench = bench(subject).await;
    let mut parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x"), Span::ours(" y")]);
    bench.channel.send(&parcel).await;
    // A refused one left no key behind.
    parcel.key = "kgw-2".to_owned();
    parcel.plain = true;
    bench.channel.send(&parcel).await;
    let seen = bench.server.seen();
    assert_eq!((seen[0].rich, seen[1].rich), (subject.markup, false));
    assert_eq!(shown(&seen[0].text), shown(&seen[1].text));
}

pub async fn a_part_that_may_be_a_repeat_says_so_and_fits(subject: &Subject) {
    let bench = bench(subject).await;
    let long = Span::quoted("word ".repeat(subject.limit));
    let mut parcel = parcel(subject, &*bench.channel, vec![long]);
    parcel.part = 1;
    parcel.repeat = true;
    let verdict = bench.channel.send(&parcel).await;
    assert!(matches!(verdict, Verdict::Part { next: 2, .. }), "{verdict:?}");
    assert!(bench.server.seen()[0].text.starts_with(REPEAT));
}

pub async fn no_answer_is_unreachable_or_in_doubt(subject: &Subject) {
    let bench = bench(subject).await;
    let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
    bench.server.play([PushAct::Lose, PushAct::Swallow]);
    for _ in 0..2 {
        let verdict = bench.channel.send(&parcel).await;
        assert_eq!(verdict.name(), "unknown", "{verdict:?}");
    }
    // A port that nobody listens at.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let nobody = channel(subject, &url);
    for verdict in [nobody.send(&parcel).await, nobody.probe().await] {
        assert_eq!(verdict.name(), "unreachable");
        assert!(!format!("{verdict:?}").contains(subject.secret), "{verdict:?}");
    }
}

pub async fn connections_are_reused_whatever_is_answered(subject: &Subject) {
    let bench = bench(subject).await;
    let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
    let large = PushAnswer::new(500, "x".repeat(200_000));
    bench.server.play([PushAct::Honest, PushAct::Answer(large), PushAct::Honest]);
    for _ in 0..3 {
        bench.channel.send(&parcel).await;
    }
    bench.channel.probe().await;
    assert_eq!(bench.server.connections(), 1);
}

pub async fn what_is_none_of_its_messages_is_not_sent(subject: &Subject) {
    let bench = bench(subject).await;
    let channel = ChannelName(subject.name.to_owned());
    let session = Destination::Session { channel, session: "s".to_owned() };
    let mut parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
    let broken = Parcel { body: "{}".to_owned(), ..parcel.clone() };
    assert_eq!(bench.channel.send(&broken).await.name(), "payload");
    parcel.destination = session;
    assert_eq!(bench.channel.send(&parcel).await.name(), "target");
    assert!(bench.server.requests().is_empty());
    assert_eq!(bench.channel.look("s", None).await, Err(LookError::Unsupported));
}

pub async fn a_probe_checks_the_credential_and_sends_nothing(subject: &Subject) {
    let bench = bench(subject).await;
    assert_eq!(bench.channel.probe().await.name(), "delivered");
    assert!(bench.server.seen().is_empty());
    bench.server.play([PushAct::Answer(PushAnswer::new(401, "{}"))]);
    assert_eq!(bench.channel.probe().await.name(), "credential");
}

/// The contract, as tests of the module that it is written in.
macro_rules! contract {
    ($subject:expr, $($test:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $test() {
                crate::push::contract::$test(&$subject).await;
            }
        )+
    };
    ($subject:expr) => {
        crate::push::contract::contract! {
            $subject,
            each_answer_has_its_verdict_and_tells_no_secret,
            lengths_are_counted_as_the_platform_counts_them,
            hostile_titles_are_shown_as_they_are_and_call_nobody,
            what_is_refused_as_markup_is_plain_the_next_time,
            a_part_that_may_be_a_repeat_says_so_and_fits,
            no_answer_is_unreachable_or_in_doubt,
            connections_are_reused_whatever_is_answered,
            what_is_none_of_its_messages_is_not_sent,
            a_probe_checks_the_credential_and_sends_nothing,
        }
    };
}
pub(crate) use contract;
