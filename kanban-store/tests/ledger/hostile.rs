//! A ledger in which somebody wrote anything, and one with damaged pages: an error at the worst, and never a
//! second delivery.

#![expect(clippy::disallowed_methods, reason = "damaged files are made on purpose")]

use std::{fs, path::Path, sync::LazyLock};

use diesel::{Connection as _, SqliteConnection, connection::SimpleConnection as _};
use futures_executor::block_on;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::{BoardId, ChannelName, LegId},
    leg::LegState,
    ports::{Backlog as _, Claims as _, Planner as _},
    record::Pause,
    verdict::Detail,
};
use kanban_store::{
    error::StoreError,
    ledger::{Operator, prune::Limits},
    ports::LedgerPort,
};
use proptest::prelude::*;

use crate::{
    domain::{at, board, legs, open, outcome, owe, plan, session, win},
    support::place,
};

/// How many cases are tried: so many, or as many as `KANBAN_GATEWAY_TEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("KANBAN_GATEWAY_TEST_CASES").ok();
    let cases = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual);
    println!("{cases} cases");
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Every column of every table.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("aliases", &["channel", "raw", "resolved", "learnt_at"]),
    (
        "boards",
        &[
            "id",
            "path",
            "slug",
            "incarnation",
            "oldest_event",
            "oldest_hash",
            "sequence",
            "position_event",
            "position_hash",
            "position_rowid",
            "position_row_print",
            "updated_at",
        ],
    ),
    (
        "claims",
        &[
            "id",
            "instance",
            "lane",
            "target",
            "channel",
            "chat",
            "thread",
            "key",
            "reference",
            "body",
            "legs",
            "state",
            "verdict",
            "detail",
            "intended_at",
            "settled_at",
        ],
    ),
    (
        "events",
        &[
            "board_id",
            "incarnation",
            "event",
            "kind",
            "task",
            "title",
            "assignee",
            "handoff",
            "session",
            "notes",
            "written_at",
            "print",
        ],
    ),
    ("lanes", &["lane", "claim_id"]),
    (
        "legs",
        &[
            "id",
            "subscription_id",
            "event",
            "kind",
            "state",
            "claim_id",
            "due_at",
            "planned_at",
            "failures",
            "failed_turns",
            "epoch",
            "alone",
            "repeat",
            "replay",
            "part",
            "plain",
            "parent",
            "dropped",
            "reason",
            "verdict",
            "first_attempt_at",
            "last_attempt_at",
            "updated_at",
        ],
    ),
    ("pauses", &["channel", "until", "reason", "credential", "updated_at"]),
    (
        "subscriptions",
        &[
            "id",
            "board_id",
            "incarnation",
            "task",
            "platform",
            "chat",
            "thread",
            "created_at",
            "profile",
            "adopted",
            "previous_owner",
            "mode",
            "baseline",
            "seen",
            "settled",
            "board_cursor",
            "archived_event",
            "life",
            "updated_at",
        ],
    ),
];

/// A ledger with something of everything; how many legs are open in it.
fn fill(path: &Path) -> usize {
    let port = open(path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(
        &port,
        vec![session("t_1", "raw", &[1, 2, 3, 4]), session("t_2", "other", &[5])],
    ));
    let settle = |claim, ids: &[LegId], state| {
        block_on(port.settle(vec![outcome(claim, ids, state)])).unwrap();
    };
    settle(win(&port, "raw", &ids[..2]), &ids[..2], LegState::Delivered);
    settle(win(&port, "raw", &ids[2..3]), &ids[2..3], LegState::Parked);
    let claim = win(&port, "other", &ids[4..]);
    let mut unknown = outcome(claim, &ids[4..], LegState::Unknown);
    unknown.alias = Some(("other".into(), "newer".into()));
    unknown.pause = Some(Pause {
        channel: ChannelName::api_server("default"),
        until: at(9_000_000),
        reason: Detail::new("refused"),
        credential: true,
    });
    block_on(port.settle(vec![unknown])).unwrap();
    2
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value of any type, as SQL; none is the name of a state in which something is to be done.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("NULL".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        prop::sample::select(vec!["0", "-1", "2", "9223372036854775807", "-9223372036854775808"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["9e999", "0.5", "1e300"]).prop_map(str::to_owned),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| format!("x'{}'", hex(&bytes))),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|bytes| format!("CAST(x'{}' AS TEXT)", hex(&bytes))),
        any::<String>().prop_map(|text| format!("CAST(x'{}' AS TEXT)", hex(text.as_bytes()))),
        prop::sample::select(vec!["", "live", "delivered", "chat", "[]", "{", "../x"])
            .prop_map(|text| format!("'{text}'")),
        Just("printf('%.*c', 3000000, 'x')".to_owned()),
    ]
}

/// Anything but a thread that is gone: that would be a panic.
fn survived<T>(answer: Result<T, PortError>) -> Option<T> {
    answer
        .inspect_err(|error| {
            assert!(error.kind != PortErrorKind::Closed, "{error:?}");
            assert!(!error.source.to_string().is_empty());
        })
        .ok()
}

/// Uses all of a ledger; answers how many legs would be sent.
fn visit(path: &Path) -> usize {
    let operated = || {
        let mut operator = Operator::open(path)?;
        // Each by itself: one that cannot be answered says nothing about the others.
        let answers: [Result<(), StoreError>; 12] = [
            operator.dead_list(true).map(drop),
            operator.waiting_list().map(drop),
            operator.latest("one", 10).map(drop),
            operator.of_task("one", "t_1").map(drop),
            operator.dead_show(3).map(drop),
            operator.replay_preview(&Default::default()).map(drop),
            operator.counts().map(drop),
            operator.boards_list().map(drop),
            operator.lanes().map(drop),
            operator.pauses().map(drop),
            operator.instances().map(drop),
            operator.prune(Limits { outcomes_before: i64::MAX, bodies_before: i64::MAX }).map(drop),
        ];
        for error in answers.into_iter().filter_map(Result::err) {
            assert!(!error.to_string().is_empty());
        }
        Ok::<_, StoreError>(())
    };
    if let Err(error) = operated() {
        assert!(!error.to_string().is_empty());
    }
    let Ok(port) = LedgerPort::open(path) else { return 0 };
    survived(block_on(port.copies(BoardId(1), vec!["t_1".into(), "t_2".into()])));
    let work = survived(block_on(port.open_work(Vec::new())));
    let owed = work.iter().flat_map(|work| &work.owed).flat_map(|owed| &owed.legs);
    let sendable = owed.filter(|leg| !leg.leg.state.is_final()).count();
    let again = plan(BoardId(1), vec![session("t_3", "third", &[6])]);
    survived(block_on(port.plan(again)));
    sendable
}

/// How many legs are open in a filled ledger, and its file.
static BASE: LazyLock<(usize, Vec<u8>)> = LazyLock::new(|| {
    let (_folder, path) = place();
    let open = fill(&path);
    let copy = path.with_file_name("copy.db");
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute(&format!("VACUUM INTO '{}'", copy.display())).unwrap();
    (open, fs::read(copy).unwrap())
});

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn d10_whatever_stands_in_a_ledger_nothing_is_sent_for_it_a_second_time(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_i64..6, value()), 1..4),
    ) {
        let (_folder, path) = place();
        let (open, base) = &*BASE;
        fs::write(&path, base).unwrap();
        let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        connection.batch_execute("PRAGMA ignore_check_constraints = ON").unwrap();
        let mut said = Vec::new();
        for (table, column, row, value) in changes {
            let (table, columns) = COLUMNS[table.index(COLUMNS.len())];
            let column = columns[column.index(columns.len())];
            let one = format!("(SELECT rowid FROM {table} LIMIT 1 OFFSET {row})");
            let statement = format!("UPDATE OR IGNORE {table} SET {column} = {value} WHERE rowid = {one}");
            // What the table itself refuses cannot be there.
            if connection.batch_execute(&statement).is_ok() {
                said.push(statement);
            }
        }
        drop(connection);
        let sendable = visit(&path);
        prop_assert!(sendable <= *open, "{sendable} of {open}: {said:?}");
    }

    #[test]
    fn d10_a_damaged_ledger_is_an_error_at_the_worst(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        end in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let (_folder, path) = place();
        let mut bytes = BASE.1.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        fs::write(&path, bytes).unwrap();
        visit(&path);
    }
}

#[test]
fn a_filled_ledger_is_read_as_a_whole() {
    let (_folder, path) = place();
    let open = fill(&path);
    assert_eq!(visit(&path), open);
}

#[test]
fn d10_an_older_copy_of_the_ledger_is_known_for_one_until_it_has_nothing_open() {
    let (folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let open_legs = legs(&owe(&port, vec![session("t_1", "s", &[5])]));
    port.close();
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();

    let port = open(&path);
    let claim = win(&port, "s", &open_legs);
    let delivered = |claim| vec![outcome(claim, &open_legs, LegState::Delivered)];
    block_on(port.settle(delivered(claim))).unwrap();
    assert_eq!(block_on(port.open_work(Vec::new())).unwrap().older, None);
    port.close();

    fs::copy(&copy, &path).unwrap();
    let first = open(&path);
    let since = block_on(first.open_work(Vec::new())).unwrap().older;
    assert!(since.is_some());
    // Also for one that comes later, and for the next one: nothing was settled meanwhile.
    let second = open(&path);
    assert_eq!(block_on(second.open_work(Vec::new())).unwrap().older, since);
    first.close();
    second.close();
    let third = open(&path);
    assert_eq!(block_on(third.open_work(Vec::new())).unwrap().older, since);
    let again = win(&third, "s", &open_legs);
    block_on(third.settle(delivered(again))).unwrap();
    third.close();
    assert_eq!(block_on(open(&path).open_work(Vec::new())).unwrap().older, None);
}
