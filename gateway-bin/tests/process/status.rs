//! `status` hides nothing: what ended badly, what is not delivered from, what waits and why.

use crate::{
    process::{json, printed},
    support::{cards::now, world::World},
};

const DAY: i64 = 86_400;

/// A task whose wake cannot reach anybody, and one that is too old: both are dead letters after `once`.
async fn with_dead_letters(world: &World, parked: usize) {
    for number in 0..parked {
        let (task, _) = world.cards.asked(&format!("Report {number}"), "");
        world.cards.complete(&task, "nobody to wake");
    }
    let old = world.cards.task_at("Old report", None, now() - 9 * DAY);
    world.cards.subscribe(&old, "api_server", "sess-old");
    world.cards.sql(&format!(
        "UPDATE kanban_notify_subs SET created_at = {} WHERE task_id = '{old}'",
        now() - 9 * DAY
    ));
    world.cards.complete_at(&old, "long ago", now() - 8 * DAY);
    printed(world, &["once"], 0).await;
}

#[tokio::test]
async fn dropped_dead_letters_take_nothing_from_those_that_are_left() {
    let world = World::new().await;
    with_dead_letters(&world, 3).await;
    let all = printed(&world, &["status"], 4).await;
    assert!(all.contains("4 dead letters (3 parked, 1 expired)"), "{all}");
    let dead = json(&world, &["dead", "list", "--json"]).await;
    let ids = |state: &str| -> Vec<String> {
        let of = dead.as_array().unwrap().iter().filter(|leg| leg["state"] == state);
        of.map(|leg| leg["id"].to_string()).collect()
    };
    // One of each kind: neither may be taken off the other.
    for gone in [&ids("parked")[0], &ids("parked")[1], &ids("expired")[0]] {
        printed(&world, &["dead", "drop", gone], 0).await;
    }
    let left = printed(&world, &["status"], 4).await;
    assert!(left.contains("1 dead letter (1 parked, 0 expired)"), "{left}");
    assert!(left.contains("  parked: 1\n") && !left.contains("  expired:"), "{left}");
    printed(&world, &["dead", "drop", &ids("parked")[2]], 0).await;
    let none = printed(&world, &["status"], 4).await;
    assert!(!none.contains("dead letter") && !none.contains("parked"), "{none}");
}
