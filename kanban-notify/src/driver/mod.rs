//! Runs the engine over the ports: a loop on `futures` alone, with no runtime and no clock of its own.

mod attach;
mod ledger;
mod log;
mod names;
mod quiet;

use std::{collections::BTreeSet, pin::Pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Fuse, FusedFuture},
    select_biased,
    stream::FuturesUnordered,
};

use crate::{
    engine::{Command, Engine, Input, Notice, Opening},
    error::PortError,
    ids::BoardId,
    ports::{Backlog, Boards, Change, Changes, Channels, Claims, Clock, Files, LookError, Planner},
    record::{Intent, PassRequest},
    time::Timestamp,
    verdict::{Detail, Verdict},
};
use attach::attach;
use ledger::LedgerQueue;
use names::Names;
use quiet::Quiet;

/// So many tasks that have ended are seen to before anything else is looked at.
const TOGETHER: usize = 64;

/// How often the ledger is asked whether somebody else changed it (law D9).
const DISTURBED_EVERY: Duration = Duration::from_secs(1);

/// The world behind the engine.
#[derive(Clone)]
pub struct Ports {
    /// The boards.
    pub boards: Arc<dyn Boards>,
    /// The ledger, planning.
    pub planner: Arc<dyn Planner>,
    /// The ledger, delivering.
    pub claims: Arc<dyn Claims>,
    /// The ledger, remembering.
    pub backlog: Arc<dyn Backlog>,
    /// The ways out.
    pub channels: Arc<dyn Channels>,
    /// The files that go with messages.
    pub files: Arc<dyn Files>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// When a run ends by itself.
#[derive(Clone)]
pub enum Until {
    /// Only when it is stopped.
    Stopped,
    /// When every board was tried and nothing is due any more.
    Idle {
        /// How many boards could be opened; `None` while some are still being tried.
        opened: Arc<dyn Fn() -> Option<usize> + Send + Sync>,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing was left to do.
    Idle,
    /// It was stopped and everything under way had its outcome.
    Drained,
    /// It was stopped and the grace time ran out: what was under way is of unknown outcome.
    Cut {
        /// How many requests were cut.
        in_flight: usize,
    },
}

/// The loop.
pub struct Driver {
    engine: Engine,
    ports: Ports,
    tasks: FuturesUnordered<BoxFuture<'static, Done>>,
    ledger: LedgerQueue,
    timer: Fuse<BoxFuture<'static, ()>>,
    opened: BTreeSet<BoardId>,
    names: Names,
    quiet: Arc<Quiet>,
}

/// What a task leaves: inputs in order, intents whose files were looked at, and perhaps the end of what
/// the ledger was asked for.
#[derive(Default)]
pub(crate) struct Done {
    inputs: Vec<Input>,
    intents: Vec<Intent>,
    ledger_free: bool,
}

impl Done {
    fn input(input: Input) -> Self {
        Self { inputs: vec![input], ..Self::default() }
    }
}

impl Driver {
    /// A driver for an engine that was just made.
    pub fn new(engine: Engine, ports: Ports) -> Self {
        Self {
            engine,
            ports,
            tasks: FuturesUnordered::new(),
            ledger: LedgerQueue::default(),
            timer: never(),
            opened: BTreeSet::new(),
            names: Names::default(),
            quiet: Arc::default(),
        }
    }

    /// Runs until `until`, or until `stop` resolves and what is under way has ended or `grace` is over.
    pub async fn run(
        mut self,
        mut changes: impl Changes,
        until: Until,
        stop: impl Future<Output = ()> + Send,
        grace: Duration,
    ) -> Ended {
        let mut stop = Box::pin(stop).fuse();
        let mut deadline = never();
        let mut changes_open = true;
        self.tasks.push(disturbed(&self.ports, &self.quiet));
        self.feed(Input::Start);
        loop {
            self.start_ledger();
            if stop.is_terminated() && self.is_drained() && !self.engine.owes_cursors() {
                return Ended::Drained;
            }
            if let Until::Idle { opened } = &until
                && self.is_drained()
                && self.engine.is_idle(self.ports.clock.now())
                && opened().is_some_and(|opened| self.opened.len() >= opened)
            {
                return Ended::Idle;
            }
            let next = async {
                if changes_open { changes.next().await } else { std::future::pending().await }
            };
            let mut next = Box::pin(next.fuse());
            select_biased! {
                () = stop => {
                    self.feed(Input::Stop);
                    let at = self.ports.clock.now().after(grace);
                    deadline = sleep(&self.ports, at);
                }
                () = deadline => return Ended::Cut { in_flight: self.engine.in_flight() },
                // Before the tasks: under load one of those is always ready.
                () = &mut self.timer => {
                    drop(next);
                    self.feed(Input::Tick);
                }
                change = next => match change {
                    Some(change) => {
                        drop(next);
                        if let Change::Opened(start) = &change {
                            self.opened.insert(start.id);
                        }
                        self.feed(Input::Change(change));
                    }
                    None => {
                        drop(next);
                        changes_open = false;
                    }
                },
                done = self.tasks.select_next_some() => {
                    drop(next);
                    self.done(done);
                    // What else has ended goes to the ledger with it.
                    for _ in 0..TOGETHER {
                        let Some(Some(done)) = self.tasks.next().now_or_never() else { break };
                        self.done(done);
                    }
                }
            }
        }
    }

    fn is_drained(&self) -> bool {
        self.engine.in_flight() == 0 && self.ledger.is_empty()
    }

    fn done(&mut self, done: Done) {
        for input in done.inputs {
            match input {
                // The question is asked again and again, and rarely answered yes.
                Input::Tick => self.tasks.push(disturbed(&self.ports, &self.quiet)),
                Input::Disturbed => {
                    self.tasks.push(disturbed(&self.ports, &self.quiet));
                    self.feed(Input::Disturbed);
                }
                input => self.feed(input),
            }
        }
        for intent in done.intents {
            self.queue(Command::Intend(intent));
        }
        if done.ledger_free {
            // Only now: what all these answers lead to goes to the ledger together.
            self.ledger.free();
        }
    }

    fn feed(&mut self, input: Input) {
        self.names.learn(&input);
        log::step(&input, &mut self.names);
        let over = self.names.over(&input);
        let commands = self.engine.handle(input, self.ports.clock.now());
        for command in commands {
            self.execute(command);
        }
        self.names.forget(over, &self.engine);
    }

    fn start_ledger(&mut self) {
        if let Some(task) = self.ledger.next(&self.ports, &self.quiet) {
            self.tasks.push(task);
        }
    }

    fn execute(&mut self, command: Command) {
        if let Command::Plan(opening, plan) = &command {
            self.names.closes(opening.board, plan);
        }
        let command = match command {
            Command::Intend(intent) => match attach(&self.ports, self.engine.artifacts(), intent) {
                Ok(intent) => Command::Intend(intent),
                Err(looking) => return self.tasks.push(looking),
            },
            other => other,
        };
        self.queue(command);
    }

    /// Hands a command to the ledger's queue, or does it.
    fn queue(&mut self, command: Command) {
        let (ports, quiet) = (self.ports.clone(), Arc::clone(&self.quiet));
        let Err(command) = self.ledger.push(command) else {
            return;
        };
        match *command {
            Command::Read(opening, request) => {
                self.tasks.push(
                    async move { Done::input(read(&ports, &quiet, opening, request).await) }
                        .boxed(),
                );
            }
            Command::ChangeRows(opening, changes) => self.tasks.push(
                async move {
                    let outcomes = ports.boards.change(opening.board, changes.clone()).await;
                    let outcomes = outcomes
                        .inspect_err(|error| {
                            log::port_failed(error, Some(opening.board), &quiet, ports.clock.now());
                        })
                        .ok();
                    Done::input(Input::RowsChanged { opening, changes, outcomes })
                }
                .boxed(),
            ),
            Command::Send(claim, parcel) => self.tasks.push(
                async move {
                    let verdict = match ports.channels.get(parcel.destination.channel()) {
                        Some(channel) => channel.send(&parcel).await,
                        None => Verdict::Unreachable { detail: Detail::new("no such channel now") },
                    };
                    Done::input(Input::Sent { claim, verdict })
                }
                .boxed(),
            ),
            Command::Look { lane, claim, reference } => self.tasks.push(
                async move {
                    let session = match lane.destination() {
                        crate::message::Destination::Session { session, .. } => session.clone(),
                        crate::message::Destination::Chat { chat, .. } => chat.clone(),
                    };
                    let result = match ports.channels.get(lane.channel()) {
                        Some(channel) => channel.look(&session, reference).await,
                        None => Err(LookError::Unreachable(Detail::new("no such channel now"))),
                    };
                    Done::input(Input::Looked { lane, claim, result })
                }
                .boxed(),
            ),
            Command::Probe(channel) => self.tasks.push(
                async move {
                    let verdict = match ports.channels.get(&channel) {
                        Some(channel) => channel.probe().await,
                        None => Verdict::Unreachable { detail: Detail::new("no such channel now") },
                    };
                    Done::input(Input::Probed { channel, verdict })
                }
                .boxed(),
            ),
            Command::WakeMeAt(at) => self.timer = sleep(&ports, at),
            Command::Tell(Notice::Degraded { board, reason }) => {
                let now = ports.clock.now();
                log::degraded(board, reason.as_str(), &self.names, &quiet, now);
            }
            Command::Tell(notice) => log::notice(&notice, &self.names),
            // The ledger's queue has taken these.
            Command::LoadWork(_)
            | Command::LoadOwed(_)
            | Command::Plan(..)
            | Command::NoteRaised(_)
            | Command::Rest(_)
            | Command::Lift(_)
            | Command::Intend(_)
            | Command::Settle(_) => {}
        }
    }
}

async fn read(ports: &Ports, quiet: &Quiet, opening: Opening, request: PassRequest) -> Input {
    let board = opening.board;
    let copies = async {
        let pass = ports.boards.read(board, request).await?;
        let mut tasks: Vec<String> = pass
            .events
            .iter()
            .map(|event| &event.task)
            .chain(pass.parts.iter().map(|part| &part.task))
            .chain(pass.rows.iter().map(|row| &row.key.task))
            .chain(pass.watched.iter().map(|(key, _)| &key.task))
            .chain(pass.aged.iter().flat_map(|aged| &aged.rows).map(|row| &row.key.task))
            .cloned()
            .collect();
        tasks.sort_unstable();
        tasks.dedup();
        let copies = match tasks.is_empty() {
            true => Vec::new(),
            false => ports.planner.copies(board, tasks).await?,
        };
        Ok::<_, PortError>((pass, copies))
    };
    match copies.await {
        Ok((pass, copies)) => Input::PassRead { opening, pass: Box::new(pass), copies },
        Err(error) => {
            log::port_failed(&error, Some(board), quiet, ports.clock.now());
            Input::ReadFailed(opening)
        }
    }
}

/// Asks once, a while from now, whether somebody else changed the ledger.
fn disturbed(ports: &Ports, quiet: &Arc<Quiet>) -> BoxFuture<'static, Done> {
    let (ports, quiet) = (ports.clone(), Arc::clone(quiet));
    async move {
        ports.clock.sleep_until(ports.clock.now().after(DISTURBED_EVERY)).await;
        let disturbed = ports.backlog.disturbed().await.unwrap_or_else(|error| {
            log::port_failed(&error, None, &quiet, ports.clock.now());
            false
        });
        Done::input(if disturbed { Input::Disturbed } else { Input::Tick })
    }
    .boxed()
}

fn sleep(ports: &Ports, at: Timestamp) -> Fuse<BoxFuture<'static, ()>> {
    if at == Timestamp::NEVER {
        return never();
    }
    let clock = ports.clock.clone();
    let sleep: Pin<Box<dyn Future<Output = ()> + Send>> =
        Box::pin(async move { clock.sleep_until(at).await });
    sleep.fuse()
}

fn never() -> Fuse<BoxFuture<'static, ()>> {
    Fuse::terminated()
}
