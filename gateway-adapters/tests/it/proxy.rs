//! Requests through a proxy: what it is told, what becomes of its faults, and who goes past it.

use std::time::Duration;

use gateway_adapters::{
    http::{Guard, HttpClient, HttpClientConfig, NoAnswer, Proxies},
    receiver::{RawAct, RawServer, Receiver, ReceiverConfig},
};
use http::Method;

use crate::support::{LIMITS, get, nobody, request};

const PASSWORD: &str = "pw-83b1e0";
/// `walker` and the password.
const TOLD: &str = "Basic d2Fsa2VyOnB3LTgzYjFlMA==";

/// A client whose proxy for everything is at this base address.
fn through(base: &str, connect: Duration) -> HttpClient {
    let proxy = base.replace("http://", &format!("http://walker:{PASSWORD}@"));
    let proxies = Proxies::new(|name| (name == "ALL_PROXY").then_some(proxy.as_str())).unwrap();
    let config = HttpClientConfig { connect_timeout: connect, ..HttpClientConfig::default() };
    HttpClient::new(&config).unwrap().through(proxies)
}

fn patient(base: &str) -> HttpClient {
    through(base, Duration::from_secs(10))
}

async fn receiver() -> Receiver {
    Receiver::start(ReceiverConfig::default()).await.unwrap()
}

#[tokio::test]
async fn report_142_a_plain_request_is_handed_on_by_its_whole_address() {
    let receiver = receiver().await;
    let acts = vec![vec![RawAct::Pass]];
    let proxy = RawServer::in_front_of(receiver.addr(), acts.clone(), acts).await.unwrap();
    let client = patient(&proxy.url());
    let answer = client.fetch(get("http://chat.example:81/health"), LIMITS, 100).await.unwrap();
    assert_eq!(answer.status, 200);
    let asked = proxy.requests();
    assert!(asked[0].starts_with("GET http://chat.example:81/health HTTP/1.1\r\n"), "{asked:?}");
    assert_eq!(RawServer::header(&asked[0], "proxy-authorization"), Some(TOLD));
}

#[tokio::test]
async fn report_142_this_machine_is_called_past_a_proxy_that_is_not_there() {
    let receiver = receiver().await;
    let client = patient(&nobody());
    let answer = client.fetch(get(&format!("{}/health", receiver.url())), LIMITS, 0).await;
    assert_eq!(answer.unwrap().status, 200);
    let lost = client.fetch(get("https://chat.example"), LIMITS, 0).await.unwrap_err();
    let told = lost.detail().as_str();
    assert!(
        matches!(lost, NoAnswer::NotSent(_)) && told.contains("the proxy 127.0.0.1:"),
        "{told}"
    );
    assert!(!told.contains(PASSWORD), "{told}");
}

#[tokio::test]
async fn report_142_d7_a_proxy_that_opens_no_tunnel_means_that_nothing_left() {
    let refuses = |status: &str| {
        let body = format!("{PASSWORD} {TOLD}");
        vec![RawAct::ReadHead, RawAct::respond(status, "", &body)]
    };
    for (acts, told) in [
        (refuses("407 Proxy Authentication Required"), "proxy authorization required"),
        (refuses("502 Bad Gateway"), "unsuccessful"),
        (vec![RawAct::ReadHead], "unexpected end of file"),
        (vec![RawAct::ReadHead, RawAct::Reset], "tunnel"),
        (vec![RawAct::ReadHead, RawAct::Write(b"nonsense\r\n\r\n".to_vec())], "unsuccessful"),
        (vec![RawAct::ReadHead, RawAct::WriteForever(b"x".repeat(4_096))], "unsuccessful"),
    ] {
        let proxy = RawServer::start(vec![acts]).await.unwrap();
        let post = request(Method::POST, "https://chat.example/bot1:FAKE/send", &[], "body");
        let lost = patient(&proxy.url()).fetch(post, LIMITS, 0).await.unwrap_err();
        let said = lost.detail().as_str();
        assert!(matches!(lost, NoAnswer::NotSent(_)) && said.contains(told), "{told}: {said}");
        assert!(said.contains("the proxy 127.0.0.1:"), "{said}");
        for secret in [PASSWORD, TOLD, "FAKE"] {
            assert!(!said.contains(secret), "{said}");
        }
        let asked = proxy.requests();
        assert!(asked[0].starts_with("CONNECT chat.example:443 HTTP/1.1\r\n"), "{asked:?}");
        assert_eq!(RawServer::header(&asked[0], "proxy-authorization"), Some(TOLD));
        assert!(!asked[0].contains("FAKE"));
    }
}

#[tokio::test]
async fn report_142_a_proxy_that_hangs_ends_at_the_limit_for_connecting() {
    for acts in [vec![RawAct::Hold], vec![RawAct::ReadHead, RawAct::Hold]] {
        let proxy = RawServer::start(vec![acts]).await.unwrap();
        let hasty = through(&proxy.url(), Duration::from_millis(100));
        let lost = hasty.fetch(get("https://chat.example"), LIMITS, 0).await.unwrap_err();
        assert!(matches!(&lost, NoAnswer::NotSent(_)), "{lost:?}");
        let said = lost.detail().as_str();
        assert!(
            said.contains("took too long") && said.starts_with("the proxy 127.0.0.1:"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn report_142_d7_a_proxy_that_wants_a_login_for_a_plain_request_says_so() {
    let acts = vec![RawAct::ReadHead, RawAct::respond("407 Proxy Authentication Required", "", "")];
    let proxy = RawServer::start(vec![acts]).await.unwrap();
    let lost =
        patient(&proxy.url()).fetch(get("http://chat.example"), LIMITS, 0).await.unwrap_err();
    let said = lost.detail().as_str();
    assert!(
        matches!(lost, NoAnswer::NotSent(_)) && said.contains("the proxy 127.0.0.1:"),
        "{said}"
    );
    assert!(said.contains("proxy authorization required"), "{said}");
}

#[tokio::test]
async fn report_142_report_97_what_is_guarded_goes_through_no_proxy() {
    let proxy = RawServer::start(vec![vec![RawAct::ReadHead]]).await.unwrap();
    let guarded = patient(&proxy.url()).guarded(Guard::new("", "x.allow_private").unwrap());
    for to in ["https://hook.invalid", "http://hook.invalid"] {
        let lost = guarded.fetch(get(to), LIMITS, 0).await.unwrap_err();
        assert!(!lost.detail().as_str().contains("proxy"), "{lost:?}");
    }
    let blocked = guarded.fetch(get("http://10.0.0.1"), LIMITS, 0).await;
    assert!(matches!(blocked, Err(NoAnswer::NotAllowed(_))), "{blocked:?}");
    assert_eq!(proxy.accepted(), 0);
}
