//! The whole loop with Hermes' dispatcher and notifier on, as on a user's machine: turns create
//! tasks, Hermes completes them, and each session that asked is woken, once.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::support::hermes::{Gateway, answered, eventually};

/// Sessions that ask one after the other, and as many at the same time.
const EACH: usize = 20;

/// Makes every session ask for one task; answers the tasks by session.
///
/// `more` is how a row that Hermes could not write is stamped when it is written by hand.
async fn everybody_asks(
    gateway: &Gateway,
    board: &Board,
    more: &[&str],
) -> BTreeMap<String, String> {
    let client = gateway.client();
    for n in 0..EACH {
        client.post_turn(&format!("one {n}"), &format!("create task one {n}")).await.ok();
    }
    let ask = |n| client.post_turn(&format!("all {n}"), &format!("create task all {n}"));
    let asking: Vec<_> = (0..EACH).map(|n| tokio::spawn(ask(n))).collect();
    for turn in asking {
        turn.await.expect("a turn").ok();
    }
    // The title is the session's name.
    let tasks = tasks_by_title(board).await;
    assert_eq!(tasks.len(), 2 * EACH);
    let subscribed: BTreeSet<String> =
        board.subscriptions(None).await.iter().map(|row| text(row, "task_id")).collect();
    for (session, task) in tasks.iter().filter(|(_, task)| !subscribed.contains(*task)) {
        subscribe_by_hand(gateway, board, session, task, more).await;
    }
    tasks
}

/// Subscribes a session that Hermes left out.
///
/// After each commit Hermes compares the file's length with the number of pages in its header, and reads
/// the two one after the other: a checkpoint between them looks like a torn file. The commit stands, and
/// what was to follow in the same turn, the subscription, does not. Measured with 0.19.0 alone, without
/// anything of ours: 4 to 12 of 1 200 commits of 20 threads.
async fn subscribe_by_hand(
    gateway: &Gateway,
    board: &Board,
    session: &str,
    task: &str,
    more: &[&str],
) {
    let said = gateway.warnings();
    let known = said.contains("torn-extend detected") || said.contains("_maybe_auto_subscribe");
    assert!(known, "Hermes subscribed no {session:?} to {task}, and does not say why:\n{said}");
    board.subscribe_with(task, "api_server", session, more).await;
}

async fn hermes_completes(board: &Board, tasks: &BTreeMap<String, String>) {
    let ids: Vec<String> = tasks.values().cloned().collect();
    board.complete_all(&ids, "done once").await;
}

/// Each session had its turn and one answered wake for its own task, and nothing else happened.
async fn everybody_was_woken(
    gateway: &Gateway,
    stub: &StubModel,
    tasks: &BTreeMap<String, String>,
) {
    let client = gateway.client();
    for (session, task) in tasks {
        let turns = client.turns(session).await;
        assert_eq!(turns.len(), 2, "{session}: {turns:?}");
        assert_eq!(answered(&turns, MARK), 1, "{session}: {turns:?}");
        assert!(turns[1].user.contains(task), "{session} is woken for {task}: {turns:?}");
        assert!(turns[1].user.contains("done once"), "{turns:?}");
        assert!(turns[1].tools.is_empty(), "{turns:?}");
    }
    let ids: Vec<String> = client.sessions().await.iter().map(|row| text(row, "id")).collect();
    let strays: Vec<&String> = ids.iter().filter(|id| !tasks.contains_key(*id)).collect();
    assert!(strays.is_empty(), "sessions that nobody asked for: {strays:?}");
    assert_eq!(stub.turns(MARK), tasks.len(), "one turn for each wake");
}

/// Waits until Hermes' notifier has been over every row, by a row that it may consume.
async fn notifier_passes(board: &Board) {
    let task = board.create("A decoy", "stub-worker").await;
    board.subscribe(&task, "api_server", "decoy").await;
    board.complete(&task, "decoy").await;
    eventually("Hermes' notifier consumes its row", SOON, async || {
        board.subscriptions(Some(&task)).await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_sessions_are_woken_beside_a_live_notifier() {
    let Some((stub, home)) = stage(|home| home.max_concurrent_runs(30)).await else {
        return;
    };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;
    let board = home.board();
    let tasks = everybody_asks(&gateway, &board, &[]).await;
    hermes_completes(&board, &tasks).await;
    ours.delivered(40, SOON).await;

    everybody_was_woken(&gateway, &stub, &tasks).await;
    assert_eq!(board.list().await.len(), tasks.len(), "a wake created a task");
    let rows = board.subscriptions(None).await;
    assert_eq!(rows.len(), tasks.len());
    for row in rows {
        assert_eq!(row["notifier_profile"], "kanban-gateway.default", "{row}");
    }
    cursors_are_at_the_end(&board).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_rows_outlive_a_killed_daemon() {
    let Some((stub, home)) = stage(|home| home.max_concurrent_runs(30)).await else {
        return;
    };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;
    let board = home.board();
    let tasks = everybody_asks(&gateway, &board, &[]).await;
    eventually("every row is adopted", SOON, async || {
        let rows = board.subscriptions(None).await;
        let ours = |row: &&Value| row["notifier_profile"] == "kanban-gateway.default";
        (rows.iter().filter(ours).count() == tasks.len()).then_some(())
    })
    .await;
    ours.kill().await;
    hermes_completes(&board, &tasks).await;
    notifier_passes(&board).await;
    ours.start().await;
    ours.delivered(40, SOON).await;

    everybody_was_woken(&gateway, &stub, &tasks).await;
    assert_eq!(board.list().await.len(), tasks.len() + 1, "a wake created a task");
    cursors_are_at_the_end(&board).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_born_ours_wait_for_a_daemon_that_never_ran() {
    let Some((stub, home)) = stage(|home| home.max_concurrent_runs(30)).await else {
        return;
    };
    let gateway = home.gateway().env("HERMES_PROFILE", "kanban-gateway").start().await;
    gateway.dispatching().await;
    let board = home.board();
    let tasks = everybody_asks(&gateway, &board, &["--notifier-profile", "kanban-gateway"]).await;
    hermes_completes(&board, &tasks).await;
    notifier_passes(&board).await;
    assert_eq!(board.subscriptions(None).await.len(), tasks.len(), "all were left alone");
    let mut ours = Ours::new(&home);
    ours.start().await;
    ours.delivered(40, SOON).await;

    everybody_was_woken(&gateway, &stub, &tasks).await;
    assert_eq!(board.list().await.len(), tasks.len() + 1, "a wake created a task");
    for row in board.subscriptions(None).await {
        assert_eq!(row["notifier_profile"], "kanban-gateway", "{row}");
    }
    cursors_are_at_the_end(&board).await;
}
