//! The delivery engine: inputs in, commands out, no I/O, no clock (laws D, W).
//!
//! [`Engine::handle`] takes one input and the time and returns what is to be done. Everything durable is
//! in the ledger; what the engine holds is what is open. So every crash point is a sequence of inputs.

mod ageing;
mod backlog;
mod channels;
mod claims;
mod clock;
mod holdings;
mod intake;
mod lanes;
mod names;
mod notice;
mod outcome;
mod parking;
mod parts;
mod places;
mod planning;
mod raises;
mod ranks;
mod reading;
mod state;
mod swapping;
mod unknown;
mod waiting;
mod wakes;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use notice::Notice;
pub use state::{Lane, Opening};

use crate::{
    history::SessionView,
    ids::{BoardId, ChannelName, ClaimId, EventId, LegId, SubscriptionId},
    key::Identity,
    leg::LegKind,
    message::Parcel,
    policy::{Policy, World},
    ports::{Change, LookError, Wording},
    record::{
        Intent, IntentResult, Owed, Pass, PassRequest, Pause, Plan, Planned, Raise, RowChange,
        RowOutcome, Settlement, Work,
    },
    session::Aliases,
    subscription::Subscription,
    time::Timestamp,
    verdict::Verdict,
};
use places::ChannelState;
use state::{BoardState, Claim, Draft, LaneState, Sub, Timer, Track};
use waiting::Away;
use wakes::Wakes;

/// What the engine is told.
#[derive(Debug)]
pub enum Input {
    /// The first input: everything open in the ledger is wanted.
    Start,
    /// News from the world.
    Change(Change),
    /// A pass was read, with the copies of its tasks' subscriptions.
    PassRead {
        /// The board.
        opening: Opening,
        /// What was seen.
        pass: Box<Pass>,
        /// The ledger's copies.
        copies: Vec<Subscription>,
    },
    /// A pass could not be read.
    ReadFailed(Opening),
    /// A plan is durable.
    Planned {
        /// The board.
        opening: Opening,
        /// What the ledger made of it.
        planned: Planned,
    },
    /// A plan could not be recorded.
    PlanFailed(Opening),
    /// Rows of a board were changed, or not.
    RowsChanged {
        /// The board.
        opening: Opening,
        /// Each change.
        changes: Vec<RowChange>,
        /// The outcome of each; `None` when nothing could be written.
        outcomes: Option<Vec<RowOutcome>>,
    },
    /// Everything open in the ledger.
    Work(Box<Work>),
    /// It could not be read.
    WorkFailed,
    /// What is owed to the copies that were asked for.
    Owed(Vec<Owed>),
    /// It could not be read.
    OwedFailed,
    /// The ledger was changed by somebody else, or an instance died (law D9).
    Disturbed,
    /// Intents were recorded, or not.
    Intended(Vec<(Intent, IntentResult)>),
    /// Intents could not be recorded.
    IntendFailed(Vec<Intent>),
    /// A request ended.
    Sent {
        /// The claim.
        claim: ClaimId,
        /// How.
        verdict: Verdict,
    },
    /// A look ended.
    Looked {
        /// The lane that was looked at.
        lane: Lane,
        /// The unknown claim it was for; `None` before a wake.
        claim: Option<ClaimId>,
        /// What was seen.
        result: Result<SessionView, LookError>,
    },
    /// A channel's credential was checked.
    Probed {
        /// The channel.
        channel: ChannelName,
        /// The answer.
        verdict: Verdict,
    },
    /// Outcomes are durable.
    Settled {
        /// The outcomes.
        settlements: Vec<Settlement>,
        /// Cursors that may follow.
        raises: Vec<Raise>,
    },
    /// Outcomes could not be recorded; they are known all the same and must not be sent again.
    SettleFailed(Vec<Settlement>),
    /// A timer may have come due.
    Tick,
    /// No new claims from now on.
    Stop,
}

/// What the engine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read everything open in the ledger; what these copies are owed is held.
    LoadWork(Vec<SubscriptionId>),
    /// Read what is owed to these copies.
    LoadOwed(Vec<SubscriptionId>),
    /// Read a pass, then the copies of its tasks' subscriptions.
    Read(Opening, PassRequest),
    /// Record a plan.
    Plan(Opening, Plan),
    /// Change rows of a board.
    ChangeRows(Opening, Vec<RowChange>),
    /// Note in the ledger what became of raised cursors.
    NoteRaised(Vec<(Raise, RowOutcome)>),
    /// Note in the ledger until when a channel rests.
    Rest(Pause),
    /// Note in the ledger that a channel rests no more.
    Lift(ChannelName),
    /// Record an intent.
    Intend(Intent),
    /// Send a recorded claim.
    Send(ClaimId, Parcel),
    /// Look into a session.
    Look {
        /// The lane.
        lane: Lane,
        /// The unknown claim it is for, if any.
        claim: Option<ClaimId>,
        /// The reference to look for.
        reference: Option<String>,
    },
    /// Check a channel's credential.
    Probe(ChannelName),
    /// Record an outcome.
    Settle(Settlement),
    /// Send [`Input::Tick`] at this time.
    WakeMeAt(Timestamp),
    /// Tell people.
    Tell(Notice),
}

/// The engine. Cheap to make; [`Input::Start`] sets it going.
#[derive(Debug)]
pub struct Engine {
    policy: Policy,
    wording: Option<std::sync::Arc<dyn Wording>>,
    identity: Identity,
    world: World,
    boards: BTreeMap<BoardId, BoardState>,
    subs: BTreeMap<SubscriptionId, Sub>,
    tracks: BTreeMap<(SubscriptionId, LegKind), Track>,
    legs: HashMap<LegId, (SubscriptionId, LegKind, EventId)>,
    lanes: BTreeMap<Lane, LaneState>,
    channels: BTreeMap<ChannelName, ChannelState>,
    drafts: HashMap<u64, Draft>,
    claims: BTreeMap<ClaimId, Claim>,
    aliases: Aliases,
    away: Away,
    /// When each session was woken lately (law W5).
    wakes: Wakes,
    /// The reference of each session's last wake, where that is known to have failed: the open turn that
    /// it left behind means nothing (law W4).
    failed: HashMap<Lane, String>,
    timers: BTreeSet<(Timestamp, Timer)>,
    timer_of: HashMap<Timer, Timestamp>,
    touched: BTreeSet<Lane>,
    /// Boards that were not open when the ledger told of cursors to be raised there.
    missed: BTreeSet<BoardId>,
    next_draft: u64,
    next_opening: u64,
    /// Counts the inputs, for who came first.
    round: u64,
    /// The time of the last input.
    last_seen: Timestamp,
    /// When the newest claim in the ledger was recorded: the clock cannot be behind it (law F4).
    newest_claim: Timestamp,
    /// What was planned before this may have been delivered unknown to an older copy of the ledger.
    older: Option<Timestamp>,
    work_loaded: bool,
    loading: bool,
    stopping: bool,
    told_timer: Option<Timestamp>,
    out: Vec<Command>,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(policy: Policy, identity: Identity, world: World) -> Self {
        Self {
            policy,
            wording: None,
            identity,
            world,
            boards: BTreeMap::new(),
            subs: BTreeMap::new(),
            tracks: BTreeMap::new(),
            legs: HashMap::new(),
            lanes: BTreeMap::new(),
            channels: BTreeMap::new(),
            drafts: HashMap::new(),
            claims: BTreeMap::new(),
            aliases: Aliases::default(),
            away: Away::default(),
            wakes: Wakes::default(),
            failed: HashMap::new(),
            timers: BTreeSet::new(),
            timer_of: HashMap::new(),
            touched: BTreeSet::new(),
            missed: BTreeSet::new(),
            next_draft: 0,
            next_opening: 0,
            round: 0,
            last_seen: Timestamp::default(),
            newest_claim: Timestamp::default(),
            older: None,
            work_loaded: false,
            loading: false,
            stopping: false,
            told_timer: None,
            out: Vec::new(),
        }
    }

    /// Takes one input at `now`; returns what is to be done, in order.
    pub fn handle(&mut self, input: Input, now: Timestamp) -> Vec<Command> {
        self.follow_clock(now);
        self.round = self.round.wrapping_add(1);
        match input {
            Input::Start => {
                self.set_timer(Timer::Tidy, now.after(state::TIDY_EVERY));
                self.load_work();
            }
            Input::Disturbed => self.load_work(),
            Input::Change(change) => self.change(change, now),
            Input::PassRead { opening, pass, copies } => {
                self.pass_read(opening, &pass, &copies, now);
            }
            Input::ReadFailed(opening) => self.read_failed(opening, now),
            Input::Planned { opening, planned } => self.planned(opening, planned, now),
            Input::PlanFailed(opening) => self.plan_failed(opening, now),
            Input::RowsChanged { opening, changes, outcomes } => {
                self.rows_changed(opening, changes, outcomes, now);
            }
            Input::Work(work) => self.work(*work, now),
            Input::WorkFailed => self.work_failed(now),
            Input::Owed(owed) => self.fetched(owed),
            Input::OwedFailed => self.fetch_failed(now),
            Input::Intended(results) => self.intended(results, now),
            Input::IntendFailed(intents) => self.intend_failed(intents, now),
            Input::Sent { claim, verdict } => self.sent(claim, &verdict, now),
            Input::Looked { lane, claim: None, result } => self.looked_before(lane, result, now),
            Input::Looked { lane, claim: Some(claim), result } => {
                self.looked_for(claim, lane.channel(), result, now);
            }
            Input::Probed { channel, verdict } => self.probed(&channel, &verdict, now),
            Input::Settled { settlements, raises } => self.settled(settlements, raises, now),
            Input::SettleFailed(settlements) => self.settle_failed(settlements, now),
            Input::Tick => {}
            Input::Stop => self.stopping = true,
        }
        self.fire_timers(now);
        while let Some(lane) = self.touched.pop_first() {
            self.try_lane(lane, now);
        }
        self.fill_places(now);
        self.make_room(now);
        self.fetch();
        self.go_on_with_sweeps();
        self.tell_timer();
        std::mem::take(&mut self.out)
    }

    /// Whether nothing is under way and nothing is due at `now`: `once` ends then.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        self.work_loaded
            && !self.loading
            && self.away.fetching.is_empty()
            && self.drafts.is_empty()
            && self.claims.values().all(|claim| !claim.is_busy())
            && self.lanes.values().all(|lane| !lane.is_busy())
            && self.boards.values().all(BoardState::is_idle)
            && !self.boards.keys().any(|board| self.is_behind(*board))
            && self.timers.first().is_none_or(|(at, _)| *at > now)
    }

    /// Whether cursors wait to be raised on boards that can be written.
    pub fn owes_cursors(&self) -> bool {
        let usable = self.boards.values().filter(|state| state.usable);
        usable.into_iter().any(|state| !(state.raises.is_empty() && state.raising.is_empty()))
    }

    fn load_work(&mut self) {
        if !self.loading {
            self.loading = true;
            self.away.asked = self.subs.keys().copied().collect();
            self.out.push(Command::LoadWork(self.away.asked.iter().copied().collect()));
        }
    }

    fn work_failed(&mut self, now: Timestamp) {
        self.loading = false;
        self.set_timer(Timer::Work, now.after(state::LEDGER_RETRY));
    }

    fn fire_timers(&mut self, now: Timestamp) {
        while let Some((at, _)) = self.timers.first() {
            if *at > now {
                break;
            }
            let Some((_, timer)) = self.timers.pop_first() else {
                break;
            };
            self.timer_of.remove(&timer);
            match timer {
                Timer::Work => self.load_work(),
                Timer::Tidy => {
                    self.set_timer(Timer::Tidy, now.after(state::TIDY_EVERY));
                    self.forget_sessions(now);
                }
                Timer::Lane(lane) => {
                    self.touched.insert(lane);
                }
                Timer::Read(board) => self.read(board),
                Timer::Sweep(board) => self.sweep(board),
                Timer::Age(board) => self.look_for_aged(board, now),
                Timer::Raise(board) => self.flush_raises(board, now),
                Timer::Unknown(claim) => self.unknown_step(claim, now),
                Timer::Resettle(claim) => self.resettle(claim),
                Timer::Channel(channel) => self.channel_due(&channel),
                // Seen to with every input.
                Timer::Swap(_) => {}
            }
        }
    }

    /// Sets a timer; an earlier one for the same purpose stays, its firing looks again.
    fn set_timer(&mut self, timer: Timer, at: Timestamp) {
        if let Some(old) = self.timer_of.get(&timer).copied() {
            if old <= at {
                return;
            }
            self.timers.remove(&(old, timer.clone()));
        }
        self.timer_of.insert(timer.clone(), at);
        self.timers.insert((at, timer));
    }

    fn tell_timer(&mut self) {
        let next = self.timers.first().map(|(at, _)| *at);
        if next != self.told_timer {
            self.told_timer = next;
            self.out.push(Command::WakeMeAt(next.unwrap_or(Timestamp::NEVER)));
        }
    }
}
