//! What ids stand for in the log: the board, task and event behind a leg or a claim.

use std::collections::{HashMap, HashSet};

use crate::{
    engine::{Engine, Input, Lane},
    ids::{BoardId, ClaimId, EventId, LegId},
    leg::LegKind,
    ports::Change,
    record::{IntentResult, Owed, Plan},
};

/// Names of what is open, learnt from what the engine is told and forgotten with it.
#[derive(Default)]
pub(super) struct Names {
    boards: HashMap<BoardId, String>,
    legs: HashMap<LegId, LegName>,
    claims: HashMap<ClaimId, Vec<LegId>>,
    /// Legs that a plan ends, until it is durable.
    closing: HashMap<BoardId, Vec<LegId>>,
    /// Lanes whose last look failed.
    dark: HashSet<Lane>,
}

/// One leg.
#[derive(Clone)]
pub(super) struct LegName {
    pub(super) board: String,
    pub(super) task: String,
    pub(super) event: EventId,
    pub(super) event_kind: &'static str,
    pub(super) kind: LegKind,
}

/// The legs of a claim in one line each for boards, tasks and events.
#[derive(Default)]
pub(super) struct ClaimName {
    pub(super) boards: String,
    pub(super) tasks: String,
    pub(super) events: String,
}

impl Names {
    /// The slug of a board; empty before it was opened.
    pub(super) fn board(&self, board: BoardId) -> &str {
        self.boards.get(&board).map_or("", String::as_str)
    }

    pub(super) fn leg(&self, leg: LegId) -> Option<&LegName> {
        self.legs.get(&leg)
    }

    pub(super) fn claim(&self, claim: ClaimId) -> ClaimName {
        let legs = self.claims.get(&claim).map(Vec::as_slice).unwrap_or_default();
        let named: Vec<&LegName> = legs.iter().filter_map(|leg| self.legs.get(leg)).collect();
        ClaimName {
            boards: joined(named.iter().map(|name| name.board.clone())),
            tasks: joined(named.iter().map(|name| name.task.clone())),
            events: joined(named.iter().map(|name| name.event.0.to_string())),
        }
    }

    /// Learns from what the engine is about to be told.
    pub(super) fn learn(&mut self, input: &Input) {
        match input {
            Input::Change(Change::Opened(start)) => {
                self.boards.insert(start.id, start.slug.clone());
            }
            Input::Planned { planned, .. } => self.owed(&planned.owed),
            Input::Owed(owed) => self.owed(owed),
            Input::Work(work) => {
                self.owed(&work.owed);
                for claim in &work.claims {
                    self.claims.insert(claim.id, claim.legs.clone());
                }
            }
            Input::Intended(intents) => {
                for (intent, result) in intents {
                    if let IntentResult::Won(claim) = result {
                        self.claims.insert(*claim, intent.legs.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes the legs that a plan ends.
    pub(super) fn closes(&mut self, board: BoardId, plan: &Plan) {
        self.closing.insert(board, plan.closes.iter().map(|(leg, ..)| *leg).collect());
    }

    /// What nobody may speak of any more once this input is dealt with.
    pub(super) fn over(&mut self, input: &Input) -> (Vec<ClaimId>, Vec<LegId>) {
        match input {
            Input::Planned { opening, planned } => {
                let mut legs = self.closing.remove(&opening.board).unwrap_or_default();
                legs.extend(ids(&planned.owed));
                (Vec::new(), legs)
            }
            Input::Owed(owed) => (Vec::new(), ids(owed).collect()),
            Input::Work(_) => (Vec::new(), self.legs.keys().copied().collect()),
            Input::Settled { settlements, .. } => {
                let over = || settlements.iter().filter(|settlement| settlement.over);
                let claims = over().map(|settlement| settlement.claim).collect();
                let legs = over().flat_map(|settlement| &settlement.legs);
                let legs = legs.filter(|leg| leg.state.is_final()).map(|leg| leg.leg).collect();
                (claims, legs)
            }
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// Forgets them, but for legs that the engine holds.
    pub(super) fn forget(&mut self, (claims, legs): (Vec<ClaimId>, Vec<LegId>), engine: &Engine) {
        for claim in claims {
            self.claims.remove(&claim);
        }
        for leg in legs.into_iter().filter(|leg| !engine.holds(*leg)) {
            self.legs.remove(&leg);
        }
    }

    /// Whether this failure of a look is the first in a row.
    pub(super) fn look_failed(&mut self, lane: &Lane) -> bool {
        self.dark.insert(lane.clone())
    }

    /// Whether looks into this lane failed until now.
    pub(super) fn look_works(&mut self, lane: &Lane) -> bool {
        self.dark.remove(lane)
    }

    fn owed(&mut self, owed: &[Owed]) {
        for owed in owed {
            self.boards.insert(owed.board, owed.slug.clone());
            for leg in &owed.legs {
                let name = LegName {
                    board: owed.slug.clone(),
                    task: owed.subscription.key.task.clone(),
                    event: leg.leg.event,
                    event_kind: leg.facts.kind.name(),
                    kind: leg.leg.kind,
                };
                self.legs.insert(leg.leg.id, name);
            }
        }
    }
}

fn ids(owed: &[Owed]) -> impl Iterator<Item = LegId> {
    owed.iter().flat_map(|owed| &owed.legs).map(|owed| owed.leg.id)
}

/// Each name once, in order, separated by commas.
fn joined(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join(",")
}
