//! The ports over real boards: threads, news, trouble and its end (laws B4, B6, B7, F1).

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use futures_executor::block_on;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::{BoardId, EventId, Incarnation},
    ports::{Boards, Change, Changes},
    record::{
        BoardStart, EventPrint, PassRequest, Position, RowChange, RowOutcome, Sweep,
    },
    subscription::SubKey,
    time::Timestamp,
    verdict::Detail,
};
use kanban_store::ports::{BoardSet, Fingerprint, Pace, Registrar};

use super::support::{SHAPE, TestBoard, create, files};

/// Long enough for any machine; nothing waits for it when all is well.
const LONG: Duration = Duration::from_secs(20);

/// Remembers boards by path, as the ledger does by more.
#[derive(Default)]
struct Memory(Mutex<HashMap<PathBuf, (BoardStart, Option<EventPrint>, i64)>>);

impl Registrar for Memory {
    fn register(
        &self,
        path: &Path,
        slug: &str,
        fingerprint: Fingerprint<'_>,
    ) -> Result<BoardStart, PortError> {
        let mut known = self.0.lock().unwrap();
        let next = i64::try_from(known.len()).unwrap() + 1;
        let (start, oldest, sequence) = known.entry(path.into()).or_insert_with(|| {
            let start = BoardStart {
                id: BoardId(next),
                slug: slug.into(),
                incarnation: Incarnation(1),
                position: Position::default(),
                has_delivery_mode: true,
            };
            (start, fingerprint.oldest.clone(), fingerprint.sequence)
        });
        let other = oldest.as_ref().is_some_and(|oldest| {
            (fingerprint.print_of)(oldest.id).unwrap().as_ref() != Some(oldest)
        });
        if other || fingerprint.sequence < *sequence {
            start.incarnation.0 += 1;
        }
        *oldest = fingerprint.oldest;
        *sequence = fingerprint.sequence;
        Ok(start.clone())
    }
}

struct Running {
    set: BoardSet,
    news: mpsc::Receiver<Change>,
}

impl Running {
    fn new(pace: Pace) -> Self {
        let (set, mut changes) = BoardSet::new(Arc::new(Memory::default()), pace);
        let (sender, news) = mpsc::channel();
        thread::spawn(move || {
            while let Some(change) = block_on(changes.next()) {
                if sender.send(change).is_err() {
                    return;
                }
            }
        });
        Self { set, news }
    }

    fn next(&self) -> Change {
        self.news.recv_timeout(LONG).expect("news within the time")
    }

    fn opened(&self) -> BoardStart {
        match self.next() {
            Change::Opened(start) => start,
            other => panic!("not opened: {other:?}"),
        }
    }

    fn degraded(&self) -> (BoardId, String) {
        match self.next() {
            Change::Degraded(id, why) => (id, why.as_str().to_owned()),
            other => panic!("not degraded: {other:?}"),
        }
    }

    fn read(&self, board: BoardId, after: &Position) -> kanban_notify::record::Pass {
        block_on(self.set.read(board, request(after))).unwrap()
    }

    fn raise(&self, board: BoardId, to: i64) -> Vec<RowOutcome> {
        block_on(self.set.change(board, vec![raise(to)])).unwrap()
    }
}

/// Nothing but nudges starts a look.
fn nudged() -> Pace {
    Pace {
        poll: Duration::from_secs(3600),
        retry_first: Duration::from_secs(3600),
        retry_most: Duration::from_secs(3600),
        ..Pace::WATCHED
    }
}

/// Nothing but looks finds anything.
fn polled() -> Pace {
    Pace {
        poll: Duration::from_millis(1),
        retry_first: Duration::from_millis(5),
        retry_most: Duration::from_millis(20),
        ..Pace::UNWATCHED
    }
}

fn request(after: &Position) -> PassRequest {
    PassRequest {
        after: after.clone(),
        sweep: Sweep::No,
        limit: 100,
        watch: Vec::new(),
    }
}

fn raise(to: i64) -> RowChange {
    RowChange::Raise {
        key: SubKey {
            task: "t_1".into(),
            platform: "api_server".into(),
            chat: "a".into(),
            thread: String::new(),
        },
        created_at: Timestamp::from_secs(150),
        to: EventId(to),
    }
}

fn board() -> TestBoard {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    test
}

fn wal(test: &TestBoard) -> PathBuf {
    test.path.canonicalize().unwrap().with_file_name("kanban.db-wal")
}

#[test]
fn a_commit_is_told_after_a_nudge_and_read_once() {
    let mut test = board();
    let running = Running::new(nudged());
    assert!(running.set.add(&test.path, "default").unwrap());
    assert!(!running.set.add(&test.path, "default").unwrap());
    let start = running.opened();
    assert!(!start.has_delivery_mode);
    let pass = running.read(start.id, &start.position);
    assert_eq!(pass.rows.len(), 1);

    let event = test.event("t_1", "completed");
    running.set.nudge_path(&wal(&test));
    assert_eq!(running.next(), Change::Board(start.id));
    let pass = running.read(start.id, &pass.next);
    assert_eq!(pass.events[0].id, EventId(event));
    assert_eq!(pass.next.event_print.as_ref().unwrap().id, EventId(event));
    assert_eq!(running.raise(start.id, event), [RowOutcome::Won]);
    assert_eq!(test.cursor("t_1"), event);

    running.set.announce(Change::Degraded(BoardId(99), Detail::new("from elsewhere")));
    assert_eq!(running.degraded().0, BoardId(99));
    let status = running.set.status();
    assert_eq!((status[0].id, status[0].degraded.clone()), (Some(start.id), None));
}

#[test]
fn a_commit_is_found_without_any_nudge() {
    let mut test = board();
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    running.read(start.id, &start.position);
    for _ in 0..20 {
        test.event("t_1", "completed");
        assert_eq!(running.next(), Change::Board(start.id));
        running.read(start.id, &start.position);
    }
}

#[test]
fn our_own_raises_are_no_news() {
    let test = board();
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    running.read(start.id, &start.position);
    for to in 1..=60 {
        assert_eq!(running.raise(start.id, to), [RowOutcome::Won]);
    }
    let marker = Change::Degraded(BoardId(99), Detail::new("marker"));
    running.set.announce(marker.clone());
    assert_eq!(running.next(), marker);
}

/// Field report 63.
#[test]
fn a_held_lock_stops_changes_and_not_reads() {
    let mut test = board();
    let running = Running::new(nudged());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    test.run("BEGIN IMMEDIATE");
    let set = running.set.clone();
    let changing = thread::spawn(move || block_on(set.change(start.id, vec![raise(4), raise(2)])));
    for _ in 0..50 {
        assert_eq!(running.read(start.id, &start.position).rows.len(), 1);
    }
    test.run("COMMIT");
    assert_eq!(
        changing.join().unwrap().unwrap(),
        [RowOutcome::Won, RowOutcome::Won]
    );
    assert_eq!(test.cursor("t_1"), 4);
}

#[test]
fn a_lock_that_never_comes_free_is_weather() {
    let mut test = board();
    let running = Running::new(Pace {
        lock_patience: Duration::from_millis(20),
        ..nudged()
    });
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    test.run("BEGIN IMMEDIATE");
    let error = block_on(running.set.change(start.id, vec![raise(4)])).unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Weather);
    test.run("COMMIT");
    assert_eq!(running.raise(start.id, 4), [RowOutcome::Won]);
}

#[test]
fn many_changes_are_answered_in_order() {
    let mut test = board();
    test.run("BEGIN");
    for n in 0..700 {
        test.subscribe("t_2", &format!("c{n}"), 0);
    }
    test.run("COMMIT");
    let running = Running::new(nudged());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    let changes: Vec<RowChange> = (0..700)
        .map(|n| RowChange::Raise {
            key: SubKey {
                task: if n % 3 == 0 { "t_none" } else { "t_2" }.into(),
                platform: "api_server".into(),
                chat: format!("c{n}"),
                thread: String::new(),
            },
            created_at: Timestamp::from_secs(150),
            to: EventId(9),
        })
        .collect();
    let outcomes = block_on(running.set.change(start.id, changes)).unwrap();
    assert_eq!(outcomes.len(), 700);
    for (n, outcome) in outcomes.iter().enumerate() {
        let wanted = if n % 3 == 0 { RowOutcome::Gone } else { RowOutcome::Won };
        assert_eq!(*outcome, wanted);
    }
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
    let TestBoard {
        folder,
        path,
        foreign,
    } = test;
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
    let ahead = Position {
        event: EventId(50),
        ..Position::default()
    };
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
        hard.degraded.clone().unwrap().as_str().contains("same file")
    };
    while !alias() {
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
