//! The whole loop with Hermes' dispatcher and notifier on, as on a user's machine: turns create
//! tasks, Hermes completes them, and each session that asked is woken, once.

use std::collections::BTreeMap;

use super::*;
use crate::support::hermes::{Gateway, answered, eventually};

/// Sessions that ask one after the other, and as many at the same time.
const EACH: usize = 20;

/// Makes every session ask for one task; answers the tasks by session.
async fn everybody_asks(client: &Client, board: &Board) -> BTreeMap<String, String> {
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
    tasks
}

/// Each session had its turn and one answered wake for its own task, and nothing else happened.
async fn everybody_was_woken(
    gateway: &Gateway,
    board: &Board,
    stub: &StubModel,
    tasks: &BTreeMap<String, String>,
) {
    let client = gateway.client();
    for (session, task) in tasks {
        let turns = client.turns(session).await;
        assert_eq!(turns.len(), 2, "{session}: {turns:?}");
        assert_eq!(answered(&turns, MARK), 1, "{session}: {turns:?}");
        assert!(turns[1].user.contains(task), "{session} is woken for {task}: {turns:?}");
        assert!(turns[1].tools.is_empty(), "{turns:?}");
    }
    let sessions = client.sessions().await;
    let names: Vec<String> = sessions.iter().map(|session| text(session, "id")).collect();
    assert_eq!(names.len(), tasks.len(), "stray sessions: {names:?}");
    assert_eq!(board.list().await.len(), tasks.len(), "a wake created a task");
    assert_eq!(stub.turns(MARK), tasks.len(), "one turn for each wake");
}

/// Waits until Hermes' notifier has been over every row: it has consumed one that is its own.
///
/// It "delivers" that row into a session of its own making, which is deleted from the count here.
async fn notifier_has_passed(board: &Board) {
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
    let t = std::time::Instant::now();
    let tasks = everybody_asks(&gateway.client(), &board).await;
    println!("asked {:?}", t.elapsed());
    let ids: Vec<String> = tasks.values().cloned().collect();
    board.complete_all(&ids, "done once").await;
    println!("completed {:?}", t.elapsed());
    ours.delivered(40, SOON).await;
    println!("delivered {:?}", t.elapsed());
    everybody_was_woken(&gateway, &board, &stub, &tasks).await;
    for row in board.subscriptions(None).await {
        assert_eq!(row["notifier_profile"], "kanban-gateway.default", "{row}");
        let newest = newest_event(&board, &text(&row, "task_id")).await;
        assert_eq!(row["last_event_id"], newest, "{row}");
    }
    assert_eq!(board.subscriptions(None).await.len(), tasks.len());
    println!("checked {:?}", t.elapsed());
}
