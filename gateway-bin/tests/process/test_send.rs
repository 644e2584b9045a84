//! `test-send`: one message through the very channel, and nothing else.

use gateway_adapters::receiver::{
    RawAct, RawServer,
    push::{PushAct, PushAnswer, PushServer, telegram},
};
use serde_json::{Value, json};

use crate::{
    process::{command, output, printed},
    support::world::World,
};

const TOKEN: &str = "123456:FAKE-token_for_tests";

async fn world(platform: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("telegram.token", TOKEN);
    world.set("telegram.url", &platform.url());
    world
}

fn refusal(code: u16, words: &str) -> PushAct {
    let body = json!({"ok": false, "error_code": code, "description": words});
    PushAct::Answer(PushAnswer::new(code, body.to_string()))
}

#[tokio::test]
async fn one_message_arrives_and_nothing_else_is_touched() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    let before = std::fs::read(world.cards.path()).unwrap();
    let said =
        printed(&world, &["test-send", "telegram", "--chat", "-1001", "--thread", "77"], 0).await;
    let seen = platform.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].chat.as_str(), seen[0].thread.as_str()), ("-1001", "77"));
    assert!(seen[0].text.starts_with("test message from kanban-gateway, 20"), "{:?}", seen[0]);
    for part in ["Sending one message to -1001", "Delivered to telegram -1001 #77.", "message "] {
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
    assert!(!said.contains("FAKE"), "{said}");
    assert_eq!(std::fs::read(world.cards.path()).unwrap(), before);
    assert!(!world.ledger().exists(), "no ledger is made");
}

#[tokio::test]
async fn each_end_says_what_to_do_and_has_its_exit_code() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    for (act, code, parts) in [
        (
            refusal(401, &format!("Unauthorized {TOKEN}")),
            1,
            &[
                "Not delivered",
                "credential",
                "`telegram.token` in",
                "restart `run`",
                "put the right one",
            ][..],
        ),
        (refusal(403, "Forbidden: bot was blocked"), 1, &["target", "is a member of it"]),
        (refusal(400, "Bad Request: message thread not found"), 1, &["thread", "thread_fallback"]),
        (refusal(429, "Too Many Requests"), 1, &["busy", "`run` does so by itself"]),
        (PushAct::Swallow, 3, &["Nobody knows whether it reached", "look into the chat"]),
    ] {
        platform.play([act]);
        let said = printed(&world, &["test-send", "telegram", "--chat", "1"], code).await;
        for part in parts {
            assert!(said.contains(part), "{part:?} is missing in: {said}");
        }
        assert!(!said.contains("FAKE"), "{said}");
    }
    let moved = json!({"ok": false, "error_code": 400, "description": "group chat was upgraded",
        "parameters": {"migrate_to_chat_id": -1_002_i64}});
    platform.play([PushAct::Answer(PushAnswer::new(400, moved.to_string()))]);
    let said = output(&world, &["test-send", "telegram", "--chat", "-1", "--json"]).await;
    let sent: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((&sent["delivered"], &sent["chat"]), (&true.into(), &"-1002".into()), "{sent}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_leaves() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    for (arguments, part) in [
        (&["telegram", "--chat", "me"][..], "no number, such as 42"),
        (&["telegrm", "--chat", "1"], "no platform `telegrm`; did you mean `telegram`?"),
        (&["ntfy", "--chat", "topic"], "set `ntfy.topic` or `ntfy.token` or `ntfy.url` in"),
        (&["console", "--chat", "me"], "set `console.enabled`"),
        (&["api_server", "--chat", "s"], "is a turn of its agent, with its cost"),
        (
            &["api_server", "--chat", "s", "--yes", "--profile", "ghost"],
            "no channel api_server/ghost",
        ),
        (&["telegram", "--chat", "1", "--profile", "work"], "--profile goes with `api_server`"),
        (&["api_server", "--chat", "s", "--yes", "--thread", "7"], "a session has no threads"),
        (&["telegram"], "--chat"),
    ] {
        let arguments: Vec<&str> =
            ["test-send"].into_iter().chain(arguments.iter().copied()).collect();
        let said = printed(&world, &arguments, 2).await;
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
    assert!(platform.requests().is_empty() && world.receiver.wakes().is_empty());
}

#[tokio::test]
async fn a_session_has_its_turn_where_that_is_wanted_and_the_console_its_line() {
    let mut world = World::new().await;
    let said =
        printed(&world, &["test-send", "api_server", "--chat", "sess-abc", "--yes"], 0).await;
    assert!(said.contains("which is a turn of its agent") && said.contains("Delivered"), "{said}");
    let wake = world.next_wake().await;
    assert_eq!(wake.session(), Some("sess-abc"));
    world.set("console.enabled", "true");
    let said = command(&world, &["test-send", "console", "--chat", "me"]).output().await.unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("\"platform\":\"console\"") && said.contains("Delivered to"), "{said}");
}

#[tokio::test]
async fn an_address_that_is_not_public_is_no_matter_of_members_or_dead_letters() {
    let mut world = World::new().await;
    world.set("signed_webhook.targets", "ops=http://127.0.0.1:9/x");
    world.set("signed_webhook.secret", "FAKE-secret-of-twenty-four-and-more");
    let said = printed(&world, &["test-send", "signed_webhook", "--chat", "ops"], 1).await;
    for part in ["`signed_webhook.allow_private` can allow it", "allow the address there"] {
        assert!(said.contains(part), "{part:?} is missing in: {said}");
    }
    assert!(!said.contains("dead retry") && !said.contains("member"), "{said}");
}

#[tokio::test]
async fn a_proxy_that_wants_a_login_is_told_with_the_variable_that_holds_it() {
    let acts = |status: &str| vec![RawAct::ReadHead, RawAct::respond(status, "", "")];
    for (status, next) in [
        ("407 Proxy Authentication Required", "the right name and password into HTTPS_PROXY"),
        ("502 Bad Gateway", "whether its address in HTTPS_PROXY"),
    ] {
        let proxy = RawServer::start(vec![acts(status)]).await.unwrap();
        let mut world = World::new().await;
        world.set("ntfy.url", "https://ntfy.example");
        let mut send = command(&world, &["test-send", "ntfy", "--chat", "topic"]);
        send.env("HTTPS_PROXY", proxy.url());
        let said = String::from_utf8(send.output().await.unwrap().stdout).unwrap();
        assert!(said.contains("the proxy 127.0.0.1:") && said.contains(next), "{said}");
    }
}
