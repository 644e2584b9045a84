//! What the ledger knows: who delivers, what is under way, what waits and why, what rests.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    time::Duration,
};

use kanban_notify::{
    ownership,
    policy::{Policy, World},
    record::WAKE_BUDGET_WINDOW,
};
use kanban_store::ledger::{
    operator::{
        BoardInfo, Counts, DeadLeg, InstanceInfo, LagInfo, LaneInfo, Operator, SubscriptionFilter,
        SubscriptionInfo, WakeRow,
    },
    rows::PauseRow,
    states,
};

use super::{Lane, Paused, Process, Status, Waiting, held::Holds};
use crate::ops::{counted, time::Moment};

/// So long a channel may be tried after a rest.
const TRYING: Duration = Duration::from_secs(30);
/// A delivery that is due goes out within this, unless something is in its way.
const SLACK: Duration = Duration::from_secs(60);

/// Everything in the ledger that `status` looks at; empty without one.
#[derive(Default)]
pub(super) struct Known {
    pub(super) boards: Vec<BoardInfo>,
    pub(super) copies: Vec<SubscriptionInfo>,
    counts: Counts,
    instances: Vec<InstanceInfo>,
    lanes: Vec<LaneInfo>,
    pub(super) waiting: Vec<DeadLeg>,
    pub(super) lags: Vec<LagInfo>,
    /// Wakes of the last hour.
    pub(super) wakes: Vec<WakeRow>,
    /// Channel, session, and the session that it has become.
    pub(super) aliases: Vec<(String, String, String)>,
    pauses: Vec<PauseRow>,
}

impl Known {
    pub(super) fn read(mut ledger: Operator) -> anyhow::Result<Self> {
        let window = i64::try_from(WAKE_BUDGET_WINDOW.as_micros()).unwrap_or(i64::MAX);
        Ok(Self {
            lags: ledger.lags()?,
            wakes: ledger.wakes(kanban_store::ledger::now().saturating_sub(window))?,
            aliases: ledger.aliases()?,
            boards: ledger.boards_list()?,
            copies: ledger.subscription_list(&SubscriptionFilter::default())?,
            counts: ledger.counts()?,
            instances: ledger.living()?,
            lanes: ledger.lanes()?,
            waiting: ledger.waiting_list()?,
            pauses: ledger.pauses()?,
        })
    }

    /// The ledger's board behind a path.
    pub(super) fn board(&self, path: &Path) -> Option<&BoardInfo> {
        self.boards.iter().find(|board| Path::new(&board.path) == path)
    }

    /// How much of a board is not settled: deliveries, and cursors that could not be raised.
    pub(super) fn owed(&self, board: i64) -> i64 {
        let of = self.copies.iter().filter(|copy| copy.board_id == board);
        of.map(|copy| {
            let behind = copy.life == "live" && copy.settled > copy.board_cursor;
            copy.open_legs.max(i64::from(behind))
        })
        .sum()
    }
}

/// Puts what the ledger knows into `status`.
pub(super) fn fill(status: &mut Status, mut known: Known, policy: &Policy, world: &World) {
    status.legs = states::OF_LEGS.iter().map(|state| ((*state).to_owned(), 0)).collect();
    status.legs.append(&mut known.counts.legs);
    status.cursors_to_raise = known.counts.raises;
    status.oldest_open = known.counts.oldest_open.map(Moment::from_micros);
    status.instances = std::mem::take(&mut known.instances)
        .into_iter()
        .map(|instance| Process {
            id: instance.id,
            pid: instance.pid,
            started_at: Moment::from_micros(instance.started_at),
        })
        .collect();
    status.lanes = std::mem::take(&mut known.lanes).into_iter().map(lane).collect();
    // One whose time is just over is being tried, and rests again if it failed.
    let trying = i64::try_from(TRYING.as_micros()).unwrap_or(0);
    let since = kanban_store::ledger::now().saturating_sub(trying);
    let pauses = std::mem::take(&mut known.pauses);
    status.pauses = pauses.into_iter().filter(|pause| pause.until > since).map(paused).collect();
    status.waiting = waiting(&known, &Holds::new(status, &known, policy, world));
}

/// What of it needs a look.
pub(super) fn reasons(status: &Status, policy: &Policy) -> Vec<String> {
    let mut reasons = Vec::new();
    let of = |state: &str| status.legs.get(state).copied().unwrap_or(0);
    let (parked, expired) = (of("parked"), of("expired"));
    if parked + expired > 0 {
        reasons.push(format!(
            "{} ({parked} parked, {expired} expired); see `kanban-gateway dead list`",
            counted(parked + expired, "dead letter")
        ));
    }
    for pause in &status.pauses {
        reasons.push(format!("channel {} rests: {}", pause.channel, pause.reason));
    }
    let is_refused = status.pauses.iter().any(|pause| pause.credential);
    if let (true, several @ 2..) = (is_refused, status.instances.len()) {
        reasons.push(format!(
            "{several} processes deliver from this ledger: they need the same keys, or one ends the rests \
             that another begins"
        ));
    }
    let rests = |name: &str| status.pauses.iter().any(|pause| pause.channel == name);
    // A busy receiver is at work; any other failure may be for good.
    let mut failing: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let troubled = status.waiting.iter().filter(|group| {
        let is_failing = !matches!(group.verdict.as_str(), "" | "busy");
        is_failing && group.state == "retrying" && !rests(&group.channel)
    });
    for group in troubled {
        *failing.entry((&group.channel, &group.verdict, &group.reason)).or_default() +=
            group.ids.len();
    }
    for ((channel, verdict, reason), count) in failing {
        let waiting = match count {
            1 => "1 delivery waits".to_owned(),
            count => format!("{count} deliveries wait"),
        };
        reasons.push(format!("channel {channel}: {waiting} ({verdict}: {reason})"));
    }
    reasons.extend(late(&status.waiting, policy));
    reasons
}

/// What is due for so long that a running turn in its session is no explanation any more.
fn late(waiting: &[Waiting], policy: &Policy) -> Vec<String> {
    let patience = policy.wake.busy_wait.saturating_add(SLACK);
    let patience = i64::try_from(patience.as_micros()).unwrap_or(i64::MAX);
    let before = kanban_store::ledger::now().saturating_sub(patience);
    let mut late: BTreeMap<&str, (usize, Moment)> = BTreeMap::new();
    for group in waiting.iter().filter(|group| group.due_at.micros() < before) {
        let (count, since) = late.entry(&group.channel).or_insert((0, group.due_at));
        *count += group.ids.len();
        *since = group.due_at.min(*since);
    }
    late.into_iter()
        .map(|(channel, (count, since))| {
            let deliveries = match count {
                1 => "1 delivery is".to_owned(),
                count => format!("{count} deliveries are"),
            };
            format!(
                "channel {channel}: {deliveries} due since {since} and not sent; \
                 see whether it can be reached, and the log of `run`"
            )
        })
        .collect()
}

/// Groups what waits by destination, state and reason, in the order of the ledger.
fn waiting(known: &Known, holds: &Holds<'_>) -> Vec<Waiting> {
    let theirs: HashSet<i64> = known
        .copies
        .iter()
        .filter(|copy| copy.life == states::THEIRS)
        .map(|copy| copy.id)
        .collect();
    let mut groups: Vec<Waiting> = Vec::new();
    let mut places = HashMap::new();
    for leg in &known.waiting {
        let channel = ownership::channel(&leg.platform, leg.kind == "wake", &leg.profile);
        let due_at = holds.due(leg, &channel);
        let DeadLeg { chat, thread, state, verdict, reason, .. } = leg;
        let place = (channel.as_str().to_owned(), chat, thread, state, verdict, reason);
        let index = *places.entry(place).or_insert(groups.len());
        if let Some(group) = groups.get_mut(index) {
            group.ids.push(leg.id);
            group.due_at = group.due_at.min(due_at);
            continue;
        }
        groups.push(Waiting {
            channel: channel.as_str().to_owned(),
            chat: leg.chat.clone(),
            thread: leg.thread.clone(),
            state: leg.state.clone(),
            ids: vec![leg.id],
            verdict: leg.verdict.clone(),
            reason: leg.reason.clone(),
            due_at,
            held_by: holds.by(leg, theirs.contains(&leg.subscription)),
        });
    }
    groups
}

fn lane(lane: LaneInfo) -> Lane {
    let claim = lane.claim;
    // A claim that is open has a verdict only if its outcome is not known.
    let state = if claim.verdict.is_empty() { "under way" } else { "unknown" };
    Lane {
        lane: lane.lane,
        state: state.to_owned(),
        reason: claim.detail,
        legs: claim.legs,
        since: Moment::from_micros(claim.intended_at),
    }
}

fn paused(pause: PauseRow) -> Paused {
    let PauseRow { channel, until, reason, credential, .. } = pause;
    Paused { channel, until: Moment::from_micros(until), reason, credential: credential != 0 }
}
