//! Boards that go, come, break and are mistaken: trouble that is theirs alone.

use std::{
    thread,
    time::{Duration, Instant},
};

use futures_executor::block_on;
use kanban_notify::{
    error::PortErrorKind,
    ids::EventId,
    ports::{Boards, Change},
    record::{Position, RowOutcome},
};
use kanban_store::ports::Pace;

use super::{LONG, Running, board, nudged, polled, raise, request};
use crate::support::{SHAPE, TestBoard, create, files};

#[test]
fn a_lock_that_never_comes_free_is_weather() {
    let mut test = board();
    let running = Running::new(Pace { lock_patience: Duration::from_millis(20), ..nudged() });
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    test.run("BEGIN IMMEDIATE");
    let error = block_on(running.set.change(start.id, vec![raise(4)])).unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Weather);
    test.run("COMMIT");
    assert_eq!(running.raise(start.id, 4), [RowOutcome::Won]);
}

/// Field report 57.
#[test]
fn a_board_that_goes_is_waited_for_and_never_made() {
    let mut test = board();
    test.event("t_1", "completed");
    test.run("PRAGMA wal_checkpoint(TRUNCATE)");
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    let away = test.folder.path().join("away");
    std::fs::create_dir(&away).unwrap();
    let moved = away.join("kanban.db");
    std::fs::rename(&test.path, &moved).unwrap();
    let (id, why) = running.degraded();
    assert_eq!(id, start.id);
    assert!(why.contains("there is no board at"), "{why}");
    let error = block_on(running.set.read(start.id, request(&start.position))).unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Weather);
    assert!(!test.path.exists());
    std::fs::rename(&moved, &test.path).unwrap();
    let again = running.opened();
    assert_eq!((again.id, again.incarnation), (start.id, start.incarnation));
}

#[test]
fn a_board_that_is_not_there_yet_is_opened_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kanban.db");
    let running = Running::new(nudged());
    running.set.add(&path, "later").unwrap();
    let draft = folder.path().join("draft.db");
    drop(create(&draft, SHAPE));
    std::fs::rename(&draft, &path).unwrap();
    running.set.nudge_path(&folder.path().canonicalize().unwrap());
    assert_eq!(running.opened().slug, "later");
}

/// Field reports 56 and 167.
#[test]
fn garbage_is_reported_and_a_good_file_taken_up_again() {
    let mut test = board();
    test.event("t_1", "completed");
    let mut other = board();
    let running = Running::new(polled());
    running.set.add(&test.path, "one").unwrap();
    let start = running.opened();
    running.set.add(&other.path, "two").unwrap();
    let well = running.opened();
    running.read(well.id, &well.position);
    running.read(start.id, &start.position);

    let garbage = test.folder.path().join("garbage");
    std::fs::write(&garbage, [7_u8; 9000]).unwrap();
    // The foreign writer goes as well, so that its log does not stay beside another file.
    let TestBoard { folder, path, foreign } = test;
    drop(foreign);
    for name in ["kanban.db-wal", "kanban.db-shm"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    std::fs::rename(&garbage, &path).unwrap();
    let (id, why) = running.degraded();
    assert_eq!(id, start.id);
    assert!(why.contains("not a readable SQLite database"), "{why}");

    // The other board goes on meanwhile.
    other.event("t_1", "blocked");
    assert_eq!(running.next(), Change::Board(well.id));

    let restored = folder.path().join("restored.db");
    drop(create(&restored, SHAPE));
    std::fs::rename(&restored, &path).unwrap();
    let again = running.opened();
    assert_eq!(again.id, start.id);
    assert!(again.incarnation > start.incarnation);
    assert!(running.set.status().iter().all(|board| board.degraded.is_none()));
}

#[test]
fn a_file_that_contradicts_the_position_is_begun_anew() {
    let mut test = board();
    test.event("t_1", "completed");
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    let ahead = Position { event: EventId(50), ..Position::default() };
    let pass = running.read(start.id, &ahead);
    assert!(pass.replaced.is_some());
    assert_eq!(running.opened().id, start.id);
}

#[cfg(unix)]
#[test]
fn links_lead_to_one_board() {
    let test = board();
    let link = test.folder.path().join("link.db");
    std::os::unix::fs::symlink(&test.path, &link).unwrap();
    let hard = test.folder.path().join("hard.db");
    std::fs::hard_link(&test.path, &hard).unwrap();
    let running = Running::new(polled());
    assert!(running.set.add(&link, "link").unwrap());
    assert!(!running.set.add(&test.path, "plain").unwrap());
    let start = running.opened();
    assert!(running.set.add(&hard, "hard").unwrap());
    // The board that is served goes on; the alias is known as one when it has been tried.
    running.read(start.id, &start.position);
    let alias = || {
        let status = running.set.status();
        let hard = status.iter().find(|board| board.slug == "hard").unwrap();
        hard.degraded.as_ref().is_some_and(|reason| reason.as_str().contains("same file"))
    };
    let deadline = Instant::now() + LONG;
    while !alias() {
        assert!(Instant::now() < deadline, "the alias is not known as one");
        thread::yield_now();
    }
    assert!(!files(test.folder.path()).contains("hard.db-wal"));
}

#[test]
fn a_board_that_is_removed_is_let_go() {
    let test = board();
    let running = Running::new(nudged());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    let before = files(test.folder.path());
    assert!(running.set.remove(&test.path));
    assert!(!running.set.remove(&test.path));
    assert_eq!(running.degraded().0, start.id);
    let error = block_on(running.set.read(start.id, request(&start.position))).unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Closed);
    assert_eq!(files(test.folder.path()), before);
    running.set.close();
}
