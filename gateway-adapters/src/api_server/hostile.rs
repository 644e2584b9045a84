//! Answers of any bytes, in pieces of any size: a verdict, and little memory (laws W4, W7).

use ::http::{HeaderMap, HeaderValue, StatusCode, header};
use proptest::prelude::*;

use super::{
    answer::{AnswerFacts, Heard},
    history::HistorySink,
    json::JsonReader,
    session,
};
use crate::http::{BodyEnd, Redactor, retry_after};

/// How many cases are tried: so many, or as many as `KANBAN_GATEWAY_TEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("KANBAN_GATEWAY_TEST_CASES").ok();
    let cases = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual);
    println!("{cases} cases");
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

const ANSWER: &str = r#"{"id": "chatcmpl-1", "choices": [{"message": {"role": "assistant", "content": "done é \ud83d\ude00"}, "finish_reason": "stop"}], "hermes": {"failed": false, "completed": true}, "error": {"code": "x", "message": "why"}}"#;
const HISTORY: &str = r#"{"session_id": "s", "data": [{"role": "user", "content": "kgw:0123", "timestamp": 1700000000.5}, {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [{"id": 1}], "timestamp": 1e300}, {"role": "assistant", "content": "b", "tool_calls": "[]"}]}"#;

/// Bytes of any kind, and answers in which a few were changed.
fn body(whole: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..4));
    let changed = (prop::collection::vec(change, 0..6), any::<prop::sample::Index>()).prop_map(
        move |(changes, end)| {
            let mut bytes = whole.as_bytes().to_vec();
            for (at, with) in changes {
                let at = at.index(bytes.len());
                bytes.splice(at..(at + with.len()).min(bytes.len()), with);
            }
            let end = end.index(bytes.len() * 2);
            bytes.truncate(end);
            bytes
        },
    );
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud800",
        "null",
        "NaN",
        "-",
        "1e999",
        "choices",
        "message",
        "content",
        "error",
        "data",
        "\u{1b}[2J",
        "\r\n",
    ]);
    let soup = prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => changed, 2 => soup, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

fn feed<S: super::json::Sink>(sink: S, body: &[u8], piece: usize) -> (S, bool) {
    let mut reader = JsonReader::new(sink);
    for piece in body.chunks(piece) {
        reader.push(piece);
    }
    let (sink, whole) = reader.finish();
    (sink, whole.is_ok())
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn w7_every_answer_has_a_verdict_and_its_words_are_tame(
        status in 100_u16..1000, body in body(ANSWER), piece in 1_usize..200,
    ) {
        let (facts, whole) = feed(AnswerFacts::default(), &body, piece);
        let json = whole && facts.is_object();
        // What a value says does not depend on how it was cut into pieces.
        let (again, _) = feed(AnswerFacts::default(), &body, 1);
        prop_assert_eq!(format!("{again:?}"), format!("{facts:?}"));
        let status = StatusCode::from_u16(status).unwrap();
        let heard = Heard { status, session: None, incomplete: false, retry_after: None, json, facts, end: BodyEnd::Whole };
        let verdict = heard.verdict(&Redactor::default());
        let detail = verdict.detail();
        prop_assert!(detail.chars().count() <= 300 && !detail.contains(char::is_control), "{detail:?}");
        if verdict.name() == "delivered" {
            prop_assert!(json && status.is_success());
            let value: Result<serde_json::Value, _> = serde_json::from_slice(&body);
            // Ours takes a little more than JSON: NaN, and lone surrogates.
            if let Ok(value) = value {
                prop_assert!(value.is_object());
            }
        }
    }

    #[test]
    fn w4_every_history_is_a_view_or_none(body in body(HISTORY), piece in 1_usize..200) {
        let (sink, _) = feed(HistorySink::new(Some("kgw:0123")), &body, piece);
        let (again, _) = feed(HistorySink::new(Some("kgw:0123")), &body, 1);
        prop_assert_eq!(sink.view(), again.view());
    }

    #[test]
    fn d8_w3_headers_of_any_bytes_are_hints_or_nothing(value in prop_oneof![
        "[0-9.]{0,400}", "[ -~]{0,60}", "(Mon|Sun), [0-9]{2} (Nov|Feb) [0-9]{1,6} [0-9:]{8} GMT", any::<String>(),
    ]) {
        let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, value.clone());
        headers.insert(header::DATE, value.clone());
        if let Some(hint) = retry_after(&headers, std::time::SystemTime::now()) {
            prop_assert!((100..=3_600_000).contains(&hint.as_millis()));
        }
        if let Some(session) = session::named(Some(&value)) {
            prop_assert!(session.chars().count() <= 256 && !session.contains(char::is_control));
        }
    }

    /// W9: no session makes a header of its own, or another path.
    #[test]
    fn w9_a_session_is_one_header_and_one_segment(session in prop_oneof![
        any::<String>(), "[a-z]{0,8}(\r\n|\n|\r|\u{0}|\u{85})X-Evil: 1", "[a-z./%?#]{0,20}",
    ]) {
        if let Ok(value) = session::header(&session) {
            prop_assert!(!value.as_bytes().iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
        }
        let path = crate::http::base::segment(&session);
        prop_assert!(path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_~.%".contains(&b)));
    }
}

/// However long an answer is, what is kept of it is not.
#[test]
fn w7_an_answer_of_many_megabytes_leaves_little_behind() {
    let mut reader = JsonReader::new(AnswerFacts::default());
    reader.push(br#"{"choices": [{"message": {"content": ""#);
    for _ in 0..64 {
        reader.push(&vec![b'x'; 1 << 20]);
    }
    reader.push(br#""}}], "error": {"message": ""#);
    for _ in 0..8 {
        reader.push(&vec![b'y'; 1 << 20]);
    }
    reader.push(br#""}}"#);
    let (facts, whole) = reader.finish();
    assert!(whole.is_ok());
    assert!(format!("{facts:?}").len() < 2_000);
}
