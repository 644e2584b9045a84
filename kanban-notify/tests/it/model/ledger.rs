//! A ledger in memory, with the contracts of `Planner`, `Claims` and `Backlog`, that checks every move.

use std::collections::BTreeMap;

use kanban_notify::{
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId, SubscriptionId},
    leg::{Leg, LegState, LegStep, Tally},
    ownership::channel_of_leg,
    record::{
        Facts, Intent, IntentResult, OpenClaim, Owed, OwedLeg, Pause, Plan, Planned, Position,
        Raise, RowOutcome, Settlement, SubscriptionPlan, Work,
    },
    subscription::Subscription,
    time::Timestamp,
};

pub struct ModelLedger {
    /// Of so many copies all that is open is told at once.
    pub few: usize,
    pub subs: Vec<Copy>,
    pub legs: Vec<(Leg, Facts)>,
    pub claims: Vec<ModelClaim>,
    pub position: Position,
    pub pauses: BTreeMap<ChannelName, Pause>,
}

pub struct Copy {
    pub sub: Subscription,
    pub board_cursor: EventId,
}

pub struct ModelClaim {
    pub open: OpenClaim,
    pub instance: u32,
    pub over: bool,
}

const BOARD: BoardId = BoardId(1);

impl Default for ModelLedger {
    fn default() -> Self {
        Self {
            few: usize::MAX,
            subs: Vec::new(),
            legs: Vec::new(),
            claims: Vec::new(),
            position: Position::default(),
            pauses: BTreeMap::new(),
        }
    }
}

impl ModelLedger {
    pub fn copies(&self, tasks: &[String]) -> Vec<Subscription> {
        let wanted = self.subs.iter().filter(|copy| tasks.contains(&copy.sub.key.task));
        wanted.map(|copy| copy.sub.clone()).collect()
    }

    pub fn plan(&mut self, plan: &Plan) -> Planned {
        for (leg, state, _) in &plan.closes {
            let (leg, _) = self.legs.iter_mut().find(|(open, _)| open.id == *leg).unwrap();
            if leg.state.is_claimable() {
                leg.state = *state;
            }
        }
        self.position = plan.position.clone();
        let ids: Vec<usize> = plan.subscriptions.iter().map(|sub| self.upsert(sub)).collect();
        let raises = ids.iter().filter_map(|at| self.raise(*at)).collect();
        Planned { owed: ids.iter().map(|at| self.owed(*at)).collect(), raises }
    }

    fn upsert(&mut self, plan: &SubscriptionPlan) -> usize {
        let found = self
            .subs
            .iter()
            .position(|copy| copy.sub.key == plan.key && copy.sub.created_at == plan.created_at);
        let at = found.unwrap_or_else(|| {
            self.subs.push(Copy {
                sub: Subscription {
                    id: SubscriptionId(i64::try_from(self.subs.len()).unwrap() + 1),
                    key: plan.key.clone(),
                    created_at: plan.created_at,
                    profile: plan.profile.clone(),
                    adopted: None,
                    mode: plan.mode,
                    baseline: plan.baseline,
                    seen: plan.baseline,
                    settled: plan.baseline,
                    life: plan.life,
                },
                board_cursor: plan.cursor,
            });
            self.subs.len() - 1
        });
        let copy = &mut self.subs[at];
        copy.sub.adopted = copy.sub.adopted.take().or_else(|| plan.adopted.clone());
        copy.sub.life = plan.life;
        copy.sub.seen = copy.sub.seen.max(plan.seen);
        copy.board_cursor = copy.board_cursor.max(plan.cursor);
        let id = copy.sub.id;
        for new in &plan.legs {
            let exists = self.legs.iter().any(|(leg, _)| {
                leg.subscription == id && leg.event == new.facts.event && leg.kind == new.kind
            });
            if !exists {
                let leg = Leg {
                    id: LegId(i64::try_from(self.legs.len()).unwrap() + 1),
                    subscription: id,
                    event: new.facts.event,
                    kind: new.kind,
                    state: new.state,
                    claim: None,
                    due_at: Timestamp::default(),
                    planned_at: new.planned_at,
                    tally: Tally::default(),
                };
                self.legs.push((leg, new.facts.clone()));
            }
        }
        self.follow(at);
        at
    }

    /// The rule for cursors: with nothing open, all that was judged; else what lies below the lowest
    /// open event.
    fn follow(&mut self, at: usize) {
        let id = self.subs[at].sub.id;
        let of = |legs: &[(Leg, Facts)], open: bool| -> Vec<EventId> {
            legs.iter()
                .filter(|(leg, _)| leg.subscription == id && leg.state.is_final() != open)
                .map(|(leg, _)| leg.event)
                .collect()
        };
        let lowest = of(&self.legs, true).into_iter().min();
        let copy = &mut self.subs[at];
        let settled = match lowest {
            None => copy.sub.seen.max(copy.board_cursor),
            Some(lowest) => {
                of(&self.legs, false).into_iter().filter(|e| *e < lowest).max().unwrap_or_default()
            }
        };
        copy.sub.settled = copy.sub.settled.max(settled);
    }

    fn raise(&self, at: usize) -> Option<Raise> {
        let copy = &self.subs[at];
        (copy.sub.settled > copy.board_cursor).then(|| Raise {
            board: BOARD,
            subscription: copy.sub.id,
            key: copy.sub.key.clone(),
            created_at: copy.sub.created_at,
            to: copy.sub.settled,
            archived: false,
        })
    }

    fn owed(&self, at: usize) -> Owed {
        let sub = self.subs[at].sub.clone();
        let open = self.legs.iter().filter(|(leg, _)| leg.subscription == sub.id);
        let legs = open
            .filter(|(leg, _)| !leg.state.is_final())
            .map(|(leg, facts)| OwedLeg {
                leg: leg.clone(),
                facts: facts.clone(),
                begun: self.begun(leg),
            })
            .collect();
        Owed {
            board: BOARD,
            slug: "default".into(),
            incarnation: Incarnation(1),
            subscription: sub,
            legs,
        }
    }

    /// The bytes of a message of which parts were accepted.
    pub fn begun(&self, leg: &Leg) -> Option<String> {
        let claim = self.claims.iter().find(|claim| Some(claim.open.id) == leg.claim);
        claim.filter(|_| leg.tally.part > 0).map(|claim| claim.open.body.clone())
    }

    pub fn intend(&mut self, intents: &[Intent], instance: u32) -> Vec<IntentResult> {
        intents.iter().map(|intent| self.intend_one(intent, instance)).collect()
    }

    fn intend_one(&mut self, intent: &Intent, instance: u32) -> IntentResult {
        if self.claims.iter().any(|claim| !claim.over && claim.open.lane == intent.lane) {
            return IntentResult::Held;
        }
        let pause = self.pauses.get(intent.destination.channel());
        if let Some(pause) = pause.filter(|pause| pause.until > intent.at) {
            return IntentResult::Paused(pause.until);
        }
        let claimable = |(id, tally): (&LegId, &Tally)| {
            let mut legs = self.legs.iter().map(|(leg, _)| leg);
            legs.any(|leg| leg.id == *id && leg.tally == *tally && leg.state.is_claimable())
        };
        if !intent.legs.iter().zip(&intent.tallies).all(claimable) {
            return IntentResult::Taken;
        }
        let id = ClaimId(i64::try_from(self.claims.len()).unwrap() + 1);
        for (leg, _) in self.legs.iter_mut().filter(|(leg, _)| intent.legs.contains(&leg.id)) {
            leg.state = leg.state.step(LegStep::Intend).unwrap();
            leg.claim = Some(id);
        }
        self.claims.push(ModelClaim {
            open: OpenClaim {
                id,
                lane: intent.lane.clone(),
                destination: intent.destination.clone(),
                legs: intent.legs.clone(),
                key: intent.key.clone(),
                reference: intent.reference.clone(),
                body: intent.body.clone(),
                at: intent.at,
            },
            instance,
            over: false,
        });
        IntentResult::Won(id)
    }

    pub fn settle(&mut self, settlements: &[Settlement]) -> Vec<Raise> {
        let mut touched = Vec::new();
        for settlement in settlements {
            let claim = self
                .claims
                .iter_mut()
                .find(|claim| claim.open.id == settlement.claim)
                .expect("a settlement of a claim that was never recorded");
            assert!(!claim.over, "a claim was settled twice");
            claim.over = settlement.over;
            if let Some(pause) = &settlement.pause {
                self.pauses.insert(pause.channel.clone(), pause.clone());
            }
            assert_eq!(claim.open.legs.len(), settlement.legs.len(), "every leg has an outcome");
            for outcome in &settlement.legs {
                let (leg, _) = self.legs.iter_mut().find(|(leg, _)| leg.id == outcome.leg).unwrap();
                let step = match outcome.state {
                    LegState::Delivered => LegStep::Deliver,
                    LegState::Intended => LegStep::Advance,
                    LegState::Retrying => LegStep::Rewind,
                    LegState::Unknown => LegStep::Lose,
                    LegState::Parked => LegStep::Park,
                    other => panic!("a claim cannot leave a leg {other:?}"),
                };
                leg.state = leg.state.step(step).expect("a legal move (law D2)");
                leg.tally = outcome.tally;
                leg.due_at = outcome.due_at;
                touched.push(leg.subscription);
            }
        }
        let at: Vec<usize> =
            (0..self.subs.len()).filter(|at| touched.contains(&self.subs[*at].sub.id)).collect();
        for at in &at {
            self.follow(*at);
        }
        at.iter().filter_map(|at| self.raise(*at)).collect()
    }

    pub fn rest(&mut self, pause: &Pause) {
        self.pauses.insert(pause.channel.clone(), pause.clone());
    }

    pub fn lift(&mut self, channel: &ChannelName) {
        self.pauses.remove(channel);
    }

    pub fn raised(&mut self, raised: &[(Raise, RowOutcome)]) {
        for (raise, outcome) in raised {
            if *outcome == RowOutcome::Won {
                let copy =
                    self.subs.iter_mut().find(|copy| copy.sub.id == raise.subscription).unwrap();
                copy.board_cursor = copy.board_cursor.max(raise.to);
            }
        }
    }

    pub fn owed_to(&self, copies: &[SubscriptionId]) -> Vec<Owed> {
        let asked = (0..self.subs.len()).filter(|at| copies.contains(&self.subs[*at].sub.id));
        asked.map(|at| self.owed(at)).filter(|owed| !owed.legs.is_empty()).collect()
    }

    pub fn open_work(&mut self, instance: u32, held: &[SubscriptionId]) -> Work {
        // Only one instance lives in this world: claims of earlier ones are of the dead.
        let claims = self
            .claims
            .iter_mut()
            .filter(|claim| !claim.over && claim.instance != instance)
            .map(|claim| {
                claim.instance = instance;
                claim.open.clone()
            })
            .collect();
        let mut open: Vec<Owed> = (0..self.subs.len())
            .map(|at| self.owed(at))
            .filter(|owed| !owed.legs.is_empty())
            .collect();
        open.sort_by_key(|owed| owed.legs.iter().map(|owed| owed.leg.id).min());
        let all = open.len() <= self.few;
        let (owed, left) = open.into_iter().partition::<Vec<Owed>, _>(|owed| {
            let mut states = owed.legs.iter().map(|owed| owed.leg.state);
            let claimed = states.any(|state| !state.is_claimable());
            all || claimed || held.contains(&owed.subscription.id)
        });
        let mut waiting: BTreeMap<ChannelName, Vec<SubscriptionId>> = BTreeMap::new();
        for Owed { subscription: copy, legs, .. } in left {
            for OwedLeg { leg, .. } in legs {
                let channel = channel_of_leg(leg.kind, &copy.key.platform, &copy.profile);
                let queue = waiting.entry(channel).or_default();
                if queue.last() != Some(&copy.id) {
                    queue.push(copy.id);
                }
            }
        }
        Work {
            owed,
            waiting,
            claims,
            raises: (0..self.subs.len()).filter_map(|at| self.raise(at)).collect(),
            pauses: self.pauses.values().cloned().collect(),
            ..Work::default()
        }
    }
}
