//! The contract of push channels, over a strict server in the place of the platform.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{
        Settings, platform,
        split::{REPEAT, Unit},
    },
    receiver::{
        RawAct, RawServer,
        push::{Platform, PushAct, PushAnswer, PushMessage, PushServer},
    },
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::Verdict,
};
use serde_json::json;

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
    (platform.make)(CLIENT.with(HttpClient::clone), &settings).unwrap()
}

thread_local! {
    /// One for all channels of a test: to make one reads all certificates of the system.
    static CLIENT: HttpClient = HttpClient::new(&HttpClientConfig::default()).unwrap();
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
    let words = "word ".repeat(subject.limit);
    // Ten parts are not enough: each has its fences, and the last one says what is left out.
    let code = format!("```\n{}", "x".repeat(subject.limit * 12));
    for (text, part, met) in [(&words, 1, "part"), (&code, 1, "part"), (&code, 9, "delivered")] {
        let bench = bench(subject).await;
        let mut parcel = parcel(subject, &*bench.channel, vec![Span::quoted(text.as_str())]);
        parcel.part = part;
        parcel.repeat = true;
        let verdict = bench.channel.send(&parcel).await;
        assert_eq!(verdict.name(), met, "{} {part}: {verdict:?}", subject.name);
        assert!(bench.server.seen()[0].text.starts_with(REPEAT));
    }
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

pub async fn a_limit_that_is_told_is_kept_by_header_and_by_body(subject: &Subject) {
    let flood = PushAnswer::new(429, "").with("retry-after", "1000");
    let mut limits = vec![(flood, Some(Duration::from_secs(1_000)))];
    // Those of the platform's own table are told in the other places that it knows.
    let own = (subject.answers)().into_iter();
    let own = own.filter(|(_, verdict, hint)| *verdict == "busy" && *hint > Some(LONG));
    limits.extend(own.map(|(answer, _, hint)| (answer, hint)));
    for (answer, wanted) in limits {
        let bench = bench(subject).await;
        let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
        bench.server.play([PushAct::Answer(answer.clone())]);
        let met = bench.channel.send(&parcel).await;
        assert_eq!((met.name(), hint(&met)), ("busy", wanted), "{answer:?}");
        let requests = bench.server.requests().len();
        let again = bench.channel.send(&parcel).await;
        assert!(hint(&again) > wanted.map(|wait| wait - LONG), "{answer:?}: {again:?}");
        assert_eq!(bench.server.requests().len(), requests, "{answer:?}: it is not asked again");
    }
}

/// A wait that is longer is no matter of a moment; it is left to the engine.
const LONG: Duration = Duration::from_secs(6);

pub async fn a_reset_before_within_or_after_the_body_is_in_doubt(subject: &Subject) {
    let cut = |status: &str| RawAct::Write(format!("HTTP/1.1 {status}").into_bytes());
    for acts in [
        vec![RawAct::Await, RawAct::Reset],
        vec![RawAct::ReadHead, RawAct::Reset],
        vec![RawAct::ReadPart(1), RawAct::Reset],
        vec![RawAct::ReadRequest, RawAct::Reset],
        vec![RawAct::ReadRequest, cut("200 OK\r\ncontent-le"), RawAct::Reset],
    ] {
        let server = RawServer::start(vec![acts.clone()]).await.unwrap();
        let channel = channel(subject, &server.url());
        let parcel = parcel(subject, &*channel, vec![Span::quoted("x")]);
        let verdict = channel.send(&parcel).await;
        assert_eq!(verdict.name(), "unknown", "{acts:?}: {verdict:?}");
        assert!(!format!("{verdict:?}").contains(subject.secret), "{verdict:?}");
        assert_eq!(server.accepted(), 1, "{acts:?}: it is never sent twice");
    }
}

pub async fn an_answer_that_repeats_the_secret_or_floods_is_told_short_and_clean(
    subject: &Subject,
) {
    let values: Vec<&str> = subject.settings.iter().map(|(_, value)| *value).collect();
    let flood = || "forged line\r\n\u{1b}[31m\u{0}".repeat(60_000);
    for status in [400, 401, 403, 404, 429, 500, 503] {
        let floods = (status == 404 || status == 500).then_some(None);
        for is_json in [Some(true), Some(false)].into_iter().chain(floods) {
            let bench = bench(subject).await;
            let echo = format!("no {}", values.join(" and ")).replace("{url}", &bench.server.url());
            let body = match is_json {
                Some(true) => {
                    let keys = ["error", "message", "description", "errmsg", "msg"];
                    json!(keys.map(|key| (key, &echo)).into_iter().collect::<BTreeMap<_, _>>())
                        .to_string()
                }
                Some(false) => echo,
                None => flood(),
            };
            bench.server.play([PushAct::Answer(PushAnswer::new(status, body))]);
            let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
            let verdict = bench.channel.send(&parcel).await;
            let detail = verdict.detail();
            assert!(!detail.contains(subject.secret), "{status}: {detail}");
            assert!(detail.chars().count() <= 400, "{status}: {detail}");
            assert!(!detail.chars().any(char::is_control), "{status}: {detail:?}");
        }
    }
}

pub async fn report_133_a_redirect_is_not_followed(subject: &Subject) {
    let elsewhere = PushServer::start((subject.server)()).await.unwrap();
    for status in [301, 302, 303, 307, 308] {
        let bench = bench(subject).await;
        let answer = PushAnswer::new(status, "").with("location", elsewhere.url());
        bench.server.play([PushAct::Answer(answer.clone()), PushAct::Answer(answer)]);
        let parcel = parcel(subject, &*bench.channel, vec![Span::quoted("x")]);
        for verdict in [bench.channel.send(&parcel).await, bench.channel.probe().await] {
            assert_ne!(verdict.name(), "delivered", "{status}: {verdict:?}");
        }
        assert_eq!(bench.server.requests().len(), 2, "{status}");
    }
    assert!(elsewhere.requests().is_empty(), "no credential went elsewhere");
}

/// The contract, as tests in a module of their own: the table of a test run is made of their paths.
///
/// Behind a semicolon: cases that the platform has in a way of its own, as tests of its own.
macro_rules! contract {
    ($subject:expr, $($case:ident),+; $($own:ident: $run:expr),+ $(,)?) => {
        crate::push::contract::contract!($subject, $($case),+);
        crate::push::own_way::own_way!($subject.name, $($own: $run),+);
    };
    ($subject:expr, $($case:ident),+ $(,)?) => {
        mod contract_cases {
            use super::*;

            $(
                #[tokio::test]
                async fn $case() {
                    crate::push::own_way::tell(module_path!(), $subject.name);
                    crate::push::contract::$case(&$subject).await;
                }
            )+
        }
    };
    ($subject:expr) => {
        crate::push::contract::contract! {
            $subject,
            a_limit_that_is_told_is_kept_by_header_and_by_body,
            a_part_that_may_be_a_repeat_says_so_and_fits,
            a_probe_checks_the_credential_and_sends_nothing,
            a_reset_before_within_or_after_the_body_is_in_doubt,
            an_answer_that_repeats_the_secret_or_floods_is_told_short_and_clean,
            connections_are_reused_whatever_is_answered,
            each_answer_has_its_verdict_and_tells_no_secret,
            hostile_titles_are_shown_as_they_are_and_call_nobody,
            lengths_are_counted_as_the_platform_counts_them,
            no_answer_is_unreachable_or_in_doubt,
            report_133_a_redirect_is_not_followed,
            what_is_none_of_its_messages_is_not_sent,
            what_is_refused_as_markup_is_plain_the_next_time,
        }
    };
}
pub(crate) use contract;
