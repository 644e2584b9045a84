//! What a pass decides: whose each row is, which legs its events need, and what ends unsent. Pure.

mod known;
mod shown;
mod watched;

use std::collections::{BTreeMap, HashMap, HashSet};

use known::Known;
use shown::Shown;

use crate::{
    event::{Event, Kind, Task},
    facts::{self, Cut},
    ids::EventId,
    leg::{Leg, LegKind, LegState},
    ownership::{self, Ownership, Why},
    policy::{Policy, World},
    record::{BoardStart, NewLeg, Part, Pass, Plan, RowChange, SubscriptionPlan},
    session,
    subscription::{Life, Mode, PreviousOwner, Row, SubKey, Subscription},
    time::Timestamp,
    verdict::Detail,
};

/// Everything a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// The board.
    pub board: &'a BoardStart,
    /// The operator's decisions.
    pub policy: &'a Policy,
    /// What can be reached, and who else is at work.
    pub world: &'a World,
    /// The wall clock.
    pub now: Timestamp,
    /// Rows above this rowid come with all their unseen events; `None` when every row does (a sweep).
    pub complete_above: Option<i64>,
    /// Where the ledger is an older copy: what was planned before this may have been delivered since.
    pub older: Option<Timestamp>,
    /// Tasks of which the tail shows nothing, because they are read bit by bit, each from an event on.
    pub apart: &'a BTreeMap<String, EventId>,
}

impl Basis<'_> {
    /// Whether a row's first judgement may be made from this pass: a tail shows only what is new, and
    /// what is older than a judgement is never looked at again (law F3).
    fn may_judge_first(&self, row: &Row) -> bool {
        self.complete_above.is_none_or(|rowid| row.rowid > rowid)
    }
}

/// What a pass leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// For the ledger.
    pub plan: Plan,
    /// For the board, once the plan is durable.
    pub stamps: Vec<RowChange>,
    /// Rows that we only read, by reason and platform.
    pub unserved: BTreeMap<(Why, String), usize>,
    /// Events that are too old to be delivered (law F4).
    pub expired: usize,
    /// Whether a row was seen that only a sweep can judge.
    pub needs_sweep: bool,
    /// Tasks with events that the pass did not show, and above which one the next has to go on.
    pub behind: BTreeMap<String, EventId>,
    /// Events whose texts are longer than what is told of them, with their tasks.
    pub cuts: BTreeMap<EventId, (String, Kind, Cut)>,
    /// The rows that the plan names.
    named: HashMap<SubKey, Vec<Timestamp>>,
}

/// Decides about a pass. `copies` are the ledger's copies for the pass's tasks, `open` the open legs of
/// the watched subscriptions.
pub fn decide(
    basis: &Basis<'_>,
    pass: &Pass,
    copies: &[Subscription],
    open: &[(SubKey, &Leg)],
) -> Decision {
    let tasks: HashMap<&str, &Task> = pass.tasks.iter().map(|t| (t.id.as_str(), t)).collect();
    let mut decision = Decision {
        plan: Plan {
            board: basis.board.id,
            incarnation: basis.board.incarnation,
            position: pass.next.clone(),
            subscriptions: Vec::new(),
            closes: Vec::new(),
        },
        stamps: Vec::new(),
        unserved: BTreeMap::new(),
        expired: 0,
        needs_sweep: false,
        behind: BTreeMap::new(),
        cuts: BTreeMap::new(),
        named: HashMap::new(),
    };
    let known = Known::new(copies, open);
    let mut by_task: HashMap<&str, Vec<&Event>> = HashMap::new();
    for event in &pass.events {
        by_task.entry(event.task.as_str()).or_default().push(event);
    }
    let parts: HashMap<&str, &Part> = pass.parts.iter().map(|p| (p.task.as_str(), p)).collect();
    let mut lowest: HashMap<&str, EventId> = HashMap::new();
    for row in &pass.rows {
        let cursor = lowest.entry(row.key.task.as_str()).or_insert(row.cursor);
        *cursor = row.cursor.min(*cursor);
    }
    let shown_of = |task: &str| {
        // The tail shows a task from the position on; what belongs to it, from the lowest cursor on.
        let tail = (!basis.apart.contains_key(task)).then_some(basis.board.position.event);
        let lowest = lowest.get(task).map(|lowest| tail.unwrap_or(*lowest).min(*lowest));
        Shown::new(by_task.get(task), parts.get(task).copied(), lowest)
    };

    for row in &pass.rows {
        let copy = known.copy(&row.key, row.created_at);
        let task = tasks.get(row.key.task.as_str()).copied();
        decide_row(basis, row, copy, shown_of(&row.key.task), task, &mut decision);
    }
    // Copies whose row is not there any more (law O3): the tail has seen their tasks' events just now.
    let rows: HashSet<_> = pass.rows.iter().map(|row| (&row.key, row.created_at)).collect();
    for copy in copies {
        let present = rows.contains(&(&copy.key, copy.created_at));
        let shown = shown_of(&copy.key.task);
        let on_board = matches!(copy.life, Life::Live | Life::Offered | Life::Theirs);
        if !present && on_board && !shown.is_nothing() {
            decide_vanished(basis, copy, shown, &tasks, &mut decision);
        }
    }
    for (key, row) in &pass.watched {
        decide_watched(basis, key, row.as_ref(), &known, &mut decision);
    }
    decision
}

fn decide_row(
    basis: &Basis<'_>,
    row: &Row,
    copy: Option<&Subscription>,
    shown: Shown<'_>,
    task: Option<&Task>,
    decision: &mut Decision,
) {
    let events = shown.events();
    let Basis { board, policy, world, .. } = basis;
    let (profile, stamp) =
        match ownership::decide(row, copy, board.has_delivery_mode, policy, world) {
            Ownership::Ours { profile } => (profile, None),
            Ownership::Adopt { profile, stamp } => (profile, Some(stamp)),
            Ownership::ReadOnly(why) => {
                *decision.unserved.entry((why, row.key.platform_name())).or_default() += 1;
                return;
            }
        };
    if copy.is_none() && !basis.may_judge_first(row) {
        decision.needs_sweep = true;
        return;
    }
    // F3: judged once, when the copy is made.
    let baseline = copy.map_or_else(|| shown.baseline(row), |copy| copy.baseline);
    let floor = match copy {
        // O3: whoever raised the cursor before our stamp held did not reach the session.
        Some(copy) if copy.life == Life::Offered => copy.seen.max(copy.baseline),
        Some(copy) => copy.seen.max(row.cursor),
        None => baseline.max(row.cursor),
    };
    if shown.has_gap_above(floor) {
        return decision.fall_behind(&row.key.task, floor);
    }
    let adopted = match (&stamp, copy) {
        (Some(_), _) => Some(PreviousOwner(row.owner.clone())),
        (None, Some(copy)) => copy.adopted.clone(),
        (None, None) => None,
    };
    let life = if stamp.is_some() { Life::Offered } else { Life::Live };
    let unstamped = stamp.is_some();
    if let Some(to) = stamp {
        decision.stamps.push(RowChange::Stamp {
            key: row.key.clone(),
            from: row.owner.clone(),
            to: Some(to),
        });
    }
    // An adopted row of a profile without a server is kept from being swallowed, and waits (law O6).
    let api = row.key.is_api_server();
    let channel = ownership::channel(&row.key.platform_name(), api, &profile);
    if !world.channels.contains_key(&channel) {
        *decision.unserved.entry((Why::NoServer, row.key.platform_name())).or_default() += 1;
        if unstamped || copy.is_none_or(|copy| copy.life != life) {
            let seen = copy.map_or(baseline, |copy| copy.seen);
            push_row(decision, row, profile, adopted, life, (baseline, seen), (Vec::new(), None));
        }
        return;
    }
    let (legs, seen) = legs_for(basis, row, &events_above(events, floor), task, decision);
    let seen = seen.max(floor);
    if shown.goes_on() {
        decision.fall_behind(&row.key.task, seen);
    }
    // A sweep shows again what is planned already: nothing to write.
    let nothing_new = copy.is_some_and(|copy| {
        !unstamped
            && copy.life == life
            && copy.seen == seen
            && row.cursor <= copy.settled
            && legs.is_empty()
    });
    if !nothing_new {
        let archived = events.iter().find(|event| event.kind == Kind::Archived);
        let legs = (legs, archived.map(|event| event.id));
        push_row(decision, row, profile, adopted, life, (baseline, seen), legs);
    }
}

fn events_above<'a>(events: &[&'a Event], floor: EventId) -> Vec<&'a Event> {
    events.iter().copied().filter(|event| event.id > floor).collect()
}

fn push_row(
    decision: &mut Decision,
    row: &Row,
    profile: String,
    adopted: Option<PreviousOwner>,
    life: Life,
    (baseline, seen): (EventId, EventId),
    (legs, archived): (Vec<NewLeg>, Option<EventId>),
) {
    decision.named.entry(row.key.clone()).or_default().push(row.created_at);
    decision.plan.subscriptions.push(SubscriptionPlan {
        key: row.key.clone(),
        created_at: row.created_at,
        profile,
        adopted,
        mode: row.mode,
        baseline,
        seen,
        cursor: row.cursor,
        archived,
        life,
        legs,
    });
}

/// The legs that `events` need, and the newest of them.
fn legs_for(
    basis: &Basis<'_>,
    row: &Row,
    events: &[&Event],
    task: Option<&Task>,
    decision: &mut Decision,
) -> (Vec<NewLeg>, EventId) {
    let mut legs = Vec::new();
    for event in events {
        let (facts, cut) = facts::with_files(event, task, basis.policy.artifacts.take);
        let needed = needs(basis.policy, &row.key, row.mode, event.kind, facts.session.is_some());
        if let Some(cut) = cut.filter(|_| !needed.is_empty()) {
            decision.cuts.insert(event.id, (facts.task.clone(), event.kind, cut));
        }
        for kind in needed {
            let old = basis.now.since(event.created_at) > basis.policy.max_age;
            let (state, reason) = match target_fault(&row.key, kind) {
                Some(fault) => (LegState::Parked, Detail::new(fault)),
                None if old => {
                    (LegState::Expired, Detail::new("older than max_age when first seen"))
                }
                None => (LegState::Planned, Detail::default()),
            };
            decision.expired += usize::from(state == LegState::Expired);
            let planned_at = basis.now;
            legs.push(NewLeg { facts: facts.clone(), kind, state, reason, planned_at });
        }
    }
    (legs, events.iter().map(|event| event.id).max().unwrap_or_default())
}

/// Which legs an event of `kind` needs for a row (laws W1, W2).
pub fn needs(
    policy: &Policy,
    key: &SubKey,
    mode: Mode,
    kind: Kind,
    task_has_session: bool,
) -> Vec<LegKind> {
    let wakes = kind.wakes() && policy.wake.kinds.contains(&kind);
    if key.is_api_server() {
        // On api_server the wake is the delivery in every mode; no text is ever sent there.
        return if wakes { vec![LegKind::Wake] } else { Vec::new() };
    }
    let mut legs = Vec::new();
    if kind.pings() && mode != Mode::Wake {
        legs.push(LegKind::Ping);
    }
    if wakes && mode != Mode::Notify && policy.wake.task_session && task_has_session {
        legs.push(LegKind::Wake);
    }
    legs
}

/// Why the row's own target can never be reached (law W2).
fn target_fault(key: &SubKey, kind: LegKind) -> Option<&'static str> {
    if key.is_api_server() {
        return session::fault(&key.chat);
    }
    (kind == LegKind::Ping && key.chat.trim().is_empty()).then_some("the chat id is empty")
}

/// A copy whose row vanished before its task's newest events were seen.
fn decide_vanished(
    basis: &Basis<'_>,
    copy: &Subscription,
    shown: Shown<'_>,
    tasks: &HashMap<&str, &Task>,
    decision: &mut Decision,
) {
    // Our stamp held: only a person, the age sweep or the task's deletion can have ended it.
    // It was only offered: Hermes had listed it before, "delivered" it and deleted it (law O3).
    let owed = watched::is_still_owed(copy);
    let floor = copy.seen.max(copy.baseline);
    if owed && shown.has_gap_above(floor) {
        return decision.fall_behind(&copy.key.task, floor);
    }
    let row = stand_in(copy, copy.settled);
    let (legs, seen) = if owed {
        let task = tasks.get(copy.key.task.as_str()).copied();
        let unseen = events_above(shown.events(), floor);
        legs_for(basis, &row, &unseen, task, decision)
    } else {
        (Vec::new(), copy.seen)
    };
    let range = (copy.baseline, seen.max(copy.seen));
    let (profile, adopted) = (copy.profile.clone(), copy.adopted.clone());
    let life = if owed && shown.goes_on() {
        decision.fall_behind(&copy.key.task, range.1);
        copy.life
    } else {
        Life::Gone
    };
    push_row(decision, &row, profile, adopted, life, range, (legs, None));
}

/// The row that a copy was made of, as far as plans need it.
fn stand_in(copy: &Subscription, cursor: EventId) -> Row {
    Row {
        key: copy.key.clone(),
        created_at: copy.created_at,
        cursor,
        owner: None,
        user: None,
        mode: copy.mode,
        rowid: 0,
    }
}

/// A subscription with open legs, looked at by a sweep (laws D10, O3, S2).
fn decide_watched(
    basis: &Basis<'_>,
    key: &SubKey,
    row: Option<&Row>,
    known: &Known<'_>,
    decision: &mut Decision,
) {
    watched::note_unseen(basis, key, row, known, decision);
    if let Some(row) = row {
        watched::decide_server(basis, row, known, decision);
    }
    for leg in known.open(key).iter().filter(|leg| leg.state.is_claimable()) {
        let Some(copy) = known.copies(key).iter().find(|copy| copy.id == leg.subscription) else {
            continue;
        };
        let rescued = copy.adopted.is_some() && key.is_api_server();
        let close = match row {
            Some(row) if row.created_at == copy.created_at => {
                let stamped = ownership::our_profile(
                    row.owner.as_deref().unwrap_or("").trim(),
                    &basis.policy.owner,
                )
                .is_some();
                // Under our stamp only we raise the cursor: it is settled, whatever a restored ledger
                // says (law D10). Without it somebody else did: an adopted session is still owed.
                let passed = row.cursor >= leg.event && !leg.tally.replay;
                (passed && (stamped || !rescued))
                    .then_some((LegState::Taken, "the board's cursor has passed the event"))
            }
            // Once seen it is owed to the copy, whatever became of the row (law O3). If the ledger is an
            // older copy, the row may have ended because it was told (law D10).
            _ if rescued && basis.older.is_none_or(|older| leg.planned_at >= older) => None,
            _ if leg.tally.replay => None,
            _ => Some((LegState::Cancelled, "the subscription ended")),
        };
        if let Some((state, reason)) = close {
            decision.plan.closes.push((leg.id, state, Detail::new(reason)));
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
