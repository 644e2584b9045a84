//! discord.py against our stand-ins for Discord's API and for a webhook.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, discord, discord_webhook};
use serde_json::{Value, json};

use crate::support::counterpart::{python, told};

const TOKEN: &str = "MTIz.FAKE-token_for.tests";

async fn api() -> PushServer {
    PushServer::start(discord(TOKEN, &[("100", &["777"])])).await.unwrap()
}

/// What the library made of the answers to these messages; a bot logs in first.
///
/// Without a token each message names its webhook.
async fn calls(server: &PushServer, token: &str, calls: Value) -> Option<Vec<Value>> {
    let home = tempfile::tempdir().unwrap();
    let arguments = [&*server.url(), token, &calls.to_string()];
    Some(told(&python()?, include_str!("discord_client.py"), &arguments, home.path()).await)
}

fn refuses(status: u16, code: u32) -> PushAct {
    let body = json!({"message": "as Discord says", "code": code}).to_string();
    PushAct::Answer(PushAnswer::new(status, body).with("content-type", "application/json"))
}

/// Without a word of its own proxy, the library takes a 429 for a ban.
fn limits(seconds: f64) -> PushAct {
    let body =
        json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false});
    let answer = PushAnswer::new(429, body.to_string());
    PushAct::Answer(answer.with("content-type", "application/json").with("via", "1.1 google"))
}

#[tokio::test]
async fn what_the_library_sends_is_accepted_and_what_is_wrong_is_refused_by_codes_it_knows() {
    let server = api().await;
    let messages = json!([
        {"channel": 100, "content": "Build \\<b\\> \u{1f600}", "nonce": "kgw-1"},
        {"channel": 777, "content": "in a thread"},
        {"channel": 9, "content": "x"},
        {"channel": 100, "content": " "},
        {"channel": 100, "content": "a".repeat(2_001)},
    ]);
    let Some(told) = calls(&server, TOKEN, messages).await else { return };
    assert!(told[0].get("raised").is_none(), "{told:?}");
    assert_eq!(
        told[1],
        json!({"sent": "Build <b> \u{1f600}", "id": 1_100_000_000_000_000_000_u64})
    );
    assert_eq!(told[2]["sent"], "in a thread");
    for (told, (kind, status, code)) in told[3..].iter().zip([
        ("NotFound", 404, 10_003),
        ("HTTPException", 400, 50_006),
        ("HTTPException", 400, 50_035),
    ]) {
        assert_eq!(
            (&told["raised"], &told["status"], &told["code"]),
            (&json!(kind), &json!(status), &json!(code))
        );
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(
        (seen[0].chat.as_str(), seen[0].thread.as_str(), seen[0].key.as_str()),
        ("100", "", "kgw-1")
    );
    assert_eq!((seen[1].chat.as_str(), seen[1].thread.as_str()), ("100", "777"));
}

#[tokio::test]
async fn each_refusal_is_the_error_that_the_library_has_for_it_and_a_short_limit_is_waited_for() {
    let server = api().await;
    // Its login asks twice.
    server.play([
        PushAct::Honest,
        PushAct::Honest,
        limits(1_000.5),
        refuses(403, 50_013),
        refuses(404, 10_003),
        refuses(400, 50_035),
        refuses(401, 0),
        limits(0.25),
    ]);
    let message = json!({"channel": 100, "content": "x"});
    let Some(told) = calls(&server, TOKEN, json!(vec![message; 6])).await else { return };
    assert_eq!(told[1], json!({"raised": "RateLimited", "retry_after": 1_000.5}), "{told:?}");
    for (told, (kind, status, code)) in told[2..6].iter().zip([
        ("Forbidden", 403, 50_013),
        ("NotFound", 404, 10_003),
        ("HTTPException", 400, 50_035),
        ("HTTPException", 401, 0),
    ]) {
        let words = "as Discord says";
        assert_eq!(*told, json!({"raised": kind, "status": status, "code": code, "words": words}));
    }
    assert_eq!(told[6]["sent"], "x");
    assert_eq!((server.seen().len(), server.requests().len()), (1, 9));
}

#[tokio::test]
async fn a_token_of_nobody_is_one_for_the_library_too() {
    let server = api().await;
    let Some(told) = calls(&server, "MTIz.FAKE-wrong.x", json!([])).await else { return };
    assert_eq!(told, [json!({"raised": "LoginFailure"})]);
}

#[tokio::test]
async fn a_webhook_is_written_to_as_the_library_does_it() {
    let server = PushServer::start(discord_webhook("FAKEhook", &["777"])).await.unwrap();
    server.play([PushAct::Honest, PushAct::Honest, limits(0.25)]);
    let to = |hook: u64, token: &str| json!({"hook": hook, "token": token, "content": "Build"});
    let mut threaded = to(200, "FAKEhook");
    threaded["thread"] = 777.into();
    let messages =
        json!([to(200, "FAKEhook"), threaded, to(200, "FAKEhook"), to(201, "x"), to(200, "no")]);
    let Some(told) = calls(&server, "", messages).await else { return };
    assert!(told[..3].iter().all(|told| told["sent"] == "Build"), "{told:?}");
    assert_eq!((&told[3]["raised"], &told[3]["code"]), (&json!("NotFound"), &json!(10_015)));
    assert_eq!((&told[4]["raised"], &told[4]["code"]), (&json!("HTTPException"), &json!(50_027)));
    let threads: Vec<String> = server.seen().into_iter().map(|message| message.thread).collect();
    assert_eq!(threads, ["", "777", ""]);
}
