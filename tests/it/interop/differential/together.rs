//! Four of ours and four of Hermes write to one board at once.

use std::path::{Path, PathBuf};

use kanban_store::write::{self, Claimant, Completion, NewTask};

use super::*;
use crate::support::hermes::{Load, Summary};

/// How many writers of each kind.
const WRITERS: usize = 4;

/// About how long they write, on a machine of two cores.
const SECONDS: usize = 6;

/// So many writes a second are expected of each.
const PACE: usize = 120;

/// A command of a user is a process of its own: so long it takes to start.
const START: Duration = Duration::from_millis(4);

/// What one writer of ours did.
#[derive(Default)]
struct Done {
    completed: Vec<String>,
    comments: usize,
}

/// Tasks one after the other: made, claimed, talked about, completed.
fn write_ours(path: &Path, number: usize, writes: usize) -> Done {
    let mut board = OurBoard::open(path).expect("the board");
    let claimant = Claimant { lock: format!("ours:{number}"), seconds: 60 };
    let mut done = Done::default();
    // sleep: without it ours would be through before Hermes, which waits longer for the lock, begins.
    let pause = || std::thread::sleep(START);
    for turn in 0..writes / 4 {
        let now = BEGIN + i64::try_from(turn).expect("small");
        let new = NewTask { title: format!("ours {number} {turn}"), ..NewTask::default() };
        let task = write::create_task(&mut board, &new, now).expect("a task");
        pause();
        write::claim(&mut board, &task, &claimant, now).expect("a claim");
        pause();
        write::comment(&mut board, &task, "ours", "on it", now).expect("a comment");
        pause();
        let completion = Completion { result: None, summary: Some(format!("turn {turn}")) };
        write::complete(&mut board, &task, &completion, now).expect("a completion");
        pause();
        done.completed.push(task);
        done.comments += 1;
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn b4_four_of_ours_and_four_of_hermes_lose_nothing() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let board = home.board();
    let path: PathBuf = board.path();
    let writes = SECONDS * PACE;
    // Who holds the log: without it, Hermes' processes take it away from each other.
    let _guard = OurBoard::open(&path).expect("the board");

    let mut ready = Vec::new();
    for _ in 0..WRITERS {
        ready.push(Writer::start(&board).await);
    }
    let mut theirs = tokio::task::JoinSet::new();
    for mut writer in ready {
        theirs.spawn(async move {
            let summary = writer.load(Load { writes, ..Load::default() }).await;
            (summary, writer)
        });
    }
    let mut ours = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        let path = path.clone();
        ours.spawn_blocking(move || write_ours(&path, number, writes));
    }
    let (ours, theirs) = tokio::join!(ours.join_all(), theirs.join_all());

    let mut observer = Observer::new(&path);
    for (Summary { completed, errors, missing, elapsed_ms, .. }, writer) in theirs {
        // Hermes takes a checkpoint that is under way for damage, although its write stands.
        let (alarms, errors): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| error.contains("torn-extend"));
        println!("Hermes: {writes} writes in {elapsed_ms} ms, {} false alarms", alarms.len());
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(missing, Vec::<String>::new());
        assert!(completed.len() + alarms.len() >= writes / 4, "{} of {writes}", completed.len());
        assert!(completed.iter().all(|task| observer.status(task) == "done"));
        writer.stop().await;
    }
    for done in &ours {
        assert_eq!(done.completed.len(), writes / 4);
        assert!(done.completed.iter().all(|task| observer.status(task) == "done"));
    }
    let comments: usize = ours.iter().map(|done| done.comments).sum();
    let count = |observer: &mut Observer, of: &str| {
        usize::try_from(observer.number(&format!("SELECT count(*) AS number FROM {of}"))).unwrap()
    };
    assert_eq!(count(&mut observer, "task_comments WHERE author = 'ours'"), comments);
    let told = "task_events e JOIN tasks t ON t.id = e.task_id WHERE t.title LIKE 'ours %'";
    // Each of ours is created, claimed, talked about and completed, once.
    assert_eq!(count(&mut observer, told), 4 * comments);
    let end = |observer: &mut Observer, what: &str, by: &str| {
        observer.number(&format!(
            "SELECT {what}(e.id) AS number FROM task_events e JOIN tasks t ON t.id = e.task_id \
             WHERE t.title LIKE '{by} %'"
        ))
    };
    let [ours, theirs] =
        ["ours", "load"].map(|by| (end(&mut observer, "min", by), end(&mut observer, "max", by)));
    assert!(ours.0 < theirs.1 && theirs.0 < ours.1, "not at once: {ours:?}, {theirs:?}");
    assert_eq!(count(&mut observer, "task_runs WHERE claim_lock IS NOT NULL"), 0);
    let mut reader = Writer::start(&board).await;
    assert_eq!(reader.integrity_check().await, "ok");
    reader.stop().await;
}
