//! python-telegram-bot against our stand-in for the Bot API.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, telegram};
use serde_json::{Value, json};

use crate::support::counterpart::{python, told};

const TOKEN: &str = "123456:FAKE-token_for_tests";

fn refuses(code: u16, description: &str, parameters: Value) -> PushAct {
    let body = json!({"ok": false, "error_code": code, "description": description,
        "parameters": parameters});
    PushAct::Answer(PushAnswer::new(code, body.to_string()))
}

/// What the library made of the answers to these calls; the first one is to its own question who it is.
async fn calls(server: &PushServer, token: &str, calls: Value) -> Option<Vec<Value>> {
    let home = tempfile::tempdir().unwrap();
    let arguments = [&*server.url(), token, &calls.to_string()];
    Some(told(&python()?, include_str!("telegram_client.py"), &arguments, home.path()).await)
}

#[tokio::test]
async fn what_the_library_sends_is_accepted_and_what_is_wrong_is_refused_in_words_it_knows() {
    let server = PushServer::start(telegram(TOKEN)).await.unwrap();
    let bold = json!([{"type": "bold", "offset": 0, "length": 5}]);
    let wide = json!([{"type": "bold", "offset": 4, "length": 5}]);
    let messages = json!([
        {"chat_id": -1001, "text": "Build + \u{1f600} & 50%", "message_thread_id": 77, "entities": bold},
        {"chat_id": "@team", "text": "a".repeat(4_096)},
        {"chat_id": "nobody", "text": "x"},
        {"chat_id": 1, "text": "x", "message_thread_id": 1},
        {"chat_id": 1, "text": "a".repeat(4_097)},
        {"chat_id": 1, "text": " "},
        {"chat_id": 1, "text": "short", "entities": wide},
    ]);
    let Some(told) = calls(&server, TOKEN, messages).await else { return };
    assert!(told[0].get("raised").is_none(), "{told:?}");
    assert_eq!(told[1], json!({"sent": 7, "text": "Build + \u{1f600} & 50%"}));
    assert_eq!(told[2]["sent"], 7);
    for (told, words) in told[3..].iter().zip([
        "Chat not found",
        "Message thread not found",
        "Message is too long",
        "Message text is empty",
        "Can't parse entities: one is not in the text",
    ]) {
        assert_eq!(*told, json!({"raised": "BadRequest", "words": words}));
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(
        (seen[0].chat.as_str(), seen[0].thread.as_str(), seen[0].rich),
        ("-1001", "77", true)
    );
    assert_eq!(
        (seen[1].chat.as_str(), seen[1].thread.as_str(), seen[1].rich),
        ("@team", "", false)
    );
}

#[tokio::test]
async fn each_refusal_is_the_error_that_the_library_has_for_it() {
    let server = PushServer::start(telegram(TOKEN)).await.unwrap();
    let blocked = "Forbidden: bot was blocked by the user";
    let upgraded = "Bad Request: group chat was upgraded to a supergroup chat";
    server.play([
        PushAct::Honest,
        refuses(429, "Too Many Requests: retry after 30", json!({"retry_after": 30})),
        refuses(403, blocked, json!({})),
        refuses(400, upgraded, json!({"migrate_to_chat_id": -1_002_000_000_001_i64})),
        refuses(400, "Bad Request: chat not found", json!({})),
        refuses(401, "Unauthorized: invalid token specified", json!({})),
        refuses(500, "Internal Server Error: restart", json!({})),
        PushAct::Answer(PushAnswer::new(502, "<html>bad gateway</html>")),
        PushAct::Lose,
    ]);
    let message = json!({"chat_id": 1, "text": "x"});
    let Some(told) = calls(&server, TOKEN, json!(vec![message; 9])).await else { return };
    let raised: Vec<&str> =
        told[1..].iter().map(|told| told["raised"].as_str().unwrap_or("")).collect();
    assert_eq!(
        raised,
        [
            "RetryAfter",
            "Forbidden",
            "ChatMigrated",
            "BadRequest",
            "InvalidToken",
            "NetworkError",
            "NetworkError",
            "NetworkError",
            ""
        ],
        "{told:?}"
    );
    assert_eq!(told[1]["retry_after"], 30);
    assert_eq!(told[2]["words"], blocked);
    assert_eq!(told[3]["new_chat_id"], -1_002_000_000_001_i64);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_token_of_nobody_is_one_for_the_library_too() {
    let server = PushServer::start(telegram(TOKEN)).await.unwrap();
    let message = json!([{"chat_id": 1, "text": "x"}]);
    let Some(told) = calls(&server, "1:FAKE-wrong", message).await else { return };
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|told| told["raised"] == "InvalidToken"), "{told:?}");
    assert!(server.seen().is_empty());
}
