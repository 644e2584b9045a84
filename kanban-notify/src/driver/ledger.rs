//! What waits for the ledger goes to it together, everything of a kind in one operation: group commit.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all, ready},
};

use super::{Done, Ports, log, quiet::Quiet};
use crate::{
    engine::{Command, Input, Opening},
    ids::{ChannelName, SubscriptionId},
    record::{Intent, Pause, Plan, Raise, RowOutcome, Settlement},
};

/// Operations that go to the ledger together at most: so few are started in their order.
const TOGETHER: usize = 16;

/// What waits for the ledger, in order.
///
/// All that waits is asked for at once, in order, so that the ledger can make it durable together; more
/// only once all of it is answered. The engine is told of outcomes in the order in which they became
/// durable: an answer about everything open must not overtake, or be overtaken by, what changed it.
#[derive(Default)]
pub(super) struct LedgerQueue {
    waiting: VecDeque<Operation>,
    busy: bool,
}

enum Operation {
    LoadWork(Vec<SubscriptionId>),
    LoadOwed(Vec<SubscriptionId>),
    Plan(Opening, Plan),
    NoteRaised(Vec<(Raise, RowOutcome)>),
    Rest(Pause),
    Lift(ChannelName),
    Intend(Vec<Intent>),
    Settle(Vec<Settlement>),
}

impl LedgerQueue {
    /// Takes a command that concerns the ledger; others do not belong here and are given back.
    pub(super) fn push(&mut self, command: Command) -> Result<(), Box<Command>> {
        let operation = match command {
            Command::LoadWork(held) => Operation::LoadWork(held),
            Command::LoadOwed(copies) => Operation::LoadOwed(copies),
            Command::Plan(opening, plan) => Operation::Plan(opening, plan),
            Command::NoteRaised(raised) => Operation::NoteRaised(raised),
            Command::Rest(pause) => Operation::Rest(pause),
            Command::Lift(channel) => Operation::Lift(channel),
            Command::Intend(intent) => match self.waiting_intents() {
                Some(intents) => {
                    intents.push(intent);
                    return Ok(());
                }
                None => Operation::Intend(vec![intent]),
            },
            Command::Settle(settlement) => match self.waiting_settlements() {
                Some(settlements) => {
                    settlements.push(settlement);
                    return Ok(());
                }
                None => Operation::Settle(vec![settlement]),
            },
            other => return Err(Box::new(other)),
        };
        self.waiting.push_back(operation);
        Ok(())
    }

    /// The intents that one more may join. Not those before a channel's rest was set or lifted: what
    /// follows that rests on it.
    fn waiting_intents(&mut self) -> Option<&mut Vec<Intent>> {
        let behind =
            self.waiting.iter_mut().rev().take_while(|operation| {
                !matches!(operation, Operation::Lift(_) | Operation::Rest(_))
            });
        behind.into_iter().find_map(|operation| match operation {
            Operation::Intend(intents) => Some(intents),
            _ => None,
        })
    }

    /// The outcomes that one more may join: the sooner it is durable, the better.
    fn waiting_settlements(&mut self) -> Option<&mut Vec<Settlement>> {
        self.waiting.iter_mut().find_map(|operation| match operation {
            Operation::Settle(settlements) => Some(settlements),
            _ => None,
        })
    }

    pub(super) fn free(&mut self) {
        self.busy = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.busy && self.waiting.is_empty()
    }

    /// All that waits, if nothing is under way.
    pub(super) fn next(
        &mut self,
        ports: &Ports,
        quiet: &Arc<Quiet>,
    ) -> Option<BoxFuture<'static, Done>> {
        if self.busy || self.waiting.is_empty() {
            return None;
        }
        self.busy = true;
        let together = self.waiting.len().min(TOGETHER);
        let mut asked = Vec::with_capacity(together);
        for operation in self.waiting.drain(..together) {
            let (ports, quiet) = (ports.clone(), Arc::clone(quiet));
            asked.push(match operation {
                Operation::LoadWork(held) => load_work(ports, quiet, held).boxed(),
                Operation::LoadOwed(copies) => load_owed(ports, quiet, copies).boxed(),
                Operation::Plan(opening, plan) => plan_one(ports, quiet, opening, plan).boxed(),
                Operation::NoteRaised(raised) => note_raised(ports, quiet, raised).boxed(),
                Operation::Rest(pause) => rest(ports, quiet, pause).boxed(),
                Operation::Lift(channel) => lift(ports, quiet, channel).boxed(),
                // Before anything is asked: what is asked together must not come to the ledger apart.
                Operation::Intend(intents) => match encode(&ports, intents) {
                    Ok(intents) => intend(ports, quiet, intents).boxed(),
                    Err(intents) => ready(Some(Input::IntendFailed(intents))).boxed(),
                },
                Operation::Settle(settlements) => settle(ports, quiet, settlements).boxed(),
            });
        }
        let all = join_all(asked);
        Some(
            async move {
                let inputs = all.await.into_iter().flatten().collect();
                Done { inputs, ledger_free: true, ..Done::default() }
            }
            .boxed(),
        )
    }
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

async fn intend(ports: Ports, quiet: Arc<Quiet>, intents: Vec<Intent>) -> Option<Input> {
    Some(match ports.claims.intend(intents.clone()).await {
        Ok(results) => Input::Intended(intents.into_iter().zip(results).collect()),
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::IntendFailed(intents)
        }
    })
}

/// Makes the bytes that are to be pinned; gives the intents back if a channel is gone: without one there
/// are no bytes to pin, and no claim is made.
fn encode(ports: &Ports, mut intents: Vec<Intent>) -> Result<Vec<Intent>, Vec<Intent>> {
    for intent in &mut intents {
        let Some(channel) = ports.channels.get(intent.destination.channel()) else {
            return Err(intents);
        };
        // A message of which parts were accepted goes on with the bytes that it was begun with.
        if intent.body.is_empty() {
            intent.body = channel.encode(&intent.destination, &intent.message);
        }
    }
    Ok(intents)
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

async fn load_work(ports: Ports, quiet: Arc<Quiet>, held: Vec<SubscriptionId>) -> Option<Input> {
    Some(match ports.backlog.open_work(held).await {
        Ok(work) => Input::Work(Box::new(work)),
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::WorkFailed
        }
    })
}

async fn load_owed(ports: Ports, quiet: Arc<Quiet>, copies: Vec<SubscriptionId>) -> Option<Input> {
    Some(match ports.backlog.owed(copies).await {
        Ok(owed) => Input::Owed(owed),
        Err(error) => {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            Input::OwedFailed
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_executor::block_on;

    use super::*;
    use crate::{
        ids::ClaimId,
        message::{Destination, Message},
        ports::{Clock, MockBacklog, MockBoards, MockChannel, MockClaims, MockPlanner},
        record::Work,
        time::Timestamp,
        verdict::Detail,
    };

    type Log = Arc<Mutex<Vec<&'static str>>>;

    struct Nothing;

    impl crate::ports::Channels for Nothing {
        fn get(&self, _: &ChannelName) -> Option<Arc<dyn crate::ports::Channel>> {
            None
        }
    }

    #[async_trait::async_trait]
    impl Clock for Nothing {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }

        async fn sleep_until(&self, _: Timestamp) {}
    }

    fn ports(log: &Log) -> Ports {
        let mut claims = MockClaims::new();
        let asked = Arc::clone(log);
        claims.expect_settle().returning(move |settlements| {
            let word = if settlements.len() == 2 { "settle two" } else { "settle" };
            asked.lock().unwrap().push(word);
            Ok(vec![])
        });
        let asked = Arc::clone(log);
        claims.expect_lift().returning(move |_| {
            asked.lock().unwrap().push("lift");
            Ok(())
        });
        let mut backlog = MockBacklog::new();
        let asked = Arc::clone(log);
        backlog.expect_open_work().returning(move |_| {
            asked.lock().unwrap().push("load");
            Ok(Work::default())
        });
        Ports {
            boards: Arc::new(MockBoards::new()),
            planner: Arc::new(MockPlanner::new()),
            claims: Arc::new(claims),
            backlog: Arc::new(backlog),
            channels: Arc::new(Nothing),
            files: Arc::new(crate::ports::MockFiles::new()),
            clock: Arc::new(Nothing),
        }
    }

    fn settlement(claim: i64) -> Command {
        Command::Settle(Settlement {
            claim: ClaimId(claim),
            verdict: "delivered",
            detail: Detail::default(),
            legs: vec![],
            over: true,
            alias: None,
            pause: None,
            at: Timestamp::default(),
        })
    }

    struct One(Arc<dyn crate::ports::Channel>);

    impl crate::ports::Channels for One {
        fn get(&self, _: &ChannelName) -> Option<Arc<dyn crate::ports::Channel>> {
            Some(Arc::clone(&self.0))
        }
    }

    fn intent(draft: u64, channel: &str) -> Command {
        let channel = ChannelName(channel.to_owned());
        let (chat, thread) = ("c".to_owned(), String::new());
        let message = Message { spans: vec![], facts: vec![], ..Message::default() };
        Command::Intend(Intent {
            draft,
            lane: channel.to_string(),
            destination: Destination::Chat { channel, chat, thread },
            legs: vec![],
            tallies: vec![],
            key: String::new(),
            reference: String::new(),
            message,
            body: "x".to_owned(),
            at: Timestamp::default(),
        })
    }

    #[test]
    fn d8_what_follows_the_end_of_a_rest_does_not_overtake_it() {
        let log = Log::default();
        let mut claims = MockClaims::new();
        let asked = Arc::clone(&log);
        claims.expect_intend().returning(move |intents| {
            let word = if intents.len() == 1 { "intend" } else { "intend several" };
            asked.lock().unwrap().push(word);
            Ok(vec![])
        });
        let asked = Arc::clone(&log);
        claims.expect_lift().returning(move |_| {
            asked.lock().unwrap().push("lift");
            Ok(())
        });
        let mut ports = ports(&log);
        ports.claims = Arc::new(claims);
        ports.channels = Arc::new(One(Arc::new(MockChannel::new())));
        let mut queue = LedgerQueue::default();
        let lift = Command::Lift(ChannelName("x".to_owned()));
        for command in [intent(1, "y"), lift, intent(2, "x"), intent(3, "y")] {
            assert!(queue.push(command).is_ok());
        }
        block_on(queue.next(&ports, &Arc::default()).expect("something waits"));
        assert_eq!(*log.lock().unwrap(), ["intend", "lift", "intend several"]);
    }

    #[test]
    fn what_waits_is_asked_for_together_and_answered_in_order() {
        let log = Log::default();
        let (ports, quiet) = (ports(&log), Arc::default());
        let mut queue = LedgerQueue::default();
        let lift = || Command::Lift(ChannelName("console".to_owned()));
        for command in [settlement(1), Command::LoadWork(Vec::new()), settlement(2), lift()] {
            assert!(queue.push(command).is_ok());
        }
        let all = queue.next(&ports, &quiet).expect("something waits");
        assert!(queue.push(settlement(3)).is_ok());
        assert!(queue.next(&ports, &quiet).is_none(), "what is under way is answered first");
        let done = block_on(all);
        assert_eq!(*log.lock().unwrap(), ["settle two", "load", "lift"]);
        let order = [
            matches!(done.inputs.first(), Some(Input::Settled { settlements, .. }) if settlements.len() == 2),
            matches!(done.inputs.get(1), Some(Input::Work(_))),
            done.inputs.len() == 2,
        ];
        assert_eq!(order, [true; 3], "{:?}", done.inputs);
        queue.free();
        assert!(queue.next(&ports, &quiet).is_some());
    }
}
