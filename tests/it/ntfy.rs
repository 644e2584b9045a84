//! ntfy through the whole stack, set up by Hermes' own variables.

use gateway_adapters::receiver::push::{PushServer, ntfy};

use crate::support::world::World;

#[tokio::test]
async fn o5_report_76_a_long_summary_is_told_at_a_server_of_your_own() {
    let server = PushServer::start(ntfy("Bearer tk_FAKEtokenfortests")).await.unwrap();
    let world = World::new().await;
    let dotenv = format!("NTFY_TOKEN=tk_FAKEtokenfortests\nNTFY_SERVER_URL={}\n", server.url());
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    let task = world.cards.task("日本語の報告");
    let row = world.cards.subscribe(&task, "ntfy", "kanban");
    let running = world.start();
    let event = world.cards.complete(&task, &"終".repeat(1_500));
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].chat.as_str()), (1, "kanban"));
    assert!(seen[0].text.starts_with("日本語の報告 was completed.") && seen[0].text.len() <= 4_096);
}
