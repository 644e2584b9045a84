//! One message to a real chat of each platform, for a person with accounts: off by default.

use std::collections::BTreeMap;

use gateway_adapters::{
    push::PLATFORMS,
    receiver::push::{PushServer, ntfy, telegram},
};
use gateway_bin::{Gateway, Options, config, config::Env};

use crate::support::{wait::eventually, world::World};

/// `KANBAN_GATEWAY_LIVE_TELEGRAM=-1001` names the chat to write to; what is not named is not tried.
const CHAT: &str = "KANBAN_GATEWAY_LIVE_";
/// A file with Hermes' variables, where they are not in the environment.
const DOTENV: &str = "KANBAN_GATEWAY_LIVE_ENV";

/// What became of the message to each platform that the variables name a chat for.
async fn told(variables: &BTreeMap<String, String>) -> BTreeMap<&'static str, Result<(), String>> {
    let mut told = BTreeMap::new();
    for platform in PLATFORMS {
        if let Some(chat) = variables.get(&format!("{CHAT}{}", platform.name.to_uppercase())) {
            told.insert(platform.name, one(variables, platform.name, chat).await);
        }
    }
    told
}

/// A board of its own, and the settings as the product itself reads them.
async fn one(variables: &BTreeMap<String, String>, name: &str, chat: &str) -> Result<(), String> {
    let world = World::new().await;
    if let Some(dotenv) = variables.get(DOTENV) {
        std::os::unix::fs::symlink(dotenv, world.hermes().join(".env")).unwrap();
    }
    let mut env = world.variables();
    let is_ours =
        |key: &String| !key.starts_with(CHAT) && !["HOME", "HERMES_HOME"].contains(&&**key);
    for (key, value) in variables.iter().filter(|(key, _)| is_ours(key)) {
        env.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let env: Env = env.into_iter().collect();
    let config = config::load(None, &env).unwrap().config;
    let task = world.cards.task("A live test of kanban-gateway");
    let row = world.cards.subscribe(&task, name, chat);
    let running = Gateway::build(config, env, Options::default()).unwrap().start();
    let event = world.cards.complete(&task, "one message, * _ < & \u{1f600} \u{65e5}\u{672c}");
    let outcome = eventually("an outcome", || {
        let pause = world.operator().pauses().unwrap().into_iter().next();
        let settled = || (world.cards.cursor(&row) >= event).then_some(Ok(()));
        pause.map(|pause| Err(pause.reason)).or_else(settled)
    })
    .await;
    running.stop().await.unwrap();
    outcome?;
    let legs = world.operator().counts().unwrap().legs;
    match legs.get("delivered") {
        Some(1) => Ok(()),
        _ => Err(format!("{legs:?}")),
    }
}

#[tokio::test]
#[ignore = "writes to real chats; CONTRIBUTING.md says how to name them"]
async fn each_platform_with_a_chat_accepts_one_message() {
    let told = told(&std::env::vars().collect()).await;
    for (name, outcome) in &told {
        eprintln!("{name}: {}", outcome.as_ref().err().map_or("delivered", String::as_str));
    }
    assert!(!told.is_empty(), "no variable {CHAT}<PLATFORM> names a chat");
    assert!(told.values().all(Result::is_ok), "{told:?}");
}

/// The set itself, over stand-ins: it is run by hand only, and must work then.
#[tokio::test]
async fn the_set_tells_what_was_delivered_and_what_was_refused() {
    let good = PushServer::start(telegram("123456:FAKE")).await.unwrap();
    let bad = PushServer::start(ntfy("Bearer tk_FAKEother")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dotenv = folder.path().join("theirs");
    std::fs::write(&dotenv, "TELEGRAM_BOT_TOKEN=123456:FAKE\nNTFY_TOKEN=tk_FAKE\n").unwrap();
    let variables = [
        (DOTENV, dotenv.to_str().unwrap()),
        ("KANBAN_GATEWAY_LIVE_TELEGRAM", "-1001"),
        ("KANBAN_GATEWAY_LIVE_NTFY", "kanban"),
        ("KANBAN_GATEWAY_TELEGRAM__URL", &good.url()),
        ("NTFY_SERVER_URL", &bad.url()),
    ];
    let told = told(&variables.map(|(key, value)| (key.to_owned(), value.to_owned())).into()).await;
    assert_eq!(told["telegram"], Ok(()));
    let refused = told["ntfy"].clone().unwrap_err();
    assert!(refused.contains("401") && !refused.contains("FAKE"), "{refused}");
    assert_eq!((told.len(), good.seen().len(), bad.seen().len()), (2, 1, 0));
}
