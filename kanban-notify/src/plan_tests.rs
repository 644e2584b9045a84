//! Decisions of a pass, law by law.

use super::*;
use crate::{
    ids::{BoardId, ChannelName, Incarnation, LegId, SubscriptionId},
    leg::Tally,
    policy::Ability,
    record::Position,
};

const NOW: i64 = 1_000_000;

struct Fixture {
    board: BoardStart,
    policy: Policy,
    world: World,
    older: Option<Timestamp>,
    apart: BTreeMap<String, EventId>,
}

impl Fixture {
    fn new() -> Self {
        let mut world = World::default();
        world.channels.insert(ChannelName::api_server("default"), Ability::default());
        world.channels.insert(ChannelName("console".into()), Ability::default());
        let board = BoardStart {
            id: BoardId(1),
            slug: "default".into(),
            incarnation: Incarnation(1),
            position: Position::default(),
            has_delivery_mode: false,
        };
        Self { board, policy: Policy::default(), world, older: None, apart: BTreeMap::new() }
    }

    fn decide(&self, pass: &Pass, copies: &[Subscription], open: &[(SubKey, &Leg)]) -> Decision {
        let basis = Basis {
            board: &self.board,
            policy: &self.policy,
            world: &self.world,
            now: Timestamp::from_secs(NOW),
            complete_above: None,
            older: self.older,
            apart: &self.apart,
        };
        decide(&basis, pass, copies, open)
    }
}

fn key(platform: &str, chat: &str) -> SubKey {
    SubKey {
        task: "t_1".into(),
        platform: platform.into(),
        chat: chat.into(),
        thread: String::new(),
    }
}

fn row(platform: &str, chat: &str, cursor: i64) -> Row {
    Row {
        key: key(platform, chat),
        created_at: Timestamp::from_secs(NOW - 50),
        cursor: EventId(cursor),
        owner: None,
        user: None,
        mode: Mode::Unset,
        rowid: 1,
    }
}

fn copy(row: &Row, life: Life) -> Subscription {
    Subscription {
        id: SubscriptionId(1),
        key: row.key.clone(),
        created_at: row.created_at,
        profile: "default".into(),
        adopted: Some(PreviousOwner(None)),
        mode: row.mode,
        baseline: EventId(0),
        seen: EventId(0),
        settled: EventId(0),
        life,
    }
}

fn event(id: i64, kind: Kind, age: i64) -> Event {
    Event {
        id: EventId(id),
        task: "t_1".into(),
        kind,
        payload: None,
        payload_cut: None,
        run: None,
        created_at: Timestamp::from_secs(NOW - age),
    }
}

fn pass(events: Vec<Event>, rows: Vec<Row>) -> Pass {
    Pass { events, rows, ..Pass::default() }
}

fn legs(decision: &Decision) -> Vec<(i64, LegKind, LegState)> {
    let subs = decision.plan.subscriptions.iter();
    subs.flat_map(|sub| &sub.legs).map(|l| (l.facts.event.0, l.kind, l.state)).collect()
}

#[test]
fn f3_history_before_the_subscription_is_not_told() {
    let pass = pass(
        vec![
            event(1, Kind::Completed, 51),
            event(2, Kind::Blocked, 50),
            event(3, Kind::Completed, 1),
        ],
        vec![row("api_server", "s", 0)],
    );
    let decision = Fixture::new().decide(&pass, &[], &[]);
    // The same second is delivered: boards keep whole seconds.
    assert_eq!(
        legs(&decision),
        [(2, LegKind::Wake, LegState::Planned), (3, LegKind::Wake, LegState::Planned)]
    );
    assert_eq!(decision.plan.subscriptions[0].baseline, EventId(1));
    assert_eq!(decision.plan.subscriptions[0].seen, EventId(3));
}

#[test]
fn f3_a_cursor_above_zero_alone_decides() {
    let pass = pass(
        vec![event(1, Kind::Blocked, 99), event(2, Kind::Completed, 98)],
        vec![row("api_server", "s", 1)],
    );
    assert_eq!(
        legs(&Fixture::new().decide(&pass, &[], &[])),
        [(2, LegKind::Wake, LegState::Planned)]
    );
}

#[test]
fn f4_what_is_too_old_is_expired_and_counted() {
    let old = i64::try_from(Policy::default().max_age.as_secs()).unwrap() + 1;
    let pass = pass(vec![event(2, Kind::Completed, old)], vec![row("api_server", "s", 1)]);
    let decision = Fixture::new().decide(&pass, &[], &[]);
    assert_eq!(legs(&decision), [(2, LegKind::Wake, LegState::Expired)]);
    assert_eq!(decision.expired, 1);
}

#[test]
fn o2_adoption_records_the_previous_owner_before_the_stamp() {
    let mut theirs = row("api_server", "s", 0);
    theirs.owner = Some("work".into());
    let mut fixture = Fixture::new();
    fixture.world.channels.insert(ChannelName::api_server("work"), Ability::default());
    let decision = fixture.decide(&pass(vec![], vec![theirs.clone()]), &[], &[]);
    let sub = &decision.plan.subscriptions[0];
    assert_eq!(sub.adopted, Some(PreviousOwner(Some("work".into()))));
    assert_eq!(sub.life, Life::Offered);
    assert_eq!(
        decision.stamps,
        [RowChange::Stamp {
            key: theirs.key,
            from: Some("work".into()),
            to: Some("kanban-gateway.work".into())
        }]
    );
}

#[test]
fn o3_a_row_consumed_before_the_stamp_held_is_delivered_all_the_same() {
    let fixture = Fixture::new();
    let consumed = row("api_server", "s", 5);
    let events = vec![event(5, Kind::Completed, 1)];
    // The cursor jumped under an offered row.
    let jumped = pass(events.clone(), vec![consumed.clone()]);
    let wake = [(5, LegKind::Wake, LegState::Planned)];
    assert_eq!(legs(&fixture.decide(&jumped, &[copy(&consumed, Life::Offered)], &[])), wake);
    // The row is gone altogether.
    let gone = pass(events, vec![]);
    let decision = fixture.decide(&gone, &[copy(&consumed, Life::Offered)], &[]);
    assert_eq!(legs(&decision), wake);
    assert_eq!(decision.plan.subscriptions[0].life, Life::Gone);
}

#[test]
fn o3_a_row_that_is_gone_has_not_ended_before_all_of_its_task_was_shown() {
    let mut fixture = Fixture::new();
    fixture.apart.insert("t_1".into(), EventId(8));
    let gone =
        Subscription { seen: EventId(8), ..copy(&row("api_server", "s1", 0), Life::Offered) };
    // What is left belongs to a row whose cursor is further on.
    let other = Row { owner: Some("kanban-gateway.default".into()), ..row("api_server", "s2", 10) };
    let watched = vec![(gone.key.clone(), None)];
    let part = Part { task: "t_1".into(), up_to: Some(EventId(11)), ..Part::default() };
    let events = vec![event(11, Kind::Blocked, 10)];
    let cut = Pass { watched: watched.clone(), parts: vec![part], ..pass(events, vec![other]) };
    let elsewhere = Pass { watched: watched.clone(), ..pass(vec![], vec![]) };
    let copies = std::slice::from_ref(&gone);
    for shown in [&cut, &elsewhere] {
        let decision = fixture.decide(shown, copies, &[]);
        let subs = &decision.plan.subscriptions;
        assert!(subs.iter().all(|sub| sub.key != gone.key), "{subs:?}");
    }
    assert_eq!(fixture.decide(&cut, copies, &[]).behind.get("t_1"), Some(&EventId(8)));
    // The rest of it, and then it is over.
    let part = Part { task: "t_1".into(), above: Some(EventId(8)), ..Part::default() };
    let events = vec![event(10, Kind::Blocked, 20), event(11, Kind::Blocked, 10)];
    let rest = Pass { watched, parts: vec![part], ..pass(events, vec![]) };
    let decision = fixture.decide(&rest, copies, &[]);
    assert_eq!(legs(&decision).iter().map(|(event, ..)| *event).collect::<Vec<_>>(), [10, 11]);
    assert!(decision.plan.subscriptions.iter().all(|sub| sub.life == Life::Gone));
}

#[test]
fn s2_a_row_that_ended_under_our_stamp_is_owed_nothing() {
    let row = row("api_server", "s", 5);
    let copy = copy(&row, Life::Live);
    let gone = pass(vec![event(5, Kind::Completed, 1)], vec![]);
    let decision = Fixture::new().decide(&gone, std::slice::from_ref(&copy), &[]);
    assert_eq!(legs(&decision), []);
    assert_eq!(decision.plan.subscriptions[0].life, Life::Gone);
    // Somebody raised the cursor past it: settled elsewhere.
    let passed = pass(vec![event(5, Kind::Completed, 1)], vec![row]);
    assert_eq!(legs(&Fixture::new().decide(&passed, &[copy], &[])), []);
}

#[test]
fn w1_an_api_session_gets_a_wake_and_never_a_text() {
    for mode in [Mode::Unset, Mode::Notify, Mode::NotifyWake, Mode::Wake] {
        let needed = |kind| needs(&Policy::default(), &key("api_server", "s"), mode, kind, true);
        assert_eq!(needed(Kind::Completed), [LegKind::Wake]);
        assert_eq!(needed(Kind::Status), []);
        assert_eq!(needed(Kind::Archived), []);
    }
}

#[test]
fn w2_the_tasks_session_is_woken_only_on_request() {
    let console = key("console", "c");
    let mut policy = Policy::default();
    let needed = |policy: &Policy, mode| needs(policy, &console, mode, Kind::Completed, true);
    assert_eq!(needed(&policy, Mode::NotifyWake), [LegKind::Ping]);
    policy.wake.task_session = true;
    assert_eq!(needed(&policy, Mode::NotifyWake), [LegKind::Ping, LegKind::Wake]);
    assert_eq!(needed(&policy, Mode::Notify), [LegKind::Ping]);
    assert_eq!(needed(&policy, Mode::Wake), [LegKind::Wake]);
}

#[test]
fn w2_an_empty_destination_is_parked_with_its_reason() {
    for bad in [row("api_server", "", 0), row("api_server", "a/b", 0), row("console", " ", 0)] {
        let decision =
            Fixture::new().decide(&pass(vec![event(2, Kind::Completed, 1)], vec![bad]), &[], &[]);
        assert_eq!(decision.plan.subscriptions[0].legs[0].state, LegState::Parked);
        assert!(!decision.plan.subscriptions[0].legs[0].reason.as_str().is_empty());
    }
}

#[test]
fn d10_a_leg_below_the_boards_cursor_is_closed_unsent() {
    let mut row = row("api_server", "s", 5);
    let leg = planned_leg(LegKind::Wake);
    let closes = |row: Option<Row>, life, leg: &Leg| {
        let copies = [copy(&self::row("api_server", "s", 0), life)];
        let watched = vec![(key("api_server", "s"), row)];
        let pass = Pass { watched, ..Pass::default() };
        let decision = Fixture::new().decide(&pass, &copies, &[(key("api_server", "s"), leg)]);
        decision.plan.closes.iter().map(|(_, state, _)| *state).collect::<Vec<_>>()
    };
    row.owner = Some("kanban-gateway.default".into());
    assert_eq!(closes(Some(row.clone()), Life::Live, &leg), [LegState::Taken]);
    let replayed = Leg { tally: Tally { replay: true, ..Tally::default() }, ..leg.clone() };
    assert_eq!(closes(Some(row.clone()), Life::Live, &replayed), []);
    // O3: somebody else raised it before our stamp held.
    row.owner = Some("default".into());
    assert_eq!(closes(Some(row), Life::Offered, &leg), []);
    assert_eq!(closes(None, Life::Offered, &leg), []);
    assert_eq!(closes(None, Life::Live, &leg), []);
}

#[test]
fn d10_what_an_older_ledger_has_open_is_over_with_its_row_and_told_the_cursor() {
    let there = row("api_server", "s", 0);
    let leg = planned_leg(LegKind::Wake);
    let mut fixture = Fixture::new();
    fixture.older = Some(leg.planned_at.after(std::time::Duration::from_secs(1)));
    let decide = |fixture: &Fixture, row: Option<Row>| {
        let copies = [copy(&there, Life::Live)];
        let watched = vec![(key("api_server", "s"), row)];
        let pass = Pass { watched, ..Pass::default() };
        fixture.decide(&pass, &copies, &[(key("api_server", "s"), &leg)]).plan
    };
    let ended = decide(&fixture, None);
    assert_eq!(ended.closes[0].1, LegState::Cancelled);
    assert_eq!(ended.subscriptions[0].life, Life::Gone);
    // Under a request in flight nothing is closed; the ledger still hears how far the board is.
    let raised = decide(&fixture, Some(row("api_server", "s", 9)));
    assert_eq!(
        (raised.subscriptions[0].cursor, raised.subscriptions[0].life),
        (EventId(9), Life::Live)
    );
    assert!(decide(&fixture, Some(there.clone())).subscriptions.is_empty());
    // What this process has planned is owed as ever (law O3).
    fixture.older = Some(leg.planned_at);
    assert!(decide(&fixture, None).closes.is_empty());
}

#[test]
fn o2_a_stamp_that_did_not_hold_is_tried_again() {
    let row = row("api_server", "s", 0);
    let mut copy = copy(&row, Life::Offered);
    copy.seen = EventId(5);
    let seen_before = pass(vec![event(5, Kind::Completed, 1)], vec![row]);
    let decision = Fixture::new().decide(&seen_before, &[copy], &[]);
    assert_eq!(decision.stamps.len(), 1);
    assert_eq!(decision.plan.subscriptions.len(), 1, "the stamp is made after a plan");
}

#[test]
fn o6_a_row_without_a_server_waits_and_its_history_stays_history() {
    let mut theirs = row("api_server", "s", 0);
    theirs.owner = Some("p9".into());
    let history = event(1, Kind::Completed, 60);
    let mut fixture = Fixture::new();
    let first = fixture.decide(&pass(vec![history.clone()], vec![theirs.clone()]), &[], &[]);
    assert_eq!(first.plan.subscriptions[0].baseline, EventId(1));
    assert_eq!(legs(&first), []);
    // The server appears: what is older than the row is not told then either.
    fixture.world.channels.insert(ChannelName::api_server("p9"), Ability::default());
    let mut copy = copy(&theirs, Life::Live);
    copy.baseline = first.plan.subscriptions[0].baseline;
    copy.seen = first.plan.subscriptions[0].seen;
    theirs.owner = Some("kanban-gateway.p9".into());
    let later = event(2, Kind::Blocked, 1);
    let second = fixture.decide(&pass(vec![history, later], vec![theirs]), &[copy], &[]);
    assert_eq!(legs(&second), [(2, LegKind::Wake, LegState::Planned)]);
}

#[test]
fn s2_what_is_unsent_ends_with_a_row_that_was_not_adopted() {
    let row = row("console", "c", 0);
    let copies = [Subscription { adopted: None, ..copy(&row, Life::Live) }];
    let leg = planned_leg(LegKind::Ping);
    let watched = vec![(row.key.clone(), None)];
    let pass = Pass { watched, ..Pass::default() };
    let decision = Fixture::new().decide(&pass, &copies, &[(row.key, &leg)]);
    assert_eq!(decision.plan.closes[0].1, LegState::Cancelled);
}

fn planned_leg(kind: LegKind) -> Leg {
    Leg {
        id: LegId(9),
        subscription: SubscriptionId(1),
        event: EventId(5),
        kind,
        state: LegState::Planned,
        claim: None,
        due_at: Timestamp::default(),
        planned_at: Timestamp::default(),
        tally: Tally::default(),
    }
}
