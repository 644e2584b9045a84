//! What is forgotten, and what never is (law D10).

use diesel::connection::SimpleConnection as _;
use kanban_store::ledger::{
    Operator, ends, plan,
    prune::{Limits, Pruned},
    states::{DELIVERED, PARKED},
};

use crate::support::{copy, end, ledger, number, ping, plan as planned};

const ALL: Limits = Limits { outcomes_before: i64::MAX, bodies_before: i64::MAX };

#[test]
fn d10_only_outcomes_below_the_raised_cursor_go_and_high_water_marks_stay() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let legs = vec![ping("t_1", 1), ping("t_1", 2), ping("t_1", 3)];
    let done = plan::plan(conn, &planned(3, vec![copy("t_1", 3, legs)])).unwrap().unwrap();
    let ids: Vec<i64> = done.owed[0].legs.iter().map(|(leg, ..)| leg.id).collect();
    end(conn, &ids[..1], DELIVERED);
    end(conn, &ids[1..2], DELIVERED);
    let copy = done.owed[0].subscription.id;
    let mut operator = Operator::over(ledger);
    let nothing = Limits { outcomes_before: 0, bodies_before: 0 };
    assert_eq!(operator.prune(nothing).unwrap(), Pruned::default());
    let bodies = Limits { outcomes_before: 0, bodies_before: i64::MAX };
    assert_eq!(operator.prune(bodies).unwrap().bodies, 2);
    assert_eq!(operator.prune(bodies).unwrap().bodies, 0);
    let pruned = operator.prune(ALL).unwrap();
    assert_eq!((pruned.legs, pruned.claims), (0, 2), "no cursor is raised yet");

    let mut other = kanban_store::ledger::open(operator.ledger().path()).unwrap();
    let conn = other.connection();
    ends::note_raised(conn, copy, 1, 9).unwrap();
    let pruned = operator.prune(ALL).unwrap();
    assert_eq!((pruned.legs, pruned.events), (1, 1));
    assert_eq!(number(conn, "SELECT COUNT(*) FROM legs"), 2);
    let again = operator.prune(ALL).unwrap();
    assert_eq!(again, Pruned::default());
    assert_eq!(number(conn, "SELECT settled FROM subscriptions"), 2);
}

#[test]
fn a_dead_letter_waits_for_its_operator_and_a_gone_copy_for_its_legs() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let legs = vec![ping("t_1", 1), ping("t_1", 2)];
    let done = plan::plan(conn, &planned(2, vec![copy("t_1", 2, legs)])).unwrap().unwrap();
    let ids: Vec<i64> = done.owed[0].legs.iter().map(|(leg, ..)| leg.id).collect();
    end(conn, &ids[..1], PARKED);
    end(conn, &ids[1..], DELIVERED);
    ends::vanished(conn, done.owed[0].subscription.id, 9).unwrap();
    assert_eq!(number(conn, "SELECT COUNT(*) FROM attempts"), 1);
    let mut operator = Operator::over(ledger);
    let pruned = operator.prune(ALL).unwrap();
    assert_eq!((pruned.legs, pruned.subscriptions), (1, 0));
    operator.dead_drop(&ids[..1]).unwrap();
    let pruned = operator.prune(ALL).unwrap();
    assert_eq!((pruned.legs, pruned.events, pruned.subscriptions), (1, 1, 1));
    let mut other = kanban_store::ledger::open(operator.ledger().path()).unwrap();
    assert_eq!(number(other.connection(), "SELECT COUNT(*) FROM attempts"), 0, "with their leg");
}

#[test]
fn many_slices_are_one_pruning() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let legs = (1..=1_200).map(|event| crate::support::leg("t_1", event, "taken")).collect();
    let done = diesel::Connection::transaction(conn, |conn| {
        plan::plan(conn, &planned(1_200, vec![copy("t_1", 1_200, legs)]))
    })
    .unwrap()
    .unwrap();
    ends::note_raised(conn, done.owed[0].subscription.id, 1_200, 9).unwrap();
    let pruned = Operator::over(ledger).prune(ALL).unwrap();
    assert_eq!((pruned.legs, pruned.events), (1_200, 1_200));
}

#[test]
fn names_of_sessions_that_were_learnt_long_ago_are_forgotten() {
    let (_folder, mut ledger) = ledger();
    ledger
        .connection()
        .batch_execute("INSERT INTO aliases VALUES ('c', 'a', 'b', 5), ('c', 'x', 'y', 50)")
        .unwrap();
    let mut operator = Operator::over(ledger);
    let limits = Limits { outcomes_before: 10, bodies_before: 10 };
    assert_eq!(operator.prune(limits).unwrap().aliases, 1);
    assert_eq!(operator.prune(limits).unwrap(), Pruned::default());
}
