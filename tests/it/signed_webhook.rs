//! Signed webhooks through the whole stack.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, signed_webhook};

use crate::support::world::World;

const KEY: &str = "RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";

async fn world(server: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("signed_webhook.secret", &format!("whsec_{KEY}"));
    let gone = "gone=http://127.0.0.1:9/";
    world.set("signed_webhook.targets", &format!("{gone},team={}/hook", server.url()));
    world.set("signed_webhook.allow_private", "127.0.0.1");
    world
}

#[tokio::test]
async fn report_127_report_129_each_message_once_while_another_receiver_is_gone() {
    let server = PushServer::start(signed_webhook(KEY)).await.unwrap();
    let world = world(&server).await;
    server.play([
        PushAct::Answer(PushAnswer::new(500, "restarting")),
        PushAct::Answer(PushAnswer::new(503, "").with("retry-after", "0.1")),
    ]);
    let lost = world.cards.task("Told to nobody yet");
    world.cards.subscribe(&lost, "signed_webhook", "gone");
    let tasks = ["first", "second", "third"].map(|title| world.cards.task(title));
    let rows = tasks.clone().map(|task| world.cards.subscribe(&task, "signed_webhook", "team"));
    let running = world.start();
    world.cards.complete(&lost, "done once");
    let events = tasks.map(|task| world.cards.complete(&task, "done once"));
    for (row, event) in rows.iter().zip(events) {
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
    world.legs("retrying", 1).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 3, "{seen:?}");
    for title in ["first", "second", "third"] {
        let is_told = |text: &str| text.starts_with(&format!("{title} was completed."));
        assert_eq!(seen.iter().filter(|message| is_told(&message.text)).count(), 1, "{seen:?}");
    }
    let ids = server.requests().into_iter().map(|r| r.header("webhook-id").to_owned());
    assert_eq!(
        ids.collect::<std::collections::BTreeSet<_>>().len(),
        3,
        "further tries keep theirs"
    );
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains(KEY));
}

#[tokio::test]
async fn d7_receivers_that_remember_ids_get_the_same_one_after_a_lost_answer() {
    let server = PushServer::start(signed_webhook(KEY)).await.unwrap();
    let mut world = world(&server).await;
    world.set("signed_webhook.deduplicates", "true");
    server.play([PushAct::Swallow, PushAct::Swallow, PushAct::Answer(PushAnswer::new(502, ""))]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "signed_webhook", "team");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    world.legs("delivered", 1).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.header("webhook-id"), requests[0].header("webhook-id"));
        assert_eq!(request.body, requests[0].body);
    }
}
