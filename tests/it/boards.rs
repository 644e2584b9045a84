//! One board's trouble is that board's alone (laws B6, B7).

use std::time::Duration;

use tokio::time::timeout;

use crate::support::{
    cards::{Cards, assert_sound, now},
    tally::assert_each_told_once,
    wait::{eventually, soon},
    world::World,
};

#[tokio::test]
async fn b6_a_board_that_vanishes_and_returns_goes_on_where_it_was() {
    let world = World::new().await;
    let side = world.board("side");
    let (before, row) = side.asked("Before", "sess-side");
    let running = world.start();
    let event = side.complete(&before, "before it went");
    eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;

    let folder = side.path().parent().unwrap().to_owned();
    let away = world.folder().join("away");
    std::fs::rename(&folder, &away).unwrap();
    let elsewhere = Cards::at(&away.join("kanban.db"));
    let (meanwhile, row) = elsewhere.asked("Meanwhile", "sess-side");
    let event = elsewhere.complete(&meanwhile, "while it was away");
    // The other board is not held up.
    let (task, main) = world.cards.asked("On the other board", "sess-main");
    let other = world.cards.complete(&task, "done once");
    world.settled(&main, other).await;

    std::fs::rename(&away, &folder).unwrap();
    eventually("it is settled after the return", || (side.cursor(&row) >= event).then_some(()))
        .await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-side"), 2, "each told once");
    assert_sound(side.path());
    assert_eq!(world.receiver.wakes().len(), 3);
}

#[tokio::test]
async fn b7_a_board_of_garbage_leaves_the_others_alone() {
    let world = World::new().await;
    let broken = world.board("broken");
    std::fs::write(broken.path(), "this is no database, however long it may be ".repeat(100))
        .unwrap();
    let side = world.board("side");
    let running = world.start();
    for cards in [&world.cards, &side] {
        let (task, row) = cards.asked("Build the report", "sess-abc");
        let event = cards.complete(&task, "done once");
        eventually("it is settled", || (cards.cursor(&row) >= event).then_some(())).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-abc"), 2);
    let text = std::fs::read_to_string(broken.path()).unwrap();
    assert!(text.starts_with("this is no database"), "it was left as it is");
}

#[tokio::test]
async fn b2_report_4_one_spoilt_row_spoils_no_other() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-good");
    let spoilt = world.cards.task("Build the next report");
    world.cards.subscribe(&spoilt, "api_server", "sess-spoilt");
    world.cards.sql(
        "UPDATE kanban_notify_subs SET last_event_id = 'x', created_at = x'00ff'
         WHERE chat_id = 'sess-spoilt'",
    );
    let running = world.start();
    world.cards.complete(&spoilt, "nobody can tell");
    world
        .cards
        .sql(&format!("UPDATE task_events SET payload = '{{broken' WHERE task_id = '{spoilt}'"));
    let event = world.cards.complete(&task, "done once");
    eventually("the good row is settled", || {
        let (rows, _) = world.cards.open().subscriptions(0, 10).unwrap();
        rows.iter().any(|seen| seen.key == row && seen.cursor >= event).then_some(())
    })
    .await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-good"), 1);
}

#[tokio::test]
async fn report_8_two_names_of_one_board_are_one_board() {
    let mut world = World::new().await;
    let side = world.board("side");
    let alias = world.folder().join("alias.db");
    std::os::unix::fs::symlink(side.path(), &alias).unwrap();
    world.set("boards", alias.to_str().unwrap());
    let running = world.start();
    for number in 0..20 {
        if number == 10 {
            // One more while we run, and found before the name that it has been served under.
            let folder = side.path().parent().unwrap();
            std::os::unix::fs::symlink(folder, folder.with_file_name("a-side")).unwrap();
        }
        let (task, row) = side.asked("Build the report", &format!("sess-{number}"));
        let event = side.complete(&task, "done once");
        eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 20);
}

/// Whether this process has the board's file open.
fn is_open(cards: &Cards) -> bool {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .any(|target| target == cards.path())
}

#[tokio::test]
async fn b6_boards_are_found_and_archived_while_we_run() {
    let world = World::new().await;
    let running = world.start();
    let side = world.board("side");
    for (round, session) in ["sess-0", "sess-1"].into_iter().enumerate() {
        eventually("the board is open", || is_open(&side).then_some(())).await;
        let (task, row) = side.asked("Build the report", session);
        let event = side.complete(&task, "done once");
        eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
        // And back again in the next round.
        let about = side.path().with_file_name("board.json");
        std::fs::write(&about, r#"{"archived": true}"#).unwrap();
        eventually("the board is let go", || (!is_open(&side)).then_some(())).await;
        let (task, row) = side.asked("For later", &format!("sess-later-{round}"));
        side.complete(&task, "while it was archived");
        assert!(!side.is_caught_up(&row));
        std::fs::remove_file(&about).unwrap();
        eventually("it is told", || side.is_caught_up(&row).then_some(())).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.sessions().len(), 4);
    assert_eq!(world.receiver.wakes().len(), 4);
}

#[tokio::test]
async fn b6_a_board_under_another_name_is_the_same_board() {
    let world = World::new().await;
    let side = world.board("side");
    let (task, row) = side.asked("Build the report", "sess-side");
    let event = side.complete(&task, "done once");
    let running = world.start();
    eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
    // What has been told would be told again under another identity: the cursor is set back.
    let folder = side.path().parent().unwrap().to_owned();
    let renamed = folder.with_file_name("renamed");
    std::fs::rename(&folder, &renamed).unwrap();
    let side = Cards::at(&renamed.join("kanban.db"));
    side.sql("UPDATE kanban_notify_subs SET last_event_id = 0");
    let (next, row) = side.asked("Build the next report", "sess-next");
    let event = side.complete(&next, "done once");
    eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
    running.stop().await.unwrap();
    let expected = [("sess-side".to_owned(), task.clone()), ("sess-next".to_owned(), next.clone())];
    assert_each_told_once(&world.receiver, &expected);
    let slugs: Vec<String> =
        world.operator().boards_list().unwrap().into_iter().map(|board| board.slug).collect();
    assert!(slugs.contains(&"renamed".to_owned()) && !slugs.contains(&"side".to_owned()));
}

#[tokio::test]
async fn f1_a_folder_that_was_made_anew_is_heard() {
    let mut world = World::new().await;
    // A look every 60 s and a sweep every 30 s would find it too; only the kernel tells it at once.
    world.set("poll", "60s");
    let heard = |what: &'static str, look: Box<dyn FnMut() -> Option<()>>| async move {
        let told = timeout(Duration::from_secs(10), eventually(what, look)).await;
        told.expect("it was not heard, only looked for");
    };
    let running = world.start();
    for (round, session) in ["sess-0", "sess-1", "sess-2"].into_iter().enumerate() {
        let side = world.board("side");
        let open = side.clone();
        heard("the board is open", Box::new(move || is_open(&open).then_some(()))).await;
        let folder = side.path().parent().unwrap().to_owned();
        // The first events may have been seen by the pass that follows an opening.
        for number in 0..3 {
            let (task, row) = side.asked("Build the report", &format!("{session}-{number}"));
            let event = side.complete(&task, "done once");
            let told = side.clone();
            let look = move || (told.cursor(&row) >= event).then_some(());
            heard("it is settled", Box::new(look)).await;
        }
        if round == 0 {
            std::fs::remove_dir_all(&folder).unwrap();
        } else {
            std::fs::rename(&folder, world.folder().join(format!("old-{round}"))).unwrap();
        }
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 9);
}

#[tokio::test]
async fn b6_another_file_under_the_same_name_begins_anew() {
    let world = World::new().await;
    let side = world.board("side");
    let (task, row) = side.asked("On the old file", "sess-side");
    let event = side.complete(&task, "done once");
    let running = world.start();
    eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
    let folder = side.path().parent().unwrap().to_owned();
    std::fs::rename(&folder, world.folder().join("old")).unwrap();
    let side = world.board("side");
    let mut rows = Vec::new();
    for title in ["On the new file", "And one more"] {
        let (task, row) = side.asked(title, "sess-side");
        rows.push((row, side.complete(&task, "done once")));
    }
    for (row, event) in &rows {
        eventually("it is settled", || (side.cursor(row) >= *event).then_some(())).await;
    }
    running.stop().await.unwrap();
    let expected: Vec<_> =
        [&row, &rows[0].0, &rows[1].0].map(|row| (row.chat.clone(), row.task.clone())).into();
    assert_each_told_once(&world.receiver, &expected);
}

#[tokio::test]
async fn d1_a_cursor_that_somebody_lowers_repeats_nothing_and_rises_again() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let first = world.cards.complete(&task, "done once");
    world.settled(&row, first).await;
    // Hermes sets it to what its own pass has read, whatever it is by now.
    world.cards.sql("UPDATE kanban_notify_subs SET last_event_id = 1");
    let (next, next_row) = world.cards.asked("Build the next report", "sess-next");
    let event = world.cards.complete(&next, "done once");
    world.settled(&next_row, event).await;
    running.stop().await.unwrap();

    // Neither does a start, which looks at every row; the task's next event lifts the cursor again.
    let running = world.start();
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at)
         VALUES ('{task}', 'blocked', '{{}}', {})",
        now()
    ));
    let last = world.cards.open().sequence().unwrap();
    world.settled(&row, last).await;
    running.stop().await.unwrap();
    assert_eq!((world.receiver.turns("sess-abc"), world.receiver.wakes().len()), (2, 3));
}

/// Two rows that somebody makes anew, or deletes, while their requests are out; then these are lost.
#[tokio::test]
async fn s2_a_request_of_unknown_outcome_is_not_sent_again_for_a_row_that_ended_meanwhile() {
    let mut world = World::new().await;
    world.set("wake.longest_turn", "1s");
    let mut told = Vec::new();
    for session in ["sess-anew", "sess-gone"] {
        let task = world.cards.task("Build the report");
        world.cards.subscribe_as(&task, "api_server", session, Some("kanban-gateway"));
        told.push(task);
    }
    world.receiver.hold();
    let running = world.start();
    for task in &told {
        world.cards.complete(task, "done once");
    }
    soon("both are out", world.receiver.until_running(2)).await;
    world.cards.sql(&format!(
        "BEGIN IMMEDIATE; DELETE FROM kanban_notify_subs;
         INSERT INTO kanban_notify_subs
           (task_id, platform, chat_id, notifier_profile, created_at, last_event_id)
         VALUES ('{}', 'api_server', 'sess-anew', 'kanban-gateway', {}, 0); COMMIT",
        told[0],
        now() + 1
    ));
    world.receiver.crash().await;
    world.receiver.release_all();
    world.receiver.restart().await.unwrap();
    world.legs("cancelled", 2).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 2, "no second request");
}
