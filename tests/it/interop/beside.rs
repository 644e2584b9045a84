//! Beside a Hermes that writes: nothing of it is disturbed, and nothing of it is lost (law B3).

use std::os::unix::fs::MetadataExt as _;

use gateway_adapters::receiver::{Receiver, ReceiverConfig};
use secrecy::ExposeSecret as _;

use super::*;
use crate::support::hermes::Load;

#[tokio::test(flavor = "multi_thread")]
async fn rows_made_and_read_by_hermes_commands() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let gateway = home.gateway().quiet().start().await;
    let board = home.create_board("ops").await;
    let done = board.create("to be done", "stub-worker").await;
    let stuck = board.create("to be blocked", "stub-worker").await;
    board.subscribe(&done, "api_server", "sess-done").await;
    board.subscribe(&stuck, "api_server", "sess-stuck").await;
    board.subscribe(&done, "console", "room").await;
    let mut ours = Ours::new(&home);
    ours.start().await;
    board.complete(&done, "done once").await;
    board.block(&stuck, "which colour?").await;
    ours.delivered(3, SOON).await;
    let client = gateway.client();
    for (session, said) in [("sess-done", "done once"), ("sess-stuck", "which colour?")] {
        let turns = wakes(&client, session).await;
        assert_eq!(turns.len(), 1, "{session}: {turns:?}");
        assert!(turns[0].user.contains(said) && turns[0].answer.is_some(), "{turns:?}");
    }
    assert_eq!(ours.console().len(), 1);
    // Hermes' own commands see every row with its cursor, and the cards as they were left.
    assert_eq!(board.subscriptions(None).await.len(), 3);
    assert_eq!(board.show(&done).await["task"]["status"], "done");
    cursors_are_at_the_end(&board).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_writes_of_a_live_hermes_while_we_deliver() {
    let Some((_stub, home)) = stage(|home| home.max_concurrent_runs(30)).await else { return };
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;
    let board = home.board();
    let load = |writes, subscribe| Load { writes, pause_ms: 0, body_bytes: 64, subscribe };
    let mut writer = Writer::start(&board).await;
    // What the same writes meet without us is not ours to answer for.
    let alone = writer.load(load(2_000, None)).await;

    // A receiver of our own takes the wakes: what is measured here is the file, not Hermes' turns.
    let config = ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() };
    let receiver = Receiver::start(config).await.expect("a receiver");
    let key = receiver.key();
    let server = format!(
        r#"[{{ profile = "default", url = "{}", key = "{}" }}]"#,
        receiver.url(),
        key.expose_secret()
    );
    let mut ours = Ours::new(&home).set("api_server", &server);
    ours.start().await;
    let wal = board.path().with_extension("db-wal");
    let inode = std::fs::metadata(&wal).expect("a write-ahead log").ino();
    let beside = writer.load(load(2_000, Some("sess"))).await;
    // Hermes 0.19 compares the file's length with its header after each commit and takes a checkpoint
    // that a reader held up for damage, although the commit stands: it does so beside its own processes
    // too. No other error may come up, and what these say must not be true.
    let false_alarm = |error: &&String| error.contains("torn-extend");
    let (alarms, others): (Vec<_>, Vec<_>) = beside.errors.iter().partition(false_alarm);
    assert_eq!(others.len(), alone.errors.iter().filter(|e| !false_alarm(e)).count(), "{others:?}");
    println!("false alarms of Hermes: {} alone, {} beside us", alone.errors.len(), alarms.len());
    assert_eq!(beside.missing, Vec::<String>::new());
    assert_eq!(std::fs::metadata(&wal).expect("still there").ino(), inode, "the log was unlinked");

    // A false alarm at a creation or a completion leaves fewer, or other, pairs than were meant.
    let owed = writer.query(
        "SELECT count(*) AS owed FROM kanban_notify_subs s JOIN task_events e ON e.task_id = s.task_id \
         WHERE e.kind = 'completed'",
        Value::Null,
    );
    let completed = owed.await[0]["owed"].as_i64().expect("a count");
    assert!(completed > 400, "{completed}");
    ours.delivered(completed, SOON * 3).await;
    assert_eq!(writer.integrity_check().await, "ok");
    cursors_are_at_the_end(&board).await;
    assert!(gateway.client().healthy().await);
    assert!(ours.stop().await.success());
    writer.stop().await;
}
