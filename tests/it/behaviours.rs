//! The five behaviours that the system exists for: a whole gateway, real files, real HTTP.

use gateway_adapters::receiver::{Receiver, ReceiverConfig, Script};
use gateway_bin::Options;
use kanban_notify::driver::Ended;
use secrecy::ExposeSecret as _;

use crate::support::{
    push::{Does, Push},
    wait::{eventually, soon},
    world::World,
};

#[tokio::test]
async fn an_api_server_subscription_wakes_its_own_chat_once_by_the_self_post() {
    let world = World::new().await;
    let push = Push::start().await;
    let task = world.cards.task_of("Build the report", Some("worker-session"));
    let row = world.cards.subscribe(&task, "api_server", "sess-abc");
    let options = Options { channels: vec![push.channel("api_server")], ..Options::default() };
    let running = world.gateway(options).start();
    let event = world.cards.complete(&task, "done once");

    let wake = world.next_wake().await;
    assert_eq!((wake.method.as_str(), wake.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(wake.session(), Some("sess-abc"));
    let key = world.receiver.key();
    let bearer = format!("Bearer {}", key.expose_secret());
    assert_eq!(wake.header("authorization"), Some(bearer.as_str()));
    assert!(wake.key().is_some_and(|key| !key.is_empty()));
    let text = wake.text();
    for part in [&task, "done once", "not a request to decompose", "do not recreate"] {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }

    world.settled(&row, event).await;
    assert!(world.cards.is_caught_up(&row));
    assert_eq!(running.stop().await.unwrap(), Ended::Drained);
    assert_eq!(world.receiver.wakes().len(), 1);
    assert_eq!(world.receiver.sessions(), ["sess-abc"], "the task's own session is left alone");
    assert!(push.shown("sess-abc").is_empty(), "no text is sent to an API session");
}

#[tokio::test]
async fn two_api_server_subscriptions_of_one_task_wake_their_two_destinations_independently() {
    let world = World::new().await;
    let (task, first) = world.cards.asked("Build the report", "sess-1");
    let second = world.cards.subscribe(&task, "api_server", "sess-2");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");

    let (one, two) = (world.next_wake().await, world.next_wake().await);
    let mut sessions = [one.session().unwrap(), two.session().unwrap()];
    sessions.sort_unstable();
    assert_eq!(sessions, ["sess-1", "sess-2"]);
    assert_ne!(one.key(), two.key());
    world.settled(&first, event).await;
    world.settled(&second, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 2, "one POST each");
}

#[tokio::test]
async fn a_wake_that_fails_leaves_the_events_unseen_and_the_next_attempt_settles_them() {
    let world = World::new().await;
    world.receiver.play("500:2,200".parse::<Script>().unwrap());
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");

    for _ in 0..2 {
        let wake = world.next_wake().await;
        assert_eq!(wake.session(), Some("sess-abc"));
        assert!(world.cards.cursor(&row) < event, "nothing is settled by a failure");
        assert!(!world.cards.is_caught_up(&row));
    }
    let wake = world.next_wake().await;
    assert_eq!(wake.session(), Some("sess-abc"), "the same destination");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 3);
}

#[tokio::test]
async fn a_push_channel_that_answers_failed_without_an_error_is_a_failed_delivery() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Refuse, Does::Refuse, Does::Take]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "slack", "C1");
    let options = Options { channels: vec![push.channel("slack")], ..Options::default() };
    let running = world.gateway(options).start();
    let event = world.cards.complete(&task, "done once");

    for _ in 0..2 {
        assert_eq!(push.next().await.0, "C1");
        assert!(world.cards.cursor(&row) < event, "a refusal settles nothing");
    }
    let (_, text) = push.next().await;
    assert!(text.contains(&task) && text.contains("done once"), "{text}");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(push.shown("C1"), [text], "the chat sees it once");
}

#[tokio::test]
async fn a_destination_that_never_answers_delays_nobody_else() {
    let mut world = World::new().await;
    let push = Push::start().await;
    push.play("silent", [Does::Hang]);
    // One server never answers, another one does; one chat never answers, another one does.
    world.receiver.hold();
    let quick = Receiver::start(ReceiverConfig::default()).await.unwrap();
    world.server("work", &quick.url(), quick.key().expose_secret());
    world.set("grace", "0s");
    let task = world.cards.task("Build the report");
    let stuck = world.cards.subscribe(&task, "api_server", "sess-stuck");
    let silent = world.cards.subscribe(&task, "slack", "silent");
    let options = Options { channels: vec![push.channel("slack")], ..Options::default() };
    let running = world.gateway(options).start();
    world.cards.complete(&task, "for those who never answer");
    world.next_wake().await;
    assert_eq!(push.next().await.0, "silent");

    for round in 0..3 {
        let task = world.cards.task("Build the next report");
        let lively = world.cards.subscribe(&task, "slack", "lively");
        let work = world.cards.subscribe_as(&task, "api_server", "sess-work", Some("work"));
        let event = world.cards.complete(&task, "for the others");
        soon("the other server's wake", quick.next_wake()).await;
        assert_eq!(push.next().await.0, "lively");
        world.settled(&lively, event).await;
        world.settled(&work, event).await;
        assert_eq!(push.shown("lively").len(), round + 1);
    }
    // Another session of the server that never answers has its turn too.
    let (task, _) = world.cards.asked("Build one more", "sess-beside");
    world.cards.complete(&task, "beside the stuck one");
    let beside = world.next_wake().await;
    assert_eq!(beside.session(), Some("sess-beside"));
    assert!(!world.cards.is_caught_up(&stuck) && !world.cards.is_caught_up(&silent));
    assert_eq!(running.stop().await.unwrap(), Ended::Cut { in_flight: 3 });
    eventually("the receiver saw both leave", || (world.receiver.running() == 2).then_some(()))
        .await;
}
