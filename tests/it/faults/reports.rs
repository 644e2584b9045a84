//! Faults that were reported of programs of this kind, each through a whole gateway; the number is the
//! report's.

use diesel::{
    QueryableByName, RunQueryDsl as _, SqliteConnection, connection::SimpleConnection as _,
    sql_query, sql_types,
};
use gateway_adapters::receiver::{RawAct, RawServer, ReceiverConfig};
use gateway_bin::{
    Options,
    ops::subs::{self, Target},
};

use super::child;
use crate::support::{
    cards::{connect, now},
    tally::assert_each_told_once,
    wait::eventually,
    world::World,
};

async fn scripted(script: &str) -> World {
    let script = script.parse().unwrap();
    World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await
}

/// Writes an event of any kind; answers its id.
fn event(world: &World, task: &str, kind: &str, payload: &str) -> i64 {
    let values = format!("('{task}', '{kind}', '{payload}', {})", now());
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES {values}"
    ));
    world.cards.open().sequence().unwrap()
}

#[tokio::test]
async fn report_5_a_task_that_is_blocked_a_second_time_is_told_a_second_time() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    for kind in ["blocked", "unblocked", "blocked"] {
        let event = event(&world, &task, kind, "{}");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-abc"), 2);
    assert!(world.cards.row(&row).is_some());
}

#[tokio::test]
async fn report_19_report_27_a_subscription_by_hand_names_somebody_and_inherits_the_thread() {
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    world.cards.sql(&format!(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, created_at)
         VALUES ('{task}', 'telegram', '1000', '77', {})",
        now()
    ));
    let add = |platform: &str, chat: &str| {
        let target = Target {
            task: task.clone(),
            platform: platform.to_owned(),
            chat: chat.to_owned(),
            thread: None,
        };
        subs::add(&world.context(), None, &target)
    };
    let added = add("telegram", "1000").unwrap();
    assert_eq!((added.inherited, added.thread.as_str()), (true, "77"));
    for (platform, chat) in [("telegram", " "), ("feishu", ""), ("api_server", ""), ("", "1000")] {
        assert!(add(platform, chat).is_err(), "{platform:?} {chat:?}");
    }
    assert_eq!(world.cards.rows().len(), 1, "no second row for the root of the chat");
}

#[tokio::test]
async fn s1_report_20_a_server_that_knows_nothing_for_a_while_ends_no_subscription() {
    let world = scripted("404:30,200").await;
    let running = world.start();
    let mut told = Vec::new();
    for number in 0..10 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        let event = world.cards.complete(&task, "done once");
        told.push((row, event));
    }
    for (row, event) in &told {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.cards.rows().len(), 10);
    assert!(world.operator().dead_list(true).unwrap().is_empty());
    let expected: Vec<_> =
        told.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
    assert_eq!(world.receiver.wakes().len(), 40);
}

#[tokio::test]
async fn report_22_report_24_requests_for_review_and_loops_wake_with_what_was_handed_over() {
    let world = World::new().await;
    let running = world.start();
    for kind in ["review_requested", "changes_requested", "block_loop_detected"] {
        let (task, row) = world.cards.asked("Build the report", kind);
        let words = format!("please look at page 14 of {kind}");
        let payload = format!(r#"{{"summary": "{words}", "reason": "{words}"}}"#);
        let event = event(&world, &task, kind, &payload);
        world.settled(&row, event).await;
        let wake = world.next_wake().await;
        assert!(wake.text().contains(&words), "{kind}: {}", wake.text());
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 3);
}

#[tokio::test]
async fn d1_report_35_the_cursor_moves_after_the_wake_that_worked() {
    let world = scripted("500,500,200").await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    let mut keys = Vec::new();
    world.receiver.hold();
    for number in 1..=3 {
        let wake = world.next_wake().await;
        assert!(world.cards.cursor(&row) < event, "before wake {number}");
        assert_eq!(wake.session(), Some("sess-abc"));
        assert!(wake.header("authorization").is_some_and(|value| value.starts_with("Bearer ")));
        keys.push(wake.key().unwrap().to_owned());
        world.receiver.release(1);
    }
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    keys.dedup();
    assert_eq!((keys.len(), world.receiver.wakes().len()), (1, 3));
}

#[tokio::test]
async fn w5_report_42_only_the_kinds_that_may_wake_do() {
    let mut world = World::new().await;
    world.set("wake.kinds", "blocked");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    event(&world, &task, "completed", "{}");
    let last = event(&world, &task, "blocked", r#"{"reason": "no paper"}"#);
    world.settled(&row, last).await;
    running.stop().await.unwrap();
    let [wake] = world.receiver.wakes().try_into().unwrap();
    assert!(wake.text().contains("no paper"), "{}", wake.text());
}

/// Descriptors are the process's, so this counts them in one of its own.
#[tokio::test]
async fn report_54_a_board_that_comes_and_goes_costs_no_descriptor() {
    const SELF: &str = "faults::reports::report_54_a_board_that_comes_and_goes_costs_no_descriptor";
    if child::folder().is_none() {
        let folder = tempfile::tempdir().unwrap();
        let ended = child::run(SELF, folder.path(), "error");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        return;
    }
    let mut world = World::new().await;
    world.set("poll", "20ms");
    let side = world.board("side");
    let (away, here) = (world.folder().join("away"), side.path().parent().unwrap().to_owned());
    let running = world.start();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut counts = Vec::new();
    for round in 0..20 {
        std::fs::rename(&here, &away).unwrap();
        // Every other time something is there that does not open.
        if round % 2 == 0 {
            std::fs::create_dir(&here).unwrap();
            std::fs::write(side.path(), "no database ".repeat(100)).unwrap();
        }
        let (task, row) = world.cards.asked("On the other board", "sess-main");
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
        if round % 2 == 0 {
            std::fs::remove_dir_all(&here).unwrap();
        }
        std::fs::rename(&away, &here).unwrap();
        let (task, row) = side.asked("On the board that is back", "sess-side");
        let event = side.complete(&task, "done once");
        eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
        counts.push(descriptors());
    }
    running.stop().await.unwrap();
    let (first, last) = (counts[4], counts[19]);
    assert!(last <= first + 5, "{counts:?}");
}

#[tokio::test]
async fn b4_report_63_a_board_that_is_locked_for_a_while_is_raised_later_and_told_once() {
    let world = World::new().await;
    let mut rows = Vec::new();
    for number in 0..5 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    world.receiver.hold();
    let running = world.start();
    world.next_wake().await;
    let mut lock = connect(world.cards.path());
    lock.batch_execute("BEGIN IMMEDIATE").unwrap();
    world.receiver.release_all();
    world.legs("delivered", 5).await;
    assert!(rows.iter().all(|(row, event)| world.cards.cursor(row) < *event));
    drop(lock);
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 5);
}

#[tokio::test]
async fn b2_report_65_a_row_for_no_task_at_all_harms_nobody() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    // What the writer's commands refuse, a program of somebody else may write.
    world.cards.sql(&format!(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at)
         VALUES ('__board__', 'api_server', 'sess-abc', {})",
        now()
    ));
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!((world.receiver.turns("sess-abc"), world.cards.rows().len()), (1, 2));
}

#[tokio::test]
async fn d7_report_73_a_repeat_whose_outcome_is_unknown_again_is_parked() {
    let no_route = || {
        let headers = "content-type: text/plain\r\nconnection: close\r\n";
        vec![RawAct::ReadRequest, RawAct::respond("404 Not Found", headers, "404: Not Found")]
    };
    let cut = || vec![RawAct::ReadRequest, RawAct::Reset];
    let behind = World::new().await;
    let posts = vec![cut(), cut()];
    let server =
        RawServer::in_front_of(behind.receiver.addr(), posts, vec![no_route()]).await.unwrap();
    let mut world = World::new().await;
    world.server("default", &server.url(), "any-key");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.legs("parked", 1).await;
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let wakes = server.requests().into_iter().filter(|request| request.starts_with("POST"));
    let marked: Vec<bool> = wakes.map(|wake| wake.contains("may be a repeat")).collect();
    assert_eq!(marked, [false, true], "never more than two copies");
    let [dead] = world.operator().dead_list(false).unwrap().try_into().unwrap();
    assert_eq!((dead.verdict.as_str(), dead.task), ("unknown", task));
    assert!(!dead.reason.is_empty());
}

/// Everything that makes a board's schema, as one text.
fn schema(connection: &mut SqliteConnection) -> String {
    #[derive(QueryableByName)]
    struct Made {
        #[diesel(sql_type = sql_types::Text)]
        made: String,
    }
    let made: Vec<Made> = sql_query(
        "SELECT coalesce(sql, name) AS made FROM sqlite_master
         UNION ALL SELECT 'user_version ' || user_version FROM pragma_user_version
         UNION ALL SELECT 'journal_mode ' || journal_mode FROM pragma_journal_mode ORDER BY 1",
    )
    .load(connection)
    .unwrap();
    made.into_iter().map(|row| row.made).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn b5_report_13_a_board_that_nobody_subscribed_to_is_not_written() {
    #[derive(QueryableByName)]
    struct Version {
        #[diesel(sql_type = sql_types::Integer)]
        data_version: i32,
    }
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    let mut foreign = connect(world.cards.path());
    // It moves when somebody else commits, and not for commits of this connection.
    let mut version = || {
        let asked = sql_query("PRAGMA data_version").get_result(&mut foreign);
        let Version { data_version } = asked.unwrap();
        data_version
    };
    for subscribed in [false, false, true] {
        if subscribed {
            world.cards.subscribe(&task, "api_server", "sess-abc");
        }
        event(&world, &task, "completed", "{}");
        let before = version();
        world.gateway(Options::default()).start_once().ended().await.unwrap();
        assert_eq!(version() != before, subscribed, "written only for somebody");
    }
    assert_eq!(world.receiver.wakes().len(), 1);
}

/// Variables are the process's, so this sets them for one of its own.
#[tokio::test]
async fn report_142_a_dead_proxy_in_the_environment_is_not_asked() {
    const SELF: &str = "faults::reports::report_142_a_dead_proxy_in_the_environment_is_not_asked";
    if child::folder().is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = child::command(SELF, folder.path(), "trace");
        for name in ["http_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, "http://walker:pw-83b1e0@127.0.0.1:9");
        }
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("TRACE") && !said.contains("pw-83b1e0"), "{said}");
        return;
    }
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-abc"), 1);
}

#[tokio::test]
async fn b1_report_153_a_board_has_the_same_schema_after_deliveries() {
    let world = World::new().await;
    let mut eyes = connect(world.cards.path());
    let before = schema(&mut eyes);
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert!(before.contains("kanban_notify_subs"));
    assert_eq!(schema(&mut eyes), before);
}

#[tokio::test]
async fn b3_report_157_nothing_of_ours_holds_up_a_checkpoint_while_a_turn_runs() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.receiver.hold();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.next_wake().await;
    let mut foreign = connect(world.cards.path());
    #[derive(QueryableByName)]
    struct Checkpoint {
        #[diesel(sql_type = sql_types::Integer)]
        busy: i32,
    }
    // A pass may be reading at this very moment; an open transaction would last as long as the turn.
    eventually("the log is cut to nothing", || {
        let cut = sql_query("PRAGMA wal_checkpoint(TRUNCATE)");
        let Checkpoint { busy } = cut.get_result(&mut foreign).unwrap();
        (busy == 0).then_some(())
    })
    .await;
    world.receiver.release_all();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn f1_report_161_an_event_after_a_checkpoint_is_seen_though_the_log_is_no_longer() {
    let world = World::new().await;
    let running = world.start();
    let mut foreign = connect(world.cards.path());
    for number in 0..10 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        foreign.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 10);
}
