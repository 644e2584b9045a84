//! Messages in several parts: progress that survives, and bytes that are kept for the rest (law D5).

use futures_executor::block_on;
use kanban_notify::{
    ids::{ClaimId, LegId},
    leg::{LegState, Tally},
    ports::Claims as _,
    record::{IntentResult, Settlement},
};
use kanban_store::ledger::{Operator, prune::Limits};

use crate::{
    domain::{board, intend, intent, legs, open, outcome, owe, session, win, work},
    support::{number, place},
};

const BODIES: Limits = Limits { outcomes_before: i64::MAX, bodies_before: i64::MAX };

/// What the engine has recorded once a receiver has accepted this part.
fn accepted(claim: ClaimId, legs: &[LegId]) -> Settlement {
    let mut settlement = outcome(claim, legs, LegState::Intended);
    settlement.verdict = "part";
    settlement.over = false;
    settlement.legs[0].tally.part = 1;
    settlement
}

#[test]
fn d5_a_kill_between_parts_leaves_the_number_of_the_next_one() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let owed = owe(&port, vec![session("t_1", "raw", &[1])]);
    let ids = legs(&owed);
    let claim = win(&port, "raw", &ids);
    block_on(port.settle(vec![accepted(claim, &ids)])).unwrap();
    port.close();
    drop(port);

    let after = open(&path);
    let left = work(&after);
    assert_eq!((left.claims.len(), left.claims[0].id), (1, claim));
    let leg = &left.owed[0].legs[0];
    assert_eq!((leg.leg.state, leg.leg.tally.part), (LegState::Intended, 1));
    assert_eq!(leg.begun.as_deref(), Some("bytes"));
    let mut file = kanban_store::ledger::open(&path).unwrap();
    let conn = file.connection();
    assert_eq!(number(conn, "SELECT COUNT(*) FROM attempts"), 0, "nothing has failed");
    assert_eq!(number(conn, "SELECT COUNT(*) FROM lanes"), 1, "the lane is held");
}

#[test]
fn d5_the_rest_of_a_message_keeps_its_bytes_as_long_as_it_waits() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1])]));
    let claim = win(&port, "raw", &ids);
    block_on(port.settle(vec![accepted(claim, &ids)])).unwrap();
    let rewound = |claim| {
        let mut settlement = outcome(claim, &ids, LegState::Retrying);
        settlement.verdict = "busy";
        settlement.legs[0].tally = Tally { part: 1, plain: true, parent: true, ..Tally::default() };
        settlement
    };
    block_on(port.settle(vec![rewound(claim)])).unwrap();

    let mut operator = Operator::over(kanban_store::ledger::open(&path).unwrap());
    operator.prune(BODIES).unwrap();
    let leg = work(&port).owed.remove(0).legs.remove(0);
    assert_eq!(leg.begun.as_deref(), Some("bytes"));
    let tally = leg.leg.tally;
    assert!(tally.plain && tally.parent && tally.part == 1);

    // An intent that rests on other counts is none; the right one goes on.
    let stale = intend(&port, intent("raw", "raw", &ids));
    assert_eq!(stale, IntentResult::Taken);
    let mut right = intent("raw", "raw", &ids);
    right.tallies = vec![tally];
    let IntentResult::Won(again) = intend(&port, right) else {
        panic!("not recorded");
    };
    let mut ended = outcome(again, &ids, LegState::Parked);
    ended.legs[0].tally = tally;
    block_on(port.settle(vec![ended])).unwrap();

    // An operator's retry goes on with the part that was not accepted, with its markup, in its thread.
    operator.prune(BODIES).unwrap();
    assert!(operator.dead_retry(&[ids[0].0]).unwrap()[0].done);
    let leg = work(&port).owed.remove(0).legs.remove(0);
    let tally = leg.leg.tally;
    assert_eq!((tally.part, tally.plain, tally.parent), (1, false, false));
    assert_eq!(leg.begun.as_deref(), Some("bytes"));
}
