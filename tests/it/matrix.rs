//! Matrix through the whole stack, set up by Hermes' own variables, over a strict server.

use gateway_adapters::receiver::push::{PushAct, PushServer, matrix};

use crate::support::world::World;

#[tokio::test]
async fn d7_report_117_a_lost_answer_is_asked_for_again_under_its_key_and_unmarked() {
    let server = PushServer::start(matrix("syt_FAKE", "FAKEpassword")).await.unwrap();
    let world = World::new().await;
    let dotenv = format!(
        "MATRIX_HOMESERVER={}\nMATRIX_USER_ID=@bot:localhost\nMATRIX_PASSWORD=FAKEpassword\n",
        server.url()
    );
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    // The login, and then the message.
    server.play([PushAct::Honest, PushAct::Swallow]);
    let running = world.start();
    for number in 0..3 {
        let task = world.cards.task(&format!("Report {number} <b>"));
        let row = world.cards.subscribe(&task, "matrix", "!room:localhost");
        let event = world.cards.complete(&task, "see @room");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 3, "the same bytes under the same key are one message: {seen:?}");
    for (number, message) in seen.iter().enumerate() {
        assert!(message.text.starts_with(&format!("Report {number} <b> was completed.\n")));
        assert!(message.rich && !message.text.contains("@room"), "{message:?}");
        assert_eq!(message.chat, "!room:localhost");
    }
    let mut keys: Vec<&str> = seen.iter().map(|message| message.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 3, "{keys:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    assert_eq!((&requests[1].path, &requests[1].body), (&requests[2].path, &requests[2].body));
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}
