//! Dead letters, replays and releases (laws D11, O2).

use diesel::connection::SimpleConnection as _;
use kanban_store::ledger::{
    Ledger, Operator, backlog,
    claims::{self, Intended, TallyRow},
    cursor,
    operator::{Adoption, ReplayFilter, SubscriptionFilter},
    outcomes, plan,
    states::{DELIVERED, EXPIRED, PARKED},
};

use crate::support::{self, copy, end, intent, ledger, leg, number, ping, plan as planned};

/// t_1: 1 delivered, 2 parked, 3 expired, 4 out, 5 planned.
fn filled() -> (tempfile::TempDir, Operator, Vec<i64>) {
    let (folder, mut ledger) = ledger();
    let legs = vec![
        ping("t_1", 1),
        ping("t_1", 2),
        leg("t_1", 3, EXPIRED),
        ping("t_1", 4),
        ping("t_1", 5),
    ];
    let ids = fill(&mut ledger, legs);
    let conn = ledger.connection();
    end(conn, &ids[..1], DELIVERED);
    end(conn, &ids[1..2], PARKED);
    claims::intend(conn, "me", &intent(&ids[3..4], "out")).unwrap();
    (folder, Operator::over(ledger), ids)
}

fn fill(ledger: &mut Ledger, legs: Vec<plan::LegPlan>) -> Vec<i64> {
    let conn = ledger.connection();
    let count = i64::try_from(legs.len()).unwrap();
    plan::plan(conn, &planned(count, vec![copy("t_1", count, legs)])).unwrap().unwrap();
    (1..=count)
        .map(|event| number(conn, &format!("SELECT id FROM legs WHERE event = {event}")))
        .collect()
}

fn reopen(operator: &Operator) -> Ledger {
    kanban_store::ledger::open(operator.ledger().path()).unwrap()
}

#[test]
fn dead_letters_are_listed_with_their_reason_and_claim() {
    let (_folder, mut operator, ids) = filled();
    let dead = operator.dead_list(false).unwrap();
    let listed: Vec<(i64, &str)> = dead.iter().map(|leg| (leg.event, leg.state.as_str())).collect();
    assert_eq!(listed, [(2, PARKED), (3, EXPIRED)]);
    assert_eq!(dead[0].board, "one");
    assert_eq!(dead[0].title, "Build report");
    let detail = operator.dead_show(ids[1]).unwrap().unwrap();
    assert_eq!(detail.leg, dead[0]);
    assert_eq!(detail.claim.unwrap().key, "key-lane");
    assert_eq!(operator.dead_show(ids[2]).unwrap().unwrap().claim, None);
    assert_eq!(operator.dead_show(999).unwrap(), None);
}

#[test]
fn d11_a_retry_is_planned_under_a_new_epoch_and_moves_no_cursor() {
    let (_folder, mut operator, ids) = filled();
    let mut other = reopen(&operator);
    let settled = "SELECT settled FROM subscriptions";
    assert_eq!(number(other.connection(), settled), 3);
    let decided = operator.dead_retry(&[ids[1], ids[2], ids[0], ids[3], ids[4], 999]).unwrap();
    let done: Vec<bool> = decided.iter().map(|decision| decision.done).collect();
    assert_eq!(done, [true, true, false, false, false, false]);
    assert!(decided[2].reason.contains("replay"), "{}", decided[2].reason);
    assert!(decided[3].reason.contains("not known"), "{}", decided[3].reason);
    assert!(operator.dead_list(true).unwrap().is_empty());
    let conn = other.connection();
    let row = format!(
        "SELECT state || epoch || replay || repeat || failures FROM legs WHERE id = {}",
        ids[1]
    );
    assert_eq!(support::text(conn, &row), "planned1100");
    // The last event open at first is delivered: the replays hold nothing back.
    end(conn, &ids[4..], DELIVERED);
    assert_eq!(number(conn, settled), 3, "4 is still out");
    let raises = cursor::raises(conn).unwrap();
    assert!(!raises[0].archived);
}

#[test]
fn a_dropped_letter_is_hidden_and_stays_ended() {
    let (_folder, mut operator, ids) = filled();
    let decided = operator.dead_drop(&[ids[1], ids[0]]).unwrap();
    assert!(decided[0].done && !decided[1].done);
    assert_eq!(operator.dead_list(false).unwrap().len(), 1);
    let all = operator.dead_list(true).unwrap();
    assert!(all[0].dropped && !all[1].dropped);
    let counts = operator.counts().unwrap();
    assert_eq!(counts.dropped, 1);
    assert_eq!(counts.legs.get(PARKED), None);
    assert!(operator.dead_retry(&[ids[1]]).unwrap()[0].done, "it can come back");
}

#[test]
fn d11_a_replay_takes_what_ended_and_refuses_what_is_out() {
    let (_folder, mut operator, ids) = filled();
    let filter =
        ReplayFilter { task: Some("t_1".to_owned()), since: Some(20), ..ReplayFilter::default() };
    let preview = operator.replay_preview(&filter).unwrap();
    assert_eq!(preview.len(), 4, "event 1 is older");
    let decided = operator.replay(&filter).unwrap();
    let done: Vec<(i64, bool)> = decided.iter().map(|d| (d.leg, d.done)).collect();
    let wanted = [(ids[1], true), (ids[2], true), (ids[3], false), (ids[4], false)];
    assert_eq!(done, wanted);
    let first = ReplayFilter {
        subscription: Some(1),
        board: Some("one".to_owned()),
        ..ReplayFilter::default()
    };
    let decided = operator.replay(&first).unwrap();
    assert!(decided[0].done);
    let repeat = format!("SELECT repeat FROM legs WHERE id = {}", ids[0]);
    let mut other = reopen(&operator);
    assert_eq!(number(other.connection(), &repeat), 1, "D7: it was delivered once");
    let none = ReplayFilter { board: Some("two".to_owned()), ..ReplayFilter::default() };
    assert_eq!(operator.replay(&none).unwrap(), []);
}

/// t_1: 1 and 2 in one message of unknown outcome that ended in the dead letters; 3 is planned.
fn unknown() -> (tempfile::TempDir, Operator, Vec<i64>, i64) {
    let (folder, mut ledger) = ledger();
    let ids = fill(&mut ledger, (1..=3).map(|event| ping("t_1", event)).collect());
    let conn = ledger.connection();
    let Intended::Won(claim) = claims::intend(conn, "me", &intent(&ids[..2], "x")).unwrap() else {
        panic!("free")
    };
    let mut parked = support::outcome(claim, &ids[..2], PARKED);
    parked.verdict = "unknown".to_owned();
    outcomes::settle_all(conn, "me", &[parked]).unwrap();
    (folder, Operator::over(ledger), ids, claim)
}

#[test]
fn d11_a_delivery_of_unknown_outcome_is_taken_up_where_it_was_left() {
    let (_folder, mut operator, ids, claim) = unknown();
    let decided = operator.dead_retry(&ids[..2]).unwrap();
    assert!(decided.iter().all(|decision| decision.done), "{decided:?}");
    let mut other = reopen(&operator);
    let conn = other.connection();
    // The next instance that looks takes it over, with both, as if it were a dead one's.
    let [open] = backlog::take_over(conn, "you", &str::is_empty).unwrap().try_into().unwrap();
    assert_eq!((open.claim.id, open.claim.legs, &open.legs[..]), (claim, 2, &ids[..2]));
    assert_eq!((open.claim.key.as_str(), open.claim.body.as_str()), ("key-x", "bytes"));
    // Its lane is held, and what is owed as well holds no cursor back twice.
    let Intended::Held = claims::intend(conn, "you", &intent(&ids[2..], "x")).unwrap() else {
        panic!("two messages at once")
    };
    let again = operator.dead_retry(&ids[..1]).unwrap();
    assert!(again[0].reason.contains("looked into"), "{again:?}");
    let (_, ignored) =
        outcomes::settle_all(conn, "you", &[support::outcome(claim, &ids[..2], DELIVERED)])
            .unwrap();
    assert!(ignored.is_empty() && operator.lanes().unwrap().is_empty());
}

#[test]
fn d11_it_waits_for_what_is_under_way_to_its_destination_and_for_its_neighbours() {
    let (_folder, mut operator, ids, claim) = unknown();
    let mut other = reopen(&operator);
    let conn = other.connection();
    let Intended::Won(held) = claims::intend(conn, "me", &intent(&ids[2..], "x")).unwrap() else {
        panic!("free")
    };
    let refused = operator.dead_retry(&ids[..1]).unwrap();
    assert!(refused[0].reason.contains("under way"), "{refused:?}");
    outcomes::settle_all(conn, "me", &[support::outcome(held, &ids[2..], DELIVERED)]).unwrap();
    assert!(operator.dead_retry(&ids[..1]).unwrap()[0].done);
    backlog::take_over(conn, "you", &str::is_empty).unwrap();
    let refused = operator.dead_retry(&ids[1..2]).unwrap();
    assert!(refused[0].reason.contains("others of its message"), "{refused:?}");
    // Without its bytes it cannot be sent as it was: then it is planned anew, and says so.
    outcomes::settle_all(conn, "you", &[support::outcome(claim, &ids[..1], DELIVERED)]).unwrap();
    conn.batch_execute("UPDATE claims SET body = ''").unwrap();
    assert!(operator.dead_retry(&ids[1..2]).unwrap()[0].done);
    let row = format!("SELECT state || repeat || epoch FROM legs WHERE id = {}", ids[1]);
    assert_eq!(support::text(conn, &row), "planned11");
}

#[test]
fn each_attempt_that_delivered_nothing_is_kept_and_a_delivery_writes_none() {
    let (_folder, mut ledger) = ledger();
    let ids = fill(&mut ledger, vec![ping("t_1", 1), ping("t_1", 2)]);
    let conn = ledger.connection();
    let fails = |conn: &mut diesel::SqliteConnection, detail: &str, tally| {
        let intent = claims::IntentRow { tallies: vec![tally], ..intent(&ids[..1], "x") };
        let Intended::Won(claim) = claims::intend(conn, "me", &intent).unwrap() else {
            panic!("free")
        };
        let mut failed = support::outcome(claim, &ids[..1], "retrying");
        failed.verdict = "retryable".to_owned();
        failed.detail = detail.to_owned();
        outcomes::settle_all(conn, "me", &[failed]).unwrap();
        claim
    };
    let first = fails(conn, "the first", TallyRow::default());
    let second = fails(conn, "the second", TallyRow::default());
    end(conn, &ids, DELIVERED);
    let mut operator = Operator::over(ledger);
    let shown = operator.dead_show(ids[0]).unwrap().unwrap();
    let told: Vec<(i64, &str, &str, i64, i64)> = shown
        .attempts
        .iter()
        .map(|a| (a.claim, a.verdict.as_str(), a.detail.as_str(), a.sent_at, a.ended_at))
        .collect();
    let expected = [
        (first, "retryable", "the first", 2_000, 3_000),
        (second, "retryable", "the second", 2_000, 3_000),
    ];
    assert_eq!(told, expected);
    assert_eq!((shown.leg.first_attempt_at, shown.leg.last_attempt_at), (Some(2_000), Some(2_000)));
    assert_eq!(operator.dead_show(ids[1]).unwrap().unwrap().attempts, []);

    // A repeat on purpose takes the place of the claim that delivered.
    let delivered = shown.claim.unwrap();
    let filter = ReplayFilter { task: Some("t_1".to_owned()), ..ReplayFilter::default() };
    assert!(operator.replay(&filter).unwrap()[0].done);
    let shown = operator.dead_show(ids[0]).unwrap().unwrap();
    let last = shown.attempts.last().unwrap();
    assert_eq!((last.claim, last.verdict.as_str()), (delivered.id, DELIVERED));

    let mut other = reopen(&operator);
    let mut tally = TallyRow { epoch: 1, replay: 1, repeat: 1, ..TallyRow::default() };
    for number in 0..40 {
        fails(other.connection(), &number.to_string(), tally);
        tally = TallyRow::default();
    }
    let kept = operator.dead_show(ids[0]).unwrap().unwrap().attempts;
    assert_eq!((kept.len(), kept[0].detail.as_str(), kept[31].detail.as_str()), (32, "8", "39"));
}

#[test]
fn lag_is_counted_in_events_from_the_oldest_that_is_not_settled() {
    let (_folder, mut ledger) = ledger();
    let mut wake = ping("t_1", 2);
    wake.kind = "wake".to_owned();
    let legs = vec![ping("t_1", 1), ping("t_1", 2), wake, ping("t_1", 3)];
    let mut idle = copy("t_2", 4, vec![ping("t_2", 4)]);
    idle.key.chat = "43".to_owned();
    let conn = ledger.connection();
    plan::plan(conn, &planned(4, vec![copy("t_1", 3, legs), idle])).unwrap().unwrap();
    let of = |conn: &mut diesel::SqliteConnection, event: i64| {
        number(conn, &format!("SELECT min(id) FROM legs WHERE event = {event}"))
    };
    let (first, fourth) = (of(conn, 1), of(conn, 4));
    end(conn, &[first], DELIVERED);
    end(conn, &[fourth], DELIVERED);
    let mut operator = Operator::over(ledger);
    let lags = operator.lags().unwrap();
    assert_eq!(lags.len(), 1, "who is owed nothing is not listed");
    assert_eq!((lags[0].subscription, lags[0].events, lags[0].oldest), (1, 2, Some(20)));
    let again = ReplayFilter { task: Some("t_2".to_owned()), ..ReplayFilter::default() };
    assert!(operator.replay(&again).unwrap()[0].done);
    assert_eq!(operator.lags().unwrap(), lags, "a repeat on purpose is no lag");
}

#[test]
fn o2_a_release_gives_back_and_sends_nothing_more() {
    let (_folder, mut operator, ids) = filled();
    let released = operator.release(&[1, 1, 77]).unwrap();
    assert_eq!(released.len(), 1);
    assert_eq!((released[0].cancelled, released[0].in_flight), (1, 1));
    assert_eq!(released[0].settled, 3);
    let live =
        SubscriptionFilter { life: Some("live".to_owned()), ..SubscriptionFilter::default() };
    assert_eq!(operator.subscription_list(&live).unwrap(), []);
    let all = operator.subscription_list(&SubscriptionFilter::default()).unwrap();
    assert_eq!((all[0].life.as_str(), all[0].open_legs), ("released", 1));
    let refused = operator.dead_retry(&[ids[1]]).unwrap();
    assert!(refused[0].reason.contains("released"), "{}", refused[0].reason);
    assert_eq!(operator.unrelease(&[1, 77]).unwrap(), 1);
    assert_eq!(operator.subscription_list(&live).unwrap().len(), 1);
}

#[test]
fn listings_say_what_is_there() {
    let (_folder, mut operator, ids) = filled();
    let lanes = operator.lanes().unwrap();
    assert_eq!(lanes.len(), 1);
    assert_eq!((lanes[0].lane.as_str(), lanes[0].claim.legs), ("out", 1));
    assert_eq!(operator.boards_list().unwrap()[0].position, 5);
    let counts = operator.counts().unwrap();
    assert_eq!(counts.legs.get("intended"), Some(&1));
    assert_eq!(counts.legs.values().sum::<i64>(), 5);
    assert_eq!(counts.subscriptions.get("live"), Some(&1));
    assert_eq!((counts.raises, counts.oldest_open), (1, Some(1_000)));
    assert_eq!(operator.pauses().unwrap(), []);
    assert!(!operator.lift_pause("telegram").unwrap());
    assert_eq!(operator.instances().unwrap(), []);
    assert_eq!(ids.len(), 5);
}

#[test]
fn o2_the_previous_owner_is_recorded_before_a_row_is_stamped() {
    let (_folder, mut operator, _) = filled();
    let mut adoption = Adoption {
        board_id: 1,
        key: copy("t_1", 0, Vec::new()).key,
        profile: "coder".to_owned(),
        previous_owner: Some("coder".to_owned()),
        mode: String::new(),
        cursor: 3,
        baseline: 3,
    };
    operator.release(&[1]).unwrap();
    assert_eq!(operator.adopt(&adoption).unwrap(), Some(1), "known, and released");
    adoption.key.chat = "43".to_owned();
    assert_eq!(operator.adopt(&adoption).unwrap(), Some(2));
    let copies = operator.subscription_list(&SubscriptionFilter::default()).unwrap();
    let lives: Vec<&str> = copies.iter().map(|copy| copy.life.as_str()).collect();
    assert_eq!(lives, ["live", "offered"]);
    assert!(copies.iter().all(|copy| copy.adopted));
    assert_eq!(copies[1].previous_owner.as_deref(), Some("coder"));
    assert_eq!((copies[1].seen, copies[1].settled), (3, 3));
    adoption.board_id = 9;
    assert_eq!(operator.adopt(&adoption).unwrap(), None);
}
