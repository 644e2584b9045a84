//! One operation on the ledger at a time, and everything of a kind that waits in one: group commit.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Done, Ports, log, quiet::Quiet};
use crate::{
    engine::{Command, Input, Opening},
    ids::ChannelName,
    record::{Intent, Pause, Plan, Raise, RowOutcome, Settlement},
};

/// What waits for the ledger, in order.
///
/// One at a time, so that the engine is told of outcomes in the order in which they became durable: an
/// answer about everything open must not overtake, or be overtaken by, what changed it.
#[derive(Default)]
pub(super) struct LedgerQueue {
    waiting: VecDeque<Operation>,
    intents: Vec<Intent>,
    settlements: Vec<Settlement>,
    busy: bool,
}

enum Operation {
    LoadWork,
    Plan(Opening, Plan),
    NoteRaised(Vec<(Raise, RowOutcome)>),
    Rest(Pause),
    Lift(ChannelName),
    /// All of `intents`.
    Intend,
    /// All of `settlements`.
    Settle,
}

impl LedgerQueue {
    /// Takes a command that concerns the ledger; others do not belong here and are given back.
    pub(super) fn push(&mut self, command: Command) -> Result<(), Box<Command>> {
        let operation = match command {
            Command::LoadWork => Operation::LoadWork,
            Command::Plan(opening, plan) => Operation::Plan(opening, plan),
            Command::NoteRaised(raised) => Operation::NoteRaised(raised),
            Command::Rest(pause) => Operation::Rest(pause),
            Command::Lift(channel) => Operation::Lift(channel),
            Command::Intend(intent) => {
                self.intents.push(intent);
                if self.intents.len() > 1 {
                    return Ok(());
                }
                Operation::Intend
            }
            Command::Settle(settlement) => {
                self.settlements.push(settlement);
                if self.settlements.len() > 1 {
                    return Ok(());
                }
                Operation::Settle
            }
            other => return Err(Box::new(other)),
        };
        self.waiting.push_back(operation);
        Ok(())
    }

    pub(super) fn free(&mut self) {
        self.busy = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.busy && self.waiting.is_empty()
    }

    /// The next operation, if none is under way.
    pub(super) fn next(
        &mut self,
        ports: &Ports,
        quiet: &Arc<Quiet>,
    ) -> Option<BoxFuture<'static, Done>> {
        if self.busy {
            return None;
        }
        let operation = self.waiting.pop_front()?;
        self.busy = true;
        let (ports, quiet) = (ports.clone(), Arc::clone(quiet));
        Some(match operation {
            Operation::LoadWork => marked(load_work(ports, quiet)),
            Operation::Plan(opening, plan) => marked(plan_one(ports, quiet, opening, plan)),
            Operation::NoteRaised(raised) => marked(note_raised(ports, quiet, raised)),
            Operation::Rest(pause) => marked(rest(ports, quiet, pause)),
            Operation::Lift(channel) => marked(lift(ports, quiet, channel)),
            Operation::Intend => marked(intend(ports, quiet, std::mem::take(&mut self.intents))),
            Operation::Settle => {
                marked(settle(ports, quiet, std::mem::take(&mut self.settlements)))
            }
        })
    }
}

/// Marks the end of a ledger operation on its result.
fn marked(task: impl Future<Output = Option<Input>> + Send + 'static) -> BoxFuture<'static, Done> {
    task.map(|input| Done { input, ledger_free: true }).boxed()
}

async fn plan_one(ports: Ports, quiet: Arc<Quiet>, opening: Opening, plan: Plan) -> Option<Input> {
    Some(match ports.planner.plan(plan).await {
        Ok(planned) => Input::Planned { opening, planned },
        Err(error) => {
            log::port_failed(&error, Some(opening.board), &quiet, ports.clock.now());
            Input::PlanFailed(opening)
        }
    })
}

async fn intend(ports: Ports, quiet: Arc<Quiet>, mut intents: Vec<Intent>) -> Option<Input> {
    for intent in &mut intents {
        // Without a channel there are no bytes to pin; the claim is not made.
        let channel = ports.channels.get(intent.destination.channel());
        let Some(channel) = channel else {
            return Some(Input::IntendFailed(intents));
        };
        if intent.body.is_empty() {
            intent.body = channel.encode(&intent.destination, &intent.message);
        }
    }
    Some(match ports.claims.intend(intents.clone()).await {
        Ok(results) => Input::Intended(intents.into_iter().zip(results).collect()),
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::IntendFailed(intents)
        }
    })
}

async fn settle(ports: Ports, quiet: Arc<Quiet>, settlements: Vec<Settlement>) -> Option<Input> {
    Some(match ports.claims.settle(settlements.clone()).await {
        Ok(raises) => Input::Settled { settlements, raises },
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::SettleFailed(settlements)
        }
    })
}

async fn note_raised(
    ports: Ports,
    quiet: Arc<Quiet>,
    raised: Vec<(Raise, RowOutcome)>,
) -> Option<Input> {
    // Not noted is noted again: a cursor that is already as high is raised for nothing.
    if let Err(error) = ports.claims.raised(raised).await {
        log::port_failed(&error, None, &quiet, ports.clock.now());
    }
    None
}

async fn rest(ports: Ports, quiet: Arc<Quiet>, pause: Pause) -> Option<Input> {
    // A rest that is not written is kept all the same, and known to this instance alone.
    if let Err(error) = ports.claims.rest(pause).await {
        log::port_failed(&error, None, &quiet, ports.clock.now());
    }
    None
}

async fn lift(ports: Ports, quiet: Arc<Quiet>, channel: ChannelName) -> Option<Input> {
    // A rest that could not be lifted ends by itself.
    if let Err(error) = ports.claims.lift(channel).await {
        log::port_failed(&error, None, &quiet, ports.clock.now());
    }
    None
}

async fn load_work(ports: Ports, quiet: Arc<Quiet>) -> Option<Input> {
    Some(match ports.backlog.open_work().await {
        Ok(work) => Input::Work(Box::new(work)),
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::WorkFailed
        }
    })
}
