//! Processes that die, and those that take over (law D9).

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use diesel::connection::SimpleConnection as _;
use futures_executor::block_on;
use kanban_notify::{
    ids::LegId, leg::LegState, message::Destination, ports::Claims as _, record::IntentResult,
};
use kanban_store::{
    StoreError,
    ledger::{Instance, Operator, beside},
    ports::LedgerPort,
};

use crate::{
    domain::{board, disturbed, intend, intent, legs, open, outcome, owe, session, win, work},
    support::place,
};

const LEDGER: &str = "KANBAN_STORE_TEST_LEDGER";

/// Runs in a process of its own: records one claim and dies without a word.
#[test]
#[ignore = "the part of a process that is killed"]
fn dies_with_a_claim() {
    let Some(path) = env::var_os(LEDGER).map(PathBuf::from) else {
        return;
    };
    let port = open(&path);
    let ids = legs(&work(&port).owed);
    win(&port, "raw", &ids[..1]);
    std::process::abort();
}

fn kill_one(path: &Path) {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "instances::dies_with_a_claim", "--ignored"])
        .env(LEDGER, path)
        .output()
        .unwrap()
        .status;
    assert!(!status.success());
}

fn owing(path: &Path) -> (LedgerPort, Vec<LegId>) {
    let port = open(path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2])]));
    (port, ids)
}

fn instance_files(path: &Path) -> usize {
    fs::read_dir(beside(path, ".instances")).unwrap().count()
}

#[test]
fn what_a_killed_process_left_is_taken_over_once() {
    let (_folder, path) = place();
    let (port, ids) = owing(&path);
    let other = open(&path);
    assert!(disturbed(&port), "another one has come");
    assert!(!disturbed(&port) && !disturbed(&other));
    kill_one(&path);
    assert!(disturbed(&port) && disturbed(&other));
    let works = thread::scope(|scope| {
        let one = scope.spawn(|| work(&port));
        let two = scope.spawn(|| work(&other));
        [one.join().unwrap(), two.join().unwrap()]
    });
    let (mine, theirs): (Vec<_>, Vec<_>) = works.iter().partition(|work| !work.claims.is_empty());
    assert_eq!(mine.len(), 1, "one of them has it");
    let claim = &mine[0].claims[0];
    assert_eq!(claim.legs, ids[..1]);
    assert_eq!((claim.key.as_str(), claim.body.as_str()), ("key", "bytes"));
    assert_eq!(claim.reference, "ref");
    assert!(matches!(&claim.destination, Destination::Session { session, .. } if session == "raw"));
    assert_eq!(instance_files(&path), 2);
    let again = [work(&port), work(&other)];
    assert!(again.iter().all(|work| work.claims.is_empty()));
    let held = Operator::open(&path).unwrap().lanes().unwrap();
    let holders = [port.instance(), other.instance()];
    assert!(held.len() == 1 && holders.contains(&held[0].instance.as_str()));
    assert!(theirs.len() == 1 && !disturbed(&port) | !disturbed(&other));

    let settled = [&port, &other].map(|port| {
        let delivered = outcome(claim.id, &claim.legs, LegState::Delivered);
        block_on(port.settle(vec![delivered])).unwrap().len()
    });
    assert_eq!(settled.iter().sum::<usize>(), 1, "it is the taker's to settle");
    win(&other, "raw", &ids[1..]);
}

#[test]
fn what_an_instance_left_that_ended_in_order_is_taken_over_too() {
    let (_folder, path) = place();
    let (port, ids) = owing(&path);
    let claim = win(&port, "raw", &ids[..1]);
    let other = open(&path);
    assert_eq!(work(&other).claims, []);
    assert_eq!(intend(&other, intent("raw", "raw", &ids[1..])), IntentResult::Held);
    assert_eq!(intend(&other, intent("x", "x", &ids[..1])), IntentResult::Taken);
    assert!(!disturbed(&other));
    port.close();
    assert!(disturbed(&other), "it took itself off the list");
    let taken = work(&other).claims;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].id, claim);
    assert_eq!(work(&other).claims, []);
}

#[test]
fn own_changes_disturb_nobody_but_the_others() {
    let (_folder, path) = place();
    let (port, ids) = owing(&path);
    assert!(!disturbed(&port));
    let mut operator = Operator::open(&path).unwrap();
    assert!(!disturbed(&port), "opening writes nothing");
    win(&port, "raw", &ids[..1]);
    assert!(!disturbed(&port));
    operator.dead_drop(&[]).unwrap();
    assert!(!disturbed(&port), "nothing was written");
    operator.release(&[1]).unwrap();
    assert!(disturbed(&port));
    assert!(!disturbed(&port));
    assert_eq!(operator.instances().unwrap().len(), 1);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a lock file is no database")]
fn a_living_instance_is_not_dead_and_its_file_goes_with_it() {
    let (_folder, path) = place();
    let one = Instance::register(&path).unwrap();
    let two = Instance::register(&path).unwrap();
    assert!(!one.sees_dead().unwrap() && one.has_file(two.id()));
    // A killed process leaves its file, and nobody holds the lock.
    let left = beside(&path, ".instances").join("left.lock");
    File::create(&left).unwrap();
    let dead = one.dead().unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].id(), "left");
    assert!(!two.sees_dead().unwrap(), "the other one has it in hand");
    drop(dead);
    assert!(two.sees_dead().unwrap(), "and has put it back");
    for dead in two.dead().unwrap() {
        dead.bury().unwrap();
    }
    assert!(!left.exists());
    drop(one);
    drop(two);
    assert_eq!(instance_files(&path), 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the damage is done from outside")]
fn d10_damage_in_a_large_ledger_is_found_while_it_is_used() {
    let (_folder, path) = place();
    drop(open(&path));
    let mut plain = kanban_store::ledger::open(&path).unwrap();
    plain
        .connection()
        .batch_execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO claims (instance, lane, target, channel, chat, thread, key, reference, body,
                                 legs, state, verdict, detail, intended_at)
               SELECT 'me', 'x', 'chat', 'x', 'x', '', 'key-' || i, '', printf('%.*c', 3000, 'x'),
                      1, 'over', '', '', 1 FROM n;
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    drop(plain);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let page = file.metadata().unwrap().len() / 4_096 / 2 * 4_096;
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 4_096], page).unwrap();
    let port = LedgerPort::open(&path).unwrap();
    let lost = block_on(port.lost());
    assert!(matches!(&*lost, StoreError::LedgerDamaged { .. }), "{lost}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a lock file is no database")]
fn d9_those_who_live_are_told_by_their_locks() {
    let (_folder, path) = place();
    let (port, _) = owing(&path);
    let mut operator = Operator::open(&path).unwrap();
    let living = operator.living().unwrap();
    assert_eq!(living.len(), 1);
    assert_eq!(operator.living().unwrap(), living, "looking changes nothing");
    let id = &living[0].id;
    let lock = path.with_file_name(format!("{}.instances/{id}.lock", file_name(&path)));
    // As after a crash: it is listed, and its file is there with a free lock; or that is gone as well.
    std::fs::rename(&lock, lock.with_extension("kept")).unwrap();
    assert_eq!(operator.living().unwrap(), []);
    std::fs::copy(lock.with_extension("kept"), &lock).unwrap();
    assert_eq!(operator.living().unwrap(), []);
    assert_eq!(operator.instances().unwrap().len(), 1);
    port.close();
}

fn file_name(path: &std::path::Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}
