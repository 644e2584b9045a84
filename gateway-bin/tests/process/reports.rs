//! Faults that were reported of programs of this kind, as the program's log and its commands show them; the
//! number is the report's.

use serde_json::Value;

use crate::{
    process::{Process, output, printed},
    support::{
        cards::now,
        wait::{eventually, soon},
        world::World,
    },
};

/// Lines of the log that are as loud as `info`, without their times.
fn loud(log: &str) -> Vec<String> {
    let loud =
        log.lines().filter(|line| [" INFO ", " WARN ", "ERROR "].iter().any(|l| line.contains(l)));
    loud.map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest).to_owned()).collect()
}

fn event(world: &World, task: &str, kind: &str) {
    let values = format!("('{task}', '{kind}', {})", now());
    world
        .cards
        .sql(&format!("INSERT INTO task_events (task_id, kind, created_at) VALUES {values}"));
}

#[tokio::test]
async fn report_13_with_hermes_dispatcher_off_it_delivers_and_an_idle_one_says_nothing() {
    let mut world = World::new().await;
    world.set("log.level", "trace");
    world.set("poll", "20ms");
    // What turns Hermes' own notifier off is none of our business.
    std::fs::write(world.hermes().join("config.yaml"), "kanban:\n  dispatch_in_gateway: false\n")
        .unwrap();
    let task = world.cards.task("Nobody asked");
    let mut run = Process::run(&world);
    run.says("ready").await;
    run.says("board open").await;
    let quiet = loud(&run.log());
    // Events that are for nobody, of kinds that are told and of others, and looks at all of them.
    for _ in 0..100 {
        event(&world, &task, "completed");
    }
    let looks =
        |run: &Process| run.log().matches("TRACE kanban_notify::driver::log: pass read").count();
    let before = looks(&run);
    eventually("it has looked", || {
        event(&world, &task, "heartbeat");
        (looks(&run) >= before + 20).then_some(())
    })
    .await;
    assert_eq!(loud(&run.log()), quiet, "an idle gateway has nothing to say");

    let (task, row) = world.cards.asked("Somebody asked", "sess-abc");
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    run.says("delivered board.slug").await;
    let said = loud(&run.log());
    assert_eq!(said.len(), quiet.len() + 1, "{said:#?}");
    run.kill().await;
}

#[tokio::test]
async fn report_14_rows_that_nobody_serves_are_told_once_and_shown_and_kept() {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    let task = world.cards.task("Build the report");
    let nobody = world.cards.subscribe(&task, "imessage", "x");
    let served = world.cards.subscribe(&task, "console", "me");
    let before = world.cards.row(&nobody);
    let mut run = Process::run(&world);
    for kind in ["blocked", "crashed", "completed"] {
        event(&world, &task, kind);
        let newest = world.cards.open().sequence().unwrap();
        world.settled(&served, newest).await;
    }
    run.says("rows not served").await;
    let status: Value =
        serde_json::from_slice(&output(&world, &["status", "--json"]).await.stdout).unwrap();
    let told: Vec<String> =
        loud(&run.log()).into_iter().filter(|line| line.contains("rows not served")).collect();
    let [warn] = &told[..] else { panic!("{told:#?}") };
    assert!(
        warn.contains("WARN") && warn.contains("platform=\"imessage\"") && warn.contains("rows=1")
    );
    let [unserved] = &status["unserved"].as_array().unwrap()[..] else { panic!("{status:#}") };
    assert_eq!((&unserved["platform"], &unserved["rows"]), (&"imessage".into(), &1.into()));
    assert_eq!(unserved["by_nobody"], true);
    assert_eq!(world.cards.row(&nobody), before, "its cursor and its owner are left as they are");
    run.kill().await;
}

#[tokio::test]
async fn report_16_each_key_shows_what_is_in_force_and_a_misspelt_one_is_named() {
    let world = World::new().await;
    let shown = printed(&world, &["config", "show", "--json"], 0).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let keys: Vec<&str> =
        shown.as_array().unwrap().iter().filter_map(|key| key["key"].as_str()).collect();
    let file = world.folder().join("gateway.toml");
    let path = file.to_str().unwrap();
    let mut tried = 0;
    for key in keys.iter().filter(|key| !key.starts_with("api_server")) {
        // The last letter twice, in the same level.
        let wrong = format!("{key}{}", &key[key.len() - 1..]);
        std::fs::write(&file, format!("{wrong} = 1\n")).unwrap();
        for command in [&["config", "check"][..], &["status"], &["once"]] {
            let arguments: Vec<&str> =
                ["-c", path].into_iter().chain(command.iter().copied()).collect();
            let said = printed(&world, &arguments, 2).await;
            assert!(said.contains(&format!("there is no key `{wrong}`")), "{said}");
            assert!(said.contains(&format!("did you mean `{key}`")), "{said}");
        }
        tried += 1;
    }
    assert!(tried > 25, "{keys:?}");
}

/// Keys that would be easy to read and to forget, by what they do to a running gateway.
#[tokio::test]
async fn report_16_concurrency_and_grace_do_what_they_say() {
    let mut world = World::new().await;
    world.set("concurrency.per_channel", "1");
    world.set("concurrency.total", "1");
    world.set("grace", "0s");
    world.receiver.hold();
    let mut asked = Vec::new();
    for number in 0..3 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        asked.push((row, world.cards.complete(&task, "done once")));
    }
    let mut run = Process::run(&world);
    world.next_wake().await;
    world.legs("planned", 2).await;
    let status: Value =
        serde_json::from_slice(&output(&world, &["status", "--json"]).await.stdout).unwrap();
    assert_eq!(
        status["waiting"][0]["held_by"], "1 other is under way on its channel, the most at a time",
        "{status:#}"
    );
    assert_eq!((world.receiver.wakes().len(), world.receiver.running()), (1, 1));
    run.terminate();
    soon("its end, without any grace", run.ended()).await;
    world.receiver.release_all();
    let run = Process::run(&world);
    for (row, event) in &asked {
        world.settled(row, *event).await;
    }
    run.kill().await;
}
