//! Ledgers in temporary folders, and plain plans to fill them.

use std::{fmt::Write as _, path::PathBuf};

use diesel::{QueryableByName, RunQueryDsl as _, SqliteConnection, sql_types};
use kanban_store::ledger::{
    self, Ledger,
    boards::{self, Marks, PositionRow, Sighting},
    claims::{self, Intended, IntentRow, TallyRow},
    outcomes::{self, OutcomeRow, SettlementRow},
    plan::{CopyKey, CopyPlan, LegPlan, PlanRows},
    rows::EventRow,
    states,
};
use tempfile::TempDir;

/// A folder with a ledger's path in it; no file yet.
pub fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    (folder, path)
}

/// An open ledger with one board, which has the id 1.
pub fn ledger() -> (TempDir, Ledger) {
    let (folder, path) = place();
    let mut ledger = ledger::open(&path).unwrap();
    board(ledger.connection(), "/boards/one.db");
    (folder, ledger)
}

/// Registers a board that nobody saw before.
pub fn board(conn: &mut SqliteConnection, path: &str) -> i64 {
    let marks = Marks { oldest: None, sequence: 0 };
    boards::record(conn, path, "one", &marks, &Sighting::New, 0).unwrap().unwrap().id
}

/// A plan for board 1 up to `position`.
pub fn plan(position: i64, subscriptions: Vec<CopyPlan>) -> PlanRows {
    PlanRows {
        board: 1,
        incarnation: 1,
        position: PositionRow { event: position, ..PositionRow::default() },
        subscriptions,
        closes: Vec::new(),
        at: 1_000,
    }
}

/// A live Telegram subscription of `task`, judged up to `seen`.
pub fn copy(task: &str, seen: i64, legs: Vec<LegPlan>) -> CopyPlan {
    CopyPlan {
        key: CopyKey {
            task: task.to_owned(),
            platform: "telegram".to_owned(),
            chat: "42".to_owned(),
            thread: String::new(),
            created_at: 500,
        },
        profile: "default".to_owned(),
        adopted: None,
        mode: String::new(),
        baseline: 0,
        seen,
        cursor: 0,
        archived: None,
        life: states::LIVE.to_owned(),
        legs,
    }
}

/// A ping for an event of `task`.
pub fn ping(task: &str, event: i64) -> LegPlan {
    leg(task, event, states::PLANNED)
}

/// A ping in some state.
pub fn leg(task: &str, event: i64, state: &str) -> LegPlan {
    LegPlan {
        event: EventRow {
            board_id: 1,
            incarnation: 1,
            event,
            kind: "completed".to_owned(),
            task: task.to_owned(),
            title: "Build report".to_owned(),
            assignee: None,
            handoff: Some("done".to_owned()),
            session: None,
            notes: "[]".to_owned(),
            written_at: event * 10,
            print: format!("print-{event}"),
        },
        kind: "ping".to_owned(),
        state: state.to_owned(),
        reason: String::new(),
        planned_at: 1_000,
    }
}

/// An intent of a ping in a lane of its own.
pub fn intent(legs: &[i64], lane: &str) -> IntentRow {
    IntentRow {
        lane: lane.to_owned(),
        target: "chat".to_owned(),
        channel: "telegram".to_owned(),
        chat: "42".to_owned(),
        thread: String::new(),
        legs: legs.to_vec(),
        tallies: vec![TallyRow::default(); legs.len()],
        key: format!("key-{lane}"),
        reference: String::new(),
        body: "bytes".to_owned(),
        at: 2_000,
    }
}

/// The outcome of a claim that is over, the same for each leg.
pub fn outcome(claim: i64, legs: &[i64], state: &str) -> SettlementRow {
    SettlementRow {
        claim,
        verdict: state.to_owned(),
        detail: String::new(),
        legs: legs
            .iter()
            .map(|leg| OutcomeRow {
                leg: *leg,
                state: state.to_owned(),
                tally: TallyRow::default(),
                due_at: 0,
                reason: String::new(),
            })
            .collect(),
        over: true,
        alias: None,
        pause: None,
        at: 3_000,
    }
}

/// Intends and settles legs in one go.
pub fn end(conn: &mut SqliteConnection, legs: &[i64], state: &str) {
    let Intended::Won(claim) = claims::intend(conn, "me", &intent(legs, "lane")).unwrap() else {
        panic!("the legs could not be claimed");
    };
    let settlements = [outcome(claim, legs, state)];
    let (_, ignored) = outcomes::settle_all(conn, "me", &settlements).unwrap();
    assert!(ignored.is_empty());
}

/// One number of one row.
pub fn number(conn: &mut SqliteConnection, sql: &str) -> i64 {
    let row: Number =
        diesel::sql_query(format!("SELECT ({sql}) AS number")).get_result(conn).unwrap();
    row.number
}

/// One text of one row.
pub fn text(conn: &mut SqliteConnection, sql: &str) -> String {
    let row: Text = diesel::sql_query(format!("SELECT ({sql}) AS text")).get_result(conn).unwrap();
    row.text
}

/// Every row of every table, for comparing.
pub fn content(conn: &mut SqliteConnection) -> String {
    let mut all = String::new();
    for (table, columns) in [
        ("boards", "id||path||incarnation||position_event||position_rowid"),
        (
            "subscriptions",
            "id||task||adopted||COALESCE(previous_owner,'-')||seen||' '||settled||' '||board_cursor||life||' '||updated_at",
        ),
        ("events", "event||title||print"),
        (
            "legs",
            "id||' '||subscription_id||' '||event||kind||state||COALESCE(claim_id,'-')||reason||' '||updated_at",
        ),
        ("claims", "id||lane||state||verdict"),
        ("lanes", "lane||claim_id"),
    ] {
        let rows: Vec<Text> =
            diesel::sql_query(format!("SELECT {columns} AS text FROM {table} ORDER BY 1"))
                .load(conn)
                .unwrap();
        for row in rows {
            writeln!(all, "{table}: {}", row.text).unwrap();
        }
    }
    all
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = sql_types::BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct Text {
    #[diesel(sql_type = sql_types::Text)]
    text: String,
}
