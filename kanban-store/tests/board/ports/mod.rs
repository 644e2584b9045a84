//! The ports over real boards: threads, news, trouble and its end (laws B4, B6, B7, F1).

#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

mod flow;
mod trouble;

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use futures_executor::block_on;
use kanban_notify::{
    ids::{BoardId, EventId},
    ports::{Boards, Change, Changes},
    record::{BoardStart, Pass, PassRequest, Position, RowChange, RowOutcome, Sweep},
    subscription::SubKey,
    time::Timestamp,
};
use kanban_store::ports::{BoardSet, LedgerPort, Pace};

use super::support::TestBoard;

/// Long enough for any machine; nothing waits for it when all is well.
const LONG: Duration = Duration::from_secs(20);

struct Running {
    set: BoardSet,
    _ledger: tempfile::TempDir,
    news: mpsc::Receiver<Change>,
}

impl Running {
    fn new(pace: Pace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerPort::open(&folder.path().join("ledger.db")).unwrap();
        let (set, mut changes) = BoardSet::new(Arc::new(ledger), pace);
        let (sender, news) = mpsc::channel();
        thread::spawn(move || {
            while let Some(change) = block_on(changes.next()) {
                if sender.send(change).is_err() {
                    return;
                }
            }
        });
        Self { set, _ledger: folder, news }
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

    fn read(&self, board: BoardId, after: &Position) -> Pass {
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
        resume: Vec::new(),
        watch: Vec::new(),
        aged: None,
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
