//! Whose row is it, through the whole stack: adoption and release, others' rows, profiles (laws O1 to O6).

use gateway_adapters::receiver::{Receiver, ReceiverConfig};
use gateway_bin::{
    Gateway, Options, StartError,
    ops::subs::{self, Wanted},
};
use kanban_store::ledger::operator::SubscriptionFilter;
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::support::{
    push::Push,
    wait::{eventually, soon},
    world::World,
};

/// A gateway that is alive as far as its state file tells: the process is this test.
pub fn a_live_hermes(world: &World, platforms: &[&str]) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let start_time: u64 = after_name.split_whitespace().nth(19).unwrap().parse().unwrap();
    let platforms: serde_json::Map<_, _> = platforms
        .iter()
        .map(|name| ((*name).to_owned(), json!({"state": "connected", "error_code": null})))
        .collect();
    let state = json!({"pid": std::process::id(), "kind": "hermes-gateway",
        "argv": ["hermes", "gateway", "run"], "start_time": start_time,
        "gateway_state": "running", "platforms": platforms});
    std::fs::write(world.hermes().join("gateway_state.json"), state.to_string()).unwrap();
}

#[tokio::test]
async fn o2_rows_without_an_owner_are_stamped_and_release_gives_their_owners_back() {
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    let none = world.cards.subscribe(&task, "api_server", "sess-none");
    let empty = world.cards.subscribe(&task, "api_server", "sess-empty");
    world
        .cards
        .sql("UPDATE kanban_notify_subs SET notifier_profile = '' WHERE chat_id = 'sess-empty'");
    let named = world.cards.subscribe_as(&task, "api_server", "sess-named", Some("default"));
    let rows = [(&none, None), (&empty, Some("")), (&named, Some("default"))];
    let running = world.start();
    for (row, _) in rows {
        eventually("the row is stamped", || {
            let owner = world.cards.row(row)?.owner?;
            (owner == "kanban-gateway.default").then_some(())
        })
        .await;
    }
    let copies = world.operator().subscription_list(&SubscriptionFilter::default()).unwrap();
    for (row, owner) in rows {
        let copy = copies.iter().find(|copy| copy.chat == row.chat).unwrap();
        assert!(copy.adopted && copy.previous_owner.as_deref() == owner, "{copy:?}");
    }

    let released = subs::release(&world.context(), &Wanted::default()).unwrap();
    assert!(released.len() == 3 && released.iter().all(|(_, won)| *won), "{released:?}");
    world.cards.complete(&task, "nobody hears of it");
    let (later, row) = world.cards.asked("Build the next report", "sess-later");
    let event = world.cards.complete(&later, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    for (row, owner) in rows {
        assert_eq!(world.cards.row(row).unwrap().owner.as_deref(), owner);
        assert!(!world.cards.is_caught_up(row));
    }
    assert_eq!(world.receiver.sessions(), ["sess-later"]);
}

#[tokio::test]
async fn o2_a_row_that_is_made_while_we_run_is_stamped_without_any_event() {
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    let running = world.start();
    world.legs("planned", 0).await;
    for number in 0..5 {
        let row = world.cards.subscribe(&task, "api_server", &format!("sess-{number}"));
        eventually("the row is stamped", || world.cards.row(&row)?.owner).await;
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn o1_report_10_report_11_rows_that_a_live_hermes_serves_are_left_as_they_are() {
    let world = World::new().await;
    a_live_hermes(&world, &["api_server", "telegram"]);
    let task = world.cards.task("Build the report");
    let theirs = [
        world.cards.subscribe(&task, "telegram", "chat-1"),
        world.cards.subscribe_as(&task, "telegram", "chat-2", Some("work")),
        world.cards.subscribe_as(&task, "imessage", "chat-3", Some("default")),
    ];
    let before: Vec<_> = theirs.iter().map(|row| world.cards.row(row)).collect();
    let ours = world.cards.subscribe(&task, "api_server", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&ours, event).await;
    running.stop().await.unwrap();
    let after: Vec<_> = theirs.iter().map(|row| world.cards.row(row)).collect();
    assert_eq!(before, after);
    let copies = world.operator().subscription_list(&SubscriptionFilter::default()).unwrap();
    assert_eq!(copies.len(), 1, "no copy of what is somebody else's: {copies:?}");
}

#[tokio::test]
async fn o4_a_platform_that_a_live_hermes_serves_too_is_refused_at_the_start() {
    let mut world = World::new().await;
    let push = Push::start().await;
    a_live_hermes(&world, &["slack"]);
    let build = |world: &World| {
        let options = Options { channels: vec![push.channel("slack")], ..Options::default() };
        Gateway::build(world.config(), world.env(), options)
    };
    let refused = build(&world).err().unwrap();
    assert!(matches!(refused, StartError::Contested(_)), "{refused}");
    assert!(refused.to_string().contains("ways on"), "{refused}");
    world.set("alongside", "slack");
    build(&world).unwrap();
}

#[tokio::test]
async fn o6_report_41_each_profile_has_its_server_and_an_unknown_one_gets_no_post() {
    let mut world = World::new().await;
    let work = Receiver::start(ReceiverConfig::default()).await.unwrap();
    world.server("work", &work.url(), work.key().expose_secret());
    let task = world.cards.task("Build the report");
    let home = world.cards.subscribe(&task, "api_server", "sess-home");
    let office = world.cards.subscribe_as(&task, "api_server", "sess-work", Some("work"));
    let ghost = world.cards.subscribe_as(&task, "api_server", "sess-ghost", Some("ghost"));
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&home, event).await;
    world.settled(&office, event).await;
    let owner = |row| world.cards.row(row).unwrap().owner.unwrap();
    assert_eq!(owner(&office), "kanban-gateway.work");
    assert_eq!(owner(&ghost), "kanban-gateway.ghost", "kept from being swallowed");
    assert!(!world.cards.is_caught_up(&ghost));
    running.stop().await.unwrap();
    assert_eq!(world.receiver.sessions(), ["sess-home"]);
    assert_eq!(work.sessions(), ["sess-work"]);

    // It waits for its server.
    let found = Receiver::start(ReceiverConfig::default()).await.unwrap();
    world.server("ghost", &found.url(), found.key().expose_secret());
    let running = world.start();
    let wake = soon("the ghost's wake", found.next_wake()).await;
    assert_eq!(wake.session(), Some("sess-ghost"));
    world.settled(&ghost, event).await;
    running.stop().await.unwrap();
    assert_eq!((found.wakes().len(), world.receiver.wakes().len(), work.wakes().len()), (1, 1, 1));
}
