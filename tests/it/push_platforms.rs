//! Push platforms through the whole stack, set up by variables in Hermes' own file: every message once, in order.

use gateway_adapters::receiver::push::{
    Platform, PushAct, PushAnswer, PushServer, gotify, homeassistant, pushover,
};

use crate::support::world::World;

struct Case {
    name: &'static str,
    server: fn() -> Platform,
    /// The file; `{url}` is where the server is, which our own configuration says where no variable does.
    dotenv: &'static str,
    chat: &'static str,
    /// What must be nowhere in the ledger.
    secret: &'static str,
}

/// Three tasks are completed while the platform has no room, fails, and loses its answer; whether what then
/// comes again says so.
async fn told_once_and_in_order(case: &Case, is_marked: bool) {
    let server = PushServer::start((case.server)()).await.unwrap();
    let mut world = World::new().await;
    let dotenv = case.dotenv.replace("{url}", &server.url());
    if dotenv == case.dotenv {
        world.set(&format!("{}.url", case.name), &server.url());
    }
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    let fails = |status| PushAct::Answer(PushAnswer::new(status, "").with("retry-after", "0"));
    server.play([fails(503), PushAct::Honest, fails(500), PushAct::Honest, PushAct::Swallow]);
    let running = world.start();
    for number in 0..3 {
        let task = world.cards.task(&format!("Report *{number}* {{{{ now() }}}}"));
        let row = world.cards.subscribe(&task, case.name, case.chat);
        let event = world.cards.complete(&task, "14 pages");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    let texts: Vec<String> =
        server.seen().iter().map(|message| message.text.replace('\u{200b}', "")).collect();
    let wanted = [Some("0"), Some("1"), Some("2"), is_marked.then_some("2")];
    assert_eq!(texts.len(), wanted.iter().flatten().count(), "{texts:?}");
    for (text, number) in texts.iter().zip(wanted.iter().flatten()) {
        let line = format!("Report *{number}* {{{{ now() }}}} was completed.");
        assert!(text.contains(&line) && text.contains("14 pages"), "{text:?}");
    }
    assert_eq!(texts.iter().filter(|text| text.contains("repeat")).count(), usize::from(is_marked));
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains(case.secret));
}

#[tokio::test]
async fn d7_gotify_is_told_once_each_and_what_may_be_a_repeat_says_so() {
    let case = Case {
        name: "gotify",
        server: || gotify("AFAKEtoken"),
        dotenv: "GOTIFY_TOKEN=AFAKEtoken\nGOTIFY_URL={url}/\n",
        chat: "ops",
        secret: "FAKEtoken",
    };
    told_once_and_in_order(&case, true).await;
}

const HASS: &str = "HASS_TOKEN=eyJ.FAKEtoken\nHASS_URL={url}\n";

#[tokio::test]
async fn d7_home_assistant_is_told_once_each_and_a_repeat_replaces_what_is_there() {
    let case = Case {
        name: "homeassistant",
        server: || homeassistant("eyJ.FAKEtoken", "mobile_app_ann"),
        dotenv: HASS,
        chat: "ha_events",
        secret: "FAKEtoken",
    };
    told_once_and_in_order(&case, false).await;
}

#[tokio::test]
async fn d7_a_notify_service_is_told_once_each_and_what_may_be_a_repeat_says_so() {
    let case = Case {
        name: "homeassistant_notify",
        server: || homeassistant("eyJ.FAKEtoken", "mobile_app_ann"),
        dotenv: HASS,
        chat: "mobile_app_ann",
        secret: "FAKEtoken",
    };
    told_once_and_in_order(&case, true).await;
}

#[tokio::test]
async fn d7_pushover_is_told_once_each_and_what_may_be_a_repeat_says_so() {
    let case = Case {
        name: "pushover",
        server: || pushover("aFAKEtoken", "uQiRzpo4DXghDmr9QzzfQu27cmVRsG"),
        dotenv: "PUSHOVER_TOKEN=aFAKEtoken\nPUSHOVER_USER=uQiRzpo4DXghDmr9QzzfQu27cmVRsG\n",
        chat: "me",
        secret: "FAKEtoken",
    };
    told_once_and_in_order(&case, true).await;
}
