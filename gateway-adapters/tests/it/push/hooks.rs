//! Several webhooks of one platform, over one that has no rules of its own: WeCom's.

use std::sync::Arc;

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform},
    receiver::push::{Heard, Platform, PushAct, PushAnswer, PushMessage, PushServer},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::Channel,
    verdict::Verdict,
};

/// Bots whose keys begin with `key-`; the chat of a message is the key it came by.
fn bots() -> Platform {
    Box::new(|heard: &Heard| {
        let (_, query) = heard.target();
        let key = query.first().map(|(_, key)| key.clone()).unwrap_or_default();
        if !key.starts_with("key-") {
            let body = r#"{"errcode":93000,"errmsg":"invalid webhook url"}"#;
            return (PushAnswer::new(200, body), None);
        }
        if heard.body.len() < 5 {
            return (PushAnswer::new(200, r#"{"errcode":44004,"errmsg":"empty content"}"#), None);
        }
        let message = PushMessage { chat: key, ..PushMessage::default() };
        (PushAnswer::new(200, r#"{"errcode":0,"errmsg":"ok"}"#), Some(message))
    })
}

fn settings(url: &str) -> Settings {
    let mut settings = Settings::default();
    settings.set(&platform("wecom_webhook").unwrap().fields[0], url);
    settings
}

fn channel(url: &str) -> Result<Arc<dyn Channel>, String> {
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    let made = (platform("wecom_webhook").unwrap().make)(client, &settings(url));
    made.map_err(|error| format!("{error} {error:?}"))
}

async fn sent(channel: &dyn Channel, chat: &str) -> Verdict {
    let to = Destination::Chat {
        channel: ChannelName("wecom_webhook".into()),
        chat: chat.into(),
        thread: String::new(),
    };
    let message = Message { spans: vec![Span::quoted("x")], ..Message::default() };
    let body = channel.encode(&to, &message);
    channel.send(&Parcel::new(to, "k".into(), body)).await
}

async fn server() -> (PushServer, String) {
    let server = PushServer::start(bots()).await.unwrap();
    let at = format!("{}/send?key=", server.url());
    (server, at)
}

#[tokio::test]
async fn each_chat_has_its_webhook_and_others_the_one_without_a_name() {
    let (server, at) = server().await;
    let both = channel(&format!("ops={at}key-ops, ci={at}key-ci,{at}key-all")).unwrap();
    for chat in ["ops", "ci", "anything"] {
        assert_eq!(sent(&*both, chat).await.name(), "delivered", "{chat}");
    }
    let chats: Vec<String> = server.seen().into_iter().map(|one| one.chat).collect();
    assert_eq!(chats, ["key-ops", "key-ci", "key-all"]);
    let named = channel(&format!("ops={at}key-ops")).unwrap();
    let lost = sent(&*named, "ci").await;
    assert_eq!(lost.name(), "target");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn the_limit_of_a_webhook_is_for_all_of_its_chats_and_no_other() {
    let (server, at) = server().await;
    let both = channel(&format!("ops={at}key-ops,{at}key-all")).unwrap();
    let body = r#"{"errcode":45009,"errmsg":"api freq out of limit"}"#;
    server.play([PushAct::Answer(PushAnswer::new(200, body))]);
    for (chat, verdict) in [("a", "busy"), ("b", "busy"), ("ops", "delivered")] {
        assert_eq!(sent(&*both, chat).await.name(), verdict, "{chat}");
    }
    assert_eq!(server.requests().len(), 2, "one of them was not asked again");
}

#[tokio::test]
async fn a_refused_one_of_several_is_named_and_does_not_pause_the_others() {
    let (_server, at) = server().await;
    let wrong = format!("{at}FAKE-wrong-key-0123456789");
    let both = channel(&format!("ops={at}key-ops,ci={wrong}")).unwrap();
    // A refused credential would pause the whole channel.
    let refused = sent(&*both, "ci").await;
    assert_eq!(refused.name(), "target");
    assert!(refused.detail().contains("the webhook ci"), "{refused:?}");
    assert!(!format!("{refused:?}").contains("FAKE"), "{refused:?}");
    assert_eq!(sent(&*both, "ops").await.name(), "delivered", "the others go on");
    let one = channel(&format!("ci={wrong}")).unwrap();
    for verdict in [sent(&*one, "ci").await, one.probe().await] {
        assert_eq!(verdict.name(), "credential", "there is nobody else to be paused");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_is_the_matter_of_its_webhook_where_others_have_another() {
    let (_server, at) = server().await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}/send?key=", port.local_addr().unwrap());
    drop(port);
    // A channel that cannot be reached rests.
    let both = channel(&format!("ops={at}key-ops,ci={gone}key-ci")).unwrap();
    assert_eq!(sent(&*both, "ci").await.name(), "retryable");
    assert_eq!(sent(&*both, "ops").await.name(), "delivered");
    let same = channel(&format!("ops={gone}key-ops,ci={gone}key-ci")).unwrap();
    assert_eq!(sent(&*same, "ci").await.name(), "unreachable");
}

#[tokio::test]
async fn report_108_a_key_that_is_repeated_without_its_escapes_is_masked() {
    let (server, at) = server().await;
    let one = channel(&format!("{at}ab%2BFAKE-key-0123456789")).unwrap();
    let body = r#"{"errcode":93000,"errmsg":"no ab+FAKE-key-0123456789 here"}"#;
    server.play([PushAct::Answer(PushAnswer::new(200, body))]);
    let verdict = sent(&*one, "a").await;
    assert_eq!(verdict.name(), "credential");
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
}

#[test]
fn report_108_what_is_no_address_is_refused_without_repeating_it() {
    for url in [
        "FAKE",
        "ops=FAKE",
        "ops=ftp://h/FAKE",
        "https://u:FAKE@h/x",
        "ops=https://h/FAKE,ops=https://h/FAKE2",
        "https://h/FAKE,https://h/FAKE2",
        "o p s=https://h/FAKE",
        "https://h/x#FAKE",
    ] {
        let error = channel(url).err().unwrap();
        assert!(!error.contains("FAKE"), "{error}");
    }
    assert!(!format!("{:?}", settings("ops=https://h/FAKE")).contains("FAKE"));
}
