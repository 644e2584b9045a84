//! Which board a file is (law B6).

use std::{fs, path::Path, thread};

use kanban_notify::{
    error::PortError,
    ids::{BoardId, EventId, Incarnation},
    leg::LegState,
    record::{BoardStart, EventPrint, Position},
    subscription::Life,
};
use kanban_store::ports::{Evidence, Fingerprint, LedgerPort, Registrar as _};

use crate::{
    domain::{self, open, plan, record, session, work},
    support::place,
};

fn print(id: i64, hash: &str) -> EventPrint {
    EventPrint { id: EventId(id), hash: hash.to_owned() }
}

/// A file as it tells of itself: its oldest event, its sequence, and the print of event 9.
#[derive(Clone)]
struct Told {
    oldest: Option<EventPrint>,
    sequence: i64,
    nine: Option<EventPrint>,
}

fn told() -> Told {
    Told { oldest: Some(print(2, "two")), sequence: 12, nine: Some(print(9, "nine")) }
}

fn register(port: &LedgerPort, path: &Path, told: &Told) -> BoardStart {
    port.register(path, "one", &mut told.clone()).unwrap()
}

impl Evidence for Told {
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError> {
        let (oldest, sequence) = (self.oldest.clone(), self.sequence);
        Ok(Fingerprint { oldest, sequence, has_delivery_mode: true })
    }

    fn print_of(&mut self, id: EventId) -> Result<Option<EventPrint>, PortError> {
        Ok(self.nine.clone().filter(|print| print.id == id))
    }
}

/// A file that grows as soon as it was looked at, and another process that reads on at once.
struct Overtaken<'a>(&'a LedgerPort, BoardId);

impl Evidence for Overtaken<'_> {
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError> {
        let before = Told { sequence: 5, ..told() }.fingerprint();
        record(self.0, plan(self.1, vec![session("t_1", "raw", &[9])])).unwrap();
        before
    }

    fn print_of(&mut self, id: EventId) -> Result<Option<EventPrint>, PortError> {
        told().print_of(id)
    }
}

/// Two processes that start while there is news: neither takes the file for another one.
#[test]
fn b6_d9_what_another_process_reads_while_a_file_is_looked_at_is_no_loss() {
    let (_folder, path) = place();
    let (port, other) = (open(&path), open(&path));
    let board = Path::new("/boards/one.db");
    let id = register(&port, board, &Told { sequence: 5, nine: None, ..told() }).id;
    let start = other.register(board, "one", &mut Overtaken(&port, id)).unwrap();
    assert_eq!((start.id, start.incarnation), (id, Incarnation(1)));
    assert_eq!(register(&other, board, &told()).incarnation, Incarnation(1));
    assert_eq!(work(&other).owed.len(), 1);
}

/// A board that was read up to event 9, with one event owed.
fn read() -> (tempfile::TempDir, LedgerPort, std::path::PathBuf) {
    let (folder, path) = place();
    let port = open(&path);
    // Whether something is at a path is all that is asked here.
    let board = folder.path().join("board.db");
    fs::create_dir(&board).unwrap();
    let start = register(&port, &board, &told());
    assert_eq!(start.position, Position::default());
    assert_eq!(start.incarnation, Incarnation(1));
    assert!(start.has_delivery_mode);
    record(&port, plan(start.id, vec![session("t_1", "raw", &[9])])).unwrap();
    (folder, port, board)
}

#[test]
fn the_same_file_goes_on_where_it_was_left() {
    let grown = Told { oldest: Some(print(5, "five")), sequence: 40, ..told() };
    let swept = Told { oldest: None, nine: None, ..told() };
    for seen in [told(), grown, swept] {
        let (_folder, port, path) = read();
        let start = register(&port, &path, &seen);
        assert_eq!(start.incarnation, Incarnation(1));
        assert_eq!(start.position, plan(start.id, Vec::new()).position);
        assert_eq!(work(&port).owed.len(), 1);
    }
}

#[test]
fn another_file_begins_anew_and_nothing_of_the_old_one_counts() {
    let cases = [
        ("its sequence fell", Told { sequence: 11, ..told() }),
        ("its oldest event is another one", Told { oldest: Some(print(2, "zwei")), ..told() }),
        ("it has older events", Told { oldest: Some(print(1, "one")), ..told() }),
        ("the event read last is another one", Told { nine: Some(print(9, "neun")), ..told() }),
    ];
    for (what, seen) in cases {
        let (_folder, port, path) = read();
        let start = register(&port, &path, &seen);
        assert_eq!(start.id, BoardId(1), "{what}");
        assert_eq!(start.incarnation, Incarnation(2), "{what}");
        assert_eq!(start.position, Position::default(), "{what}");
        assert_eq!(work(&port).owed, [], "{what}");
        assert_eq!(register(&port, &path, &seen).incarnation, Incarnation(2));
        let mut anew = plan(start.id, vec![session("t_1", "raw", &[3])]);
        assert!(record(&port, anew.clone()).is_err(), "{what}: the old one is over");
        anew.incarnation = Incarnation(2);
        let planned = record(&port, anew).unwrap();
        assert_eq!(planned.owed[0].subscription.life, Life::Live);
        assert_eq!(planned.owed[0].legs.len(), 1);
    }
}

#[test]
fn what_is_in_flight_when_a_file_is_replaced_gets_its_outcome_and_no_retry() {
    use kanban_notify::ports::Claims as _;
    let (_folder, port, path) = read();
    let ids = domain::legs(&work(&port).owed);
    let claim = domain::win(&port, "raw", &ids);
    register(&port, &path, &Told { sequence: 1, ..told() });
    assert_eq!(work(&port).owed[0].legs[0].leg.state, LegState::Intended);
    let rewound = domain::outcome(claim, &ids, LegState::Retrying);
    let raises = futures_executor::block_on(port.settle(vec![rewound])).unwrap();
    assert_eq!(raises, [], "no cursor of the old file is raised on the new one");
    assert_eq!(work(&port).owed, []);
}

#[test]
fn a_moved_file_keeps_its_id_and_a_copy_does_not() {
    let (folder, port, path) = read();
    let copied = folder.path().join("copy.db");
    fs::create_dir(&copied).unwrap();
    assert_eq!(register(&port, &copied, &told()).id, BoardId(2));
    let moved = folder.path().join("moved.db");
    fs::rename(&path, &moved).unwrap();
    let start = register(&port, &moved, &told());
    assert_eq!((start.id, start.incarnation), (BoardId(1), Incarnation(1)));
    assert_eq!(start.position.event, EventId(9));
    let stranger = Told { oldest: Some(print(3, "three")), nine: None, ..told() };
    fs::remove_dir(&moved).unwrap();
    let other = folder.path().join("other.db");
    assert_eq!(register(&port, &other, &stranger).id, BoardId(3));
    let empty = Told { oldest: None, sequence: 0, nine: None };
    let last = folder.path().join("empty.db");
    assert_eq!(register(&port, &last, &empty).id, BoardId(4), "nothing to know it by");
}

#[test]
fn a_board_that_was_registered_empty_is_known_by_the_event_read_last() {
    let (folder, path) = place();
    let port = open(&path);
    let bare = Told { oldest: None, sequence: 0, nine: None };
    let start = register(&port, &folder.path().join("here.db"), &bare);
    record(&port, plan(start.id, vec![session("t_1", "raw", &[9])])).unwrap();
    let moved = register(&port, &folder.path().join("there.db"), &told());
    assert_eq!(moved.id, start.id);
    assert_eq!(moved.position.event, EventId(9));
}

#[test]
fn two_instances_that_see_a_board_at_once_agree() {
    for _ in 0..20 {
        let (_folder, path) = place();
        let ports = [open(&path), open(&path)];
        let starts = thread::scope(|scope| {
            let both = ports
                .each_ref()
                .map(|port| scope.spawn(|| register(port, Path::new("/boards/one.db"), &told())));
            both.map(|start| start.join().unwrap())
        });
        assert_eq!(starts[0], starts[1]);
        let again = Told { sequence: 3, ..told() };
        let starts = thread::scope(|scope| {
            let both = ports
                .each_ref()
                .map(|port| scope.spawn(|| register(port, Path::new("/boards/one.db"), &again)));
            both.map(|start| start.join().unwrap())
        });
        assert_eq!(starts[0].incarnation, Incarnation(2));
        assert_eq!(starts[0], starts[1], "replaced once");
    }
}
