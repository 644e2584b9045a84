//! Claims through the ports: lanes, races, outcomes (laws D1, D3, D4, D6, D9).

use std::{collections::BTreeMap, sync::Barrier, thread};

use futures_executor::block_on;
use kanban_notify::{
    error::PortErrorKind,
    ids::{BoardId, ChannelName, EventId, LegId},
    leg::{LegState, Tally},
    ports::{Claims as _, Planner as _},
    record::{Intent, IntentResult, Pause, RecentWake, RowOutcome},
    subscription::Life,
    verdict::Detail,
};

use crate::{
    domain::{
        at, board, disturbed, intend, intent, legs, open, outcome, owe, plan, record, session, win,
        work,
    },
    support::place,
};

#[test]
fn what_is_planned_comes_back_whole() {
    let (_folder, path) = place();
    let port = open(&path);
    let id = board(&port, "/boards/one.db");
    let wanted = session("t_1", "raw", &[7, 8]);
    let owed = owe(&port, vec![wanted.clone()]);
    assert_eq!(owed[0].board, id);
    assert_eq!(owed[0].slug, "one");
    assert_eq!(owed[0].subscription.key, wanted.key);
    assert_eq!(owed[0].subscription.created_at, wanted.created_at);
    let facts: Vec<_> = owed[0].legs.iter().map(|leg| leg.facts.clone()).collect();
    let planned: Vec<_> = wanted.legs.iter().map(|leg| leg.facts.clone()).collect();
    assert_eq!(facts, planned);
    assert_eq!(owed[0].legs[0].leg.claim, None);
    assert_eq!(work(&port).owed, owed);
    let copies = block_on(port.copies(id, vec!["t_1".to_owned(), "t_1".to_owned()])).unwrap();
    assert_eq!(copies, [owed[0].subscription.clone()]);
    assert_eq!(block_on(port.copies(BoardId(9), vec!["t_1".to_owned()])).unwrap(), []);
}

#[test]
fn d4_a_lane_is_held_by_one_claim_until_it_is_over() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2, 3])]));
    let claim = win(&port, "raw", &ids[..1]);
    assert_eq!(intend(&port, intent("raw", "raw", &ids[1..2])), IntentResult::Held);
    let unknown = outcome(claim, &ids[..1], LegState::Unknown);
    assert_eq!(block_on(port.settle(vec![unknown])).unwrap(), []);
    assert_eq!(intend(&port, intent("raw", "raw", &ids[1..2])), IntentResult::Held);
    let open_legs = work(&port).owed.remove(0).legs;
    assert_eq!(open_legs[0].leg.state, LegState::Unknown);
    assert_eq!(open_legs[0].leg.claim, Some(claim));
    let delivered = outcome(claim, &ids[..1], LegState::Delivered);
    let raises = block_on(port.settle(vec![delivered.clone()])).unwrap();
    assert_eq!(raises[0].to, EventId(1));
    assert_eq!(block_on(port.settle(vec![delivered])).unwrap(), [], "it is over");
    win(&port, "raw", &ids[1..2]);
}

/// What is known of it from before says neither that it may be a repeat, nor when it is due.
#[test]
fn d9_a_leg_that_somebody_else_had_an_attempt_at_is_not_claimed_as_it_was_before() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1])]));
    let other = open(&path);
    let before = intent("raw", "raw", &ids);
    let claim = win(&port, "raw", &ids);
    let mut unknown = outcome(claim, &ids, LegState::Retrying);
    let tally = Tally { epoch: 1, repeat: true, ..Tally::default() };
    unknown.legs[0].tally = tally;
    block_on(port.settle(vec![unknown])).unwrap();
    for other_tally in [
        Tally::default(),
        Tally { repeat: false, ..tally },
        Tally { epoch: 0, ..tally },
        Tally { failures: 1, ..tally },
        Tally { failed_turns: 1, ..tally },
        Tally { alone: true, ..tally },
        Tally { replay: true, ..tally },
    ] {
        let stale = Intent { tallies: vec![other_tally], ..before.clone() };
        assert_eq!(intend(&other, stale), IntentResult::Taken, "{other_tally:?}");
    }
    let known = work(&other).owed[0].legs[0].leg.tally;
    assert_eq!(known, tally);
    let again = Intent { tallies: vec![known], ..before };
    assert!(matches!(intend(&other, again), IntentResult::Won(_)));
}

#[test]
fn d6_an_intent_that_is_lost_leaves_nothing_and_harms_no_other() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2, 3])]));
    let claim = win(&port, "a", &ids[..1]);
    let results = block_on(port.intend(vec![
        intent("b", "b", &[ids[1], ids[0]]),
        intent("b", "b", &[ids[1]]),
        intent("c", "c", &[]),
        intent("c", "c", &[LegId(999)]),
        intent("c", "c", &[ids[2]]),
    ]))
    .unwrap();
    assert_eq!(results[0], IntentResult::Taken);
    assert!(matches!(results[1], IntentResult::Won(_)), "its leg was left free");
    assert_eq!(results[2], IntentResult::Taken);
    assert_eq!(results[3], IntentResult::Taken);
    assert!(matches!(results[4], IntentResult::Won(_)));
    let rewound = outcome(claim, &ids[..1], LegState::Retrying);
    block_on(port.settle(vec![rewound])).unwrap();
    win(&port, "a", &ids[..1]);
}

#[test]
fn d8_a_pause_is_a_row_that_everybody_heeds() {
    let (_folder, path) = place();
    let (port, other) = (open(&path), open(&path));
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1])]));
    let claim = win(&port, "raw", &ids);
    let channel = ChannelName::api_server("default");
    let pause = |until| Pause {
        channel: channel.clone(),
        until: at(until),
        reason: Detail::new("401"),
        credential: true,
    };
    let mut refused = outcome(claim, &ids, LegState::Retrying);
    refused.pause = Some(pause(i64::MAX));
    block_on(port.settle(vec![refused])).unwrap();
    assert_eq!(intend(&other, intent("raw", "raw", &ids)), IntentResult::Paused(at(i64::MAX)));
    assert_eq!(work(&other).pauses, [pause(i64::MAX)]);
    let mut late = intent("raw", "raw", &ids);
    late.at = at(i64::MAX);
    let IntentResult::Won(claim) = intend(&other, late) else {
        panic!("its time is past");
    };
    let mut lifted = outcome(claim, &ids, LegState::Delivered);
    lifted.pause = Some(pause(0));
    block_on(other.settle(vec![lifted])).unwrap();
    assert_eq!(work(&port).pauses, []);
}

#[test]
fn w3_aliases_are_kept_and_w5_wakes_are_counted_by_the_session_they_reached() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2, 3])]));
    let now = kanban_store::ledger::now();
    for (leg, state, verdict) in [
        (ids[0], LegState::Delivered, "delivered"),
        (ids[1], LegState::Retrying, "busy"),
        (ids[2], LegState::Retrying, "failed_turn"),
    ] {
        let mut intent = intent("raw", "raw", &[leg]);
        intent.at = at(now);
        intent.reference = format!("kgw:{}", leg.0);
        let IntentResult::Won(claim) = intend(&port, intent) else {
            panic!("not won");
        };
        let mut settlement = outcome(claim, &[leg], state);
        settlement.verdict = verdict;
        // The answer of a turn says under what name its session goes on.
        settlement.alias = (verdict == "delivered").then(|| ("raw".to_owned(), "newer".to_owned()));
        block_on(port.settle(vec![settlement])).unwrap();
    }
    let work = work(&port);
    let channel = ChannelName::api_server("default");
    let alias = (channel.clone(), "raw".to_owned(), "newer".to_owned());
    assert_eq!(work.aliases, [alias]);
    let wake = RecentWake { channel, session: "newer".to_owned(), at: at(now), failed: None };
    let failed = RecentWake { failed: Some(format!("kgw:{}", ids[2].0)), ..wake.clone() };
    assert_eq!(work.recent_wakes, [wake, failed], "a busy answer is no wake");
}

#[test]
fn an_outcome_that_forgets_a_leg_parks_it_and_one_of_somebody_else_is_ignored() {
    let (_folder, path) = place();
    let (port, other) = (open(&path), open(&path));
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2])]));
    let claim = win(&port, "raw", &ids);
    let whole = outcome(claim, &ids, LegState::Delivered);
    assert_eq!(block_on(other.settle(vec![whole])).unwrap(), []);
    let half = outcome(claim, &ids[..1], LegState::Delivered);
    let raises = block_on(port.settle(vec![half])).unwrap();
    assert_eq!(raises[0].to, EventId(2), "parked lets the cursor pass");
    assert_eq!(work(&port).owed, []);
}

#[test]
fn an_outcome_ends_the_legs_of_its_claim_and_no_other_whatever_it_names() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let ids = legs(&owe(&port, vec![session("t_1", "raw", &[1, 2, 3, 4, 5])]));
    // One leg twice; and one that is in no claim in place of one that is. The number is right in both.
    for (own, named, to) in [(&ids[..2], [0, 0], 2), (&ids[2..4], [2, 4], 4)] {
        let claim = win(&port, "raw", own);
        let named = named.map(|at: usize| ids[at]);
        let outcome = outcome(claim, &named, LegState::Delivered);
        let raises = block_on(port.settle(vec![outcome])).unwrap();
        assert_eq!(raises[0].to, EventId(to), "what was forgotten is parked");
    }
    assert_eq!(legs(&work(&port).owed), ids[4..]);
}

#[test]
fn cursors_are_remembered_until_they_are_raised() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    owe(&port, vec![session("t_1", "a", &[]), session("t_2", "b", &[])]);
    let mut seen = session("t_1", "a", &[]);
    seen.seen = EventId(4);
    seen.archived = Some(EventId(4));
    let mut gone = session("t_2", "b", &[]);
    gone.seen = EventId(4);
    let raises = record(&port, plan(BoardId(1), vec![seen, gone])).unwrap().raises;
    let archived: Vec<bool> = raises.iter().map(|raise| raise.archived).collect();
    assert_eq!(archived, [true, false], "S3");
    assert_eq!(work(&port).raises, raises);
    let outcomes = [RowOutcome::Won, RowOutcome::Gone];
    let noted = raises.into_iter().zip(outcomes).collect();
    block_on(port.raised(noted)).unwrap();
    assert_eq!(work(&port).raises, []);
    let copies = block_on(port.copies(BoardId(1), vec!["t_2".to_owned()])).unwrap();
    assert_eq!(copies[0].life, Life::Gone);
}

/// Two instances want every leg; each leg goes out once.
#[test]
fn d9_of_two_instances_one_claims_each_leg() {
    let (_folder, path) = place();
    let ports = [open(&path), open(&path)];
    board(&ports[0], "/boards/one.db");
    let events: Vec<i64> = (1..=150).collect();
    let ids = legs(&owe(&ports[0], vec![session("t_1", "raw", &events)]));
    let start = Barrier::new(4);
    let won: Vec<LegId> = thread::scope(|scope| {
        let claimers: Vec<_> = [&ports[0], &ports[1], &ports[0], &ports[1]]
            .into_iter()
            .enumerate()
            .map(|(number, port)| {
                let (start, ids) = (&start, &ids);
                scope.spawn(move || {
                    start.wait();
                    let mut order = ids.clone();
                    order.rotate_left(number * 30);
                    order
                        .chunks(3)
                        .flat_map(|chunk| {
                            let intents =
                                chunk.iter().map(|leg| intent("raw", &leg.0.to_string(), &[*leg]));
                            let results = block_on(port.intend(intents.collect())).unwrap();
                            chunk.iter().copied().zip(results).collect::<Vec<_>>()
                        })
                        .filter(|(_, result)| matches!(result, IntentResult::Won(_)))
                        .map(|(leg, _)| leg)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    let mut times = BTreeMap::new();
    for leg in won {
        *times.entry(leg).or_insert(0) += 1;
    }
    assert_eq!(times.len(), ids.len());
    assert!(times.values().all(|times| *times == 1));
}

#[test]
fn one_bad_plan_undoes_nothing_of_the_others() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for number in 0..8 {
            let (port, start) = (&port, &start);
            scope.spawn(move || {
                let task = format!("t_{number}");
                let mut plan = plan(BoardId(1), vec![session(&task, "raw", &[number + 1])]);
                if number % 2 == 1 {
                    plan.incarnation = kanban_notify::ids::Incarnation(7);
                }
                start.wait();
                let recorded = record(port, plan);
                match recorded {
                    Ok(planned) => assert_eq!(planned.owed[0].legs.len(), 1),
                    Err(error) => assert_eq!(error.kind, PortErrorKind::Unusable, "B6"),
                }
            });
        }
    });
    assert_eq!(work(&port).owed.len(), 4);
}

#[test]
fn a_closed_port_says_so_to_every_handle() {
    let (_folder, path) = place();
    let port = open(&path);
    let handle = port.clone();
    assert!(!disturbed(&handle));
    port.close();
    port.close();
    let refused = block_on(handle.copies(BoardId(1), Vec::new()));
    assert_eq!(refused.unwrap_err().kind, PortErrorKind::Closed);
    assert_eq!(work(&open(&path)).owed, []);
}
