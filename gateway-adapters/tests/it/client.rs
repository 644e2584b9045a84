//! The shared client: what left, what did not, and what of an answer is read.

use std::{collections::HashSet, time::Duration};

use bytes::Bytes;
use gateway_adapters::{
    http::{BodyEnd, HttpClient, HttpClientConfig, Limits, NoAnswer},
    receiver::{RawAct, RawServer, Receiver, ReceiverConfig},
};
use http::Method;

use crate::support::{LIMITS, SHORT, client, get, nobody, request};

async fn raw(acts: Vec<RawAct>) -> RawServer {
    RawServer::start(vec![acts]).await.unwrap()
}

fn write(text: &str) -> RawAct {
    RawAct::Write(text.as_bytes().to_vec())
}

async fn end(acts: Vec<RawAct>, limits: Limits) -> Result<BodyEnd, NoAnswer> {
    let server = raw(acts).await;
    let request = request(Method::POST, &server.url(), &[], "body");
    let response = client().fetch(request, limits, 100).await?;
    Ok(response.end)
}

fn is_not_sent(result: &Result<impl std::fmt::Debug, NoAnswer>) -> bool {
    matches!(result, Err(NoAnswer::NotSent(_)))
}

fn is_maybe_sent(result: &Result<impl std::fmt::Debug, NoAnswer>) -> bool {
    matches!(result, Err(NoAnswer::MaybeSent(_)))
}

#[tokio::test]
async fn d7_refused_means_that_nothing_left() {
    let end = client().fetch(get(&nobody()), LIMITS, 0).await;
    assert!(is_not_sent(&end), "{end:?}");
    let detail = end.unwrap_err().detail().as_str().to_lowercase();
    assert!(detail.contains("refused"), "{detail}");
    assert!(!detail.contains("127.0.0.1"), "{detail}");
}

#[tokio::test]
async fn d7_a_failed_tls_handshake_means_that_nothing_left() {
    let server = raw(vec![write("HTTP/1.1 400 Bad Request\r\n\r\n")]).await;
    let url = server.url().replace("http://", "https://");
    let end = client().fetch(get(&url), LIMITS, 0).await;
    assert!(is_not_sent(&end), "{end:?}");
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn d7_a_connection_that_takes_too_long_means_that_nothing_left() {
    // TCP is there at once; TLS never is.
    let server = raw(vec![RawAct::Hold]).await;
    let url = server.url().replace("http://", "https://");
    let config = HttpClientConfig {
        connect_timeout: Duration::from_millis(100),
        ..HttpClientConfig::default()
    };
    let end = HttpClient::new(&config).unwrap().fetch(get(&url), LIMITS, 0).await;
    assert!(is_not_sent(&end), "{end:?}");

    let end = client().fetch(get(&url), SHORT, 0).await;
    assert!(is_not_sent(&end), "the total time-out comes first: {end:?}");
}

#[tokio::test]
async fn d7_after_connecting_every_end_without_an_answer_is_in_doubt() {
    let half = "HTTP/1.1 200 OK\r\ncontent-le";
    for (acts, limits) in [
        (vec![RawAct::ReadHead, RawAct::Reset], LIMITS),
        (vec![RawAct::ReadRequest, RawAct::Reset], LIMITS),
        (vec![RawAct::ReadRequest], LIMITS),
        (vec![RawAct::ReadRequest, write(half)], LIMITS),
        (vec![RawAct::ReadRequest, write("nonsense\r\n\r\n")], LIMITS),
        (vec![RawAct::Hold], SHORT),
        (vec![RawAct::ReadRequest, write(half), RawAct::Hold], SHORT),
    ] {
        let end = end(acts.clone(), limits).await;
        assert!(is_maybe_sent(&end), "{acts:?}: {end:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_body_is_told() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let first = || vec![RawAct::ReadRequest];
    let with = |act| [first(), vec![act]].concat();

    let whole = with(RawAct::respond("200 OK", "", "12345"));
    assert_eq!(end(whole, LIMITS).await, Ok(BodyEnd::Whole));
    let cut = end(with(write(head)), LIMITS).await;
    assert!(matches!(cut, Ok(BodyEnd::Cut(_))), "{cut:?}");
    let silent = [with(write(head)), vec![RawAct::Hold]].concat();
    assert_eq!(end(silent, SHORT).await, Ok(BodyEnd::TimedOut));
    let endless = vec![
        RawAct::ReadRequest,
        write(chunked),
        RawAct::WriteForever(format!("1000\r\n{}\r\n", "x".repeat(0x1000)).into_bytes()),
    ];
    assert_eq!(end(endless, LIMITS).await, Ok(BodyEnd::TooLarge));
}

#[tokio::test]
async fn what_is_kept_is_the_beginning_and_the_rest_is_drained() {
    let big = "abc".repeat(100_000);
    let answer = RawAct::respond("500 Oops", "", &big);
    let twice = vec![RawAct::ReadRequest, answer.clone(), RawAct::ReadRequest, answer];
    let server = raw(twice).await;
    let client = client();
    for _ in 0..2 {
        let response = client.fetch(get(&server.url()), LIMITS, 5).await.unwrap();
        assert_eq!(response.status, 500);
        assert_eq!(response.body, Bytes::from_static(b"abcab"));
        assert_eq!(response.end, BodyEnd::Whole);
    }
    assert_eq!(server.accepted(), 1, "the connection is reused");
}

#[tokio::test]
async fn connections_are_reused_also_after_errors() {
    let receiver = Receiver::start(ReceiverConfig::default()).await.unwrap();
    let client = client();
    for path in ["/health", "/nowhere", "/v1/models", "/health"] {
        let url = format!("{}{path}", receiver.url());
        client.fetch(get(&url), LIMITS, 1000).await.unwrap();
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_request_carries_its_length_and_no_origin() {
    let server = raw(vec![RawAct::ReadRequest, RawAct::respond("200 OK", "", "")]).await;
    let request = request(Method::POST, &server.url(), &[("origin", "http://evil")], "body");
    client().fetch(request, LIMITS, 0).await.unwrap();
    let sent = server.requests().remove(0).to_lowercase();
    assert!(sent.contains("content-length: 4\r\n"), "{sent}");
    assert!(!sent.contains("origin"), "{sent}");
    assert!(sent.contains("user-agent: kanban-gateway/"), "{sent}");
    assert!(sent.ends_with("\r\n\r\nbody"));
}

/// Servers that close a kept connection at any moment: "nothing left" is never said of a request
/// that was read, and no request is read twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d7_a_pooled_connection_that_closes_never_hides_or_repeats_a_request() {
    let answer = RawAct::respond("200 OK", "", "ok");
    let plays = (0..400).map(|n| match n % 5 {
        0 => vec![RawAct::ReadRequest, answer.clone()],
        1 => vec![RawAct::ReadRequest, answer.clone(), RawAct::Reset],
        2 => vec![RawAct::Reset],
        3 => vec![RawAct::ReadRequest, answer.clone(), RawAct::ReadRequest],
        _ => Vec::new(),
    });
    let server = RawServer::start(plays.collect()).await.unwrap();
    let client = client();
    let mut not_sent = HashSet::new();
    let mut answered = 0;
    for n in 0..200 {
        let url = format!("{}/{n}/", server.url());
        match client.fetch(get(&url), LIMITS, 10).await {
            Ok(_) => answered += 1,
            Err(NoAnswer::NotSent(_) | NoAnswer::NotAllowed(_)) => {
                not_sent.insert(n.to_string());
            }
            Err(NoAnswer::MaybeSent(_)) => {}
        }
    }
    let read = server.requests();
    let read: Vec<&str> = read.iter().filter_map(|request| request.split('/').nth(1)).collect();
    let distinct: HashSet<&str> = read.iter().copied().collect();
    assert_eq!(distinct.len(), read.len(), "a request was read twice");
    assert!(!read.iter().any(|n| not_sent.contains(*n)));
    assert!(answered >= 40, "{answered}");
}
