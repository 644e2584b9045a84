//! What happens to the jobs of a transaction that fails as a whole.

use std::sync::mpsc;

use diesel::connection::SimpleConnection as _;

use super::*;
use crate::ledger;

fn worker(folder: &tempfile::TempDir) -> Worker {
    let ledger = ledger::open(&folder.path().join("ledger.db")).unwrap();
    let instance = Instance::register(ledger.path()).unwrap();
    Worker::new(ledger, instance, oneshot::channel().0).unwrap()
}

/// A job that runs `sql`, and where its answer comes.
fn job(sql: &'static str) -> (Job, mpsc::Receiver<Result<(), PortError>>) {
    let (reply, answer) = mpsc::channel();
    let work = move |desk: &mut Desk<'_>| desk.conn.batch_execute(sql).map_err(during("testing"));
    let reply = move |outcome| reply.send(outcome).unwrap();
    (Job::new("testing", true, work, reply), answer)
}

const PAUSE: &str = "INSERT INTO pauses VALUES ('telegram', 1, '', 0, 1)";

fn pauses(worker: &mut Worker) -> usize {
    use diesel::RunQueryDsl as _;
    diesel::sql_query("DELETE FROM pauses").execute(worker.ledger.connection()).unwrap()
}

#[test]
fn a_job_that_fails_leaves_the_others_of_its_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(&folder);
    let (good, well) = job(PAUSE);
    let (bad, ill) =
        job("INSERT INTO pauses VALUES ('discord', 1, '', 0, 1); SELECT * FROM nothing");
    worker.batch(vec![bad, good]);
    well.recv().unwrap().unwrap();
    let error = ill.recv().unwrap().unwrap_err();
    assert_eq!(error.kind, PortErrorKind::Weather);
    assert_eq!(error.to_string(), "testing failed");
    assert_eq!(pauses(&mut worker), 1);
    assert!(!worker.broken);
}

#[test]
fn no_job_is_said_to_be_done_when_its_transaction_was_lost_and_the_next_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(&folder);
    let (good, well) = job(PAUSE);
    let (bad, ill) = job("ROLLBACK");
    worker.batch(vec![good, bad]);
    assert!(well.recv().unwrap().is_err(), "it was recorded, and is not any more");
    assert!(ill.recv().unwrap().is_err());
    assert!(worker.broken);
    let (again, well) = job(PAUSE);
    worker.batch(vec![again]);
    well.recv().unwrap().unwrap();
    assert!(worker.seen.unsure, "the engine has to read anew");
    assert_eq!(pauses(&mut worker), 1);
}

#[test]
fn a_ledger_that_vanished_is_not_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(&folder);
    worker.broken = true;
    let path = worker.ledger.path().to_owned();
    std::fs::remove_file(&path).unwrap();
    let (lost, ill) = job(PAUSE);
    worker.batch(vec![lost]);
    assert_eq!(ill.recv().unwrap().unwrap_err().kind, PortErrorKind::Unusable);
    assert!(!path.exists());
}

#[test]
fn d10_on_a_ledger_that_was_taken_away_nothing_is_begun_and_outcomes_are_still_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger::open(&folder.path().join("ledger.db")).unwrap();
    let instance = Instance::register(ledger.path()).unwrap();
    let (tell, mut told) = oneshot::channel();
    let mut worker = Worker::new(ledger, instance, tell).unwrap();
    let (before, well) = job(PAUSE);
    worker.batch(vec![before.beginning()]);
    well.recv().unwrap().unwrap();
    assert_eq!(pauses(&mut worker), 1);
    assert!(told.try_recv().unwrap().is_none());

    let log = ledger::beside(worker.ledger.path(), "-wal");
    std::fs::remove_file(&log).unwrap();
    let (begun, ill) = job(PAUSE);
    let (outcome, well) = job(PAUSE);
    worker.batch(vec![begun.beginning(), outcome]);
    assert_eq!(ill.recv().unwrap().unwrap_err().kind, PortErrorKind::Unusable);
    well.recv().unwrap().unwrap();
    assert_eq!(pauses(&mut worker), 1);
    let why = told.try_recv().unwrap().unwrap();
    assert!(why.to_string().contains("was removed, moved or replaced"), "{why}");
}

/// A leg that is open, of a subscription that does not matter.
const OPEN_LEG: &str = "PRAGMA foreign_keys = OFF; \
     INSERT INTO legs (id, subscription_id, event, kind, state, due_at, planned_at, failures, failed_turns, \
     epoch, alone, repeat, replay, dropped, reason, verdict, updated_at) \
     VALUES (1, 1, 1, 'ping', 'planned', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 0)";

#[test]
fn d10_a_claim_that_was_undone_makes_no_older_copy_of_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker(&folder);
    worker.ledger.connection().batch_execute(OPEN_LEG).unwrap();
    let mut claims_then = |sql: &'static str| {
        let (reply, answer) = mpsc::channel();
        let work = |desk: &mut Desk<'_>| {
            *desk.claim = 7;
            desk.conn.batch_execute(sql).map_err(during("testing"))
        };
        let reply = move |outcome| reply.send(outcome).unwrap();
        worker.batch(vec![Job::new("testing", true, work, reply)]);
        let (_, older) = worker.ledger.mark().unwrap();
        (answer.recv().unwrap().is_ok(), older.is_some())
    };
    assert_eq!(claims_then("SELECT * FROM nothing"), (false, false));
    // One that is said to be recorded, and is not in the ledger.
    assert_eq!(claims_then(PAUSE), (true, true));
}
