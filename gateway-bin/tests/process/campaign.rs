//! kill -9 at random moments, a hundred times over five hundred tasks, while the receiver fails one request
//! in five: nothing is lost, and nothing is repeated that could be known (laws D1, D4, D6, D7, D9, W6).

mod claims;
mod front;
mod judge;
mod tells;
mod work;

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, PipeWriter},
    ops::Range,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use gateway_adapters::receiver::{How, ReceiverEvent};
use secrecy::ExposeSecret as _;
use tokio::{sync::mpsc::UnboundedReceiver, time::timeout};

use crate::{
    process::Process,
    support::{dice::Dice, world::World},
};
use claims::{Alive, InFlight};
use front::{Front, Memory};
use work::{Leg, Work};

const KILLS: usize = 100;
const TASKS: usize = 500;

/// A life goes on for so long at most once it is at work; most things take a few milliseconds.
const LIFE: Duration = Duration::from_millis(250);

/// How long the last lives may take over what is left; most of it is pauses between looks that fail.
const TAIL: Duration = Duration::from_secs(60);

/// Chance, unless another seed is asked for.
const USUAL_SEED: u64 = 20_260_727;
const SEED: &str = "KANBAN_GATEWAY_CAMPAIGN_SEED";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_a_hundred_kills_double_nothing_where_the_receiver_knows_keys_and_history() {
    Campaign::run("known", Memory::Whole, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d7_a_hundred_kills_repeat_no_more_than_was_in_flight_where_the_receiver_knows_nothing() {
    Campaign::run("unknown", Memory::None, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_hundred_kills_among_two_that_are_suspended_at_times_double_nothing() {
    Campaign::run("two, known", Memory::Whole, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_hundred_kills_among_two_repeat_no_more_than_was_in_flight() {
    Campaign::run("two, unknown", Memory::None, 2).await;
}

/// Where all lives print, and what they printed; it outlives each of them.
struct Print {
    pipe: PipeWriter,
    lines: JoinHandle<Vec<String>>,
}

struct Campaign {
    seed: u64,
    memory: Memory,
    world: World,
    front: Front,
    dice: Dice,
    news: UnboundedReceiver<ReceiverEvent>,
    /// The requests that started a turn.
    ran: BTreeSet<u64>,
    answered_again: usize,
    work: Option<Work>,
    instances: usize,
    running: Vec<Process>,
    print: Option<Print>,
    logs: Vec<Arc<Mutex<Vec<String>>>>,
    /// The keys of what was in flight at the kills.
    killed: BTreeSet<String>,
    kills: usize,
    rests: usize,
    /// What an operator asked for again.
    asked: BTreeSet<Leg>,
}

impl Campaign {
    async fn run(name: &str, memory: Memory, instances: usize) {
        let began = Instant::now();
        let seed = std::env::var(SEED).map_or(USUAL_SEED, |seed| seed.parse().unwrap());
        println!("{SEED}={seed}");
        let mut campaign = Self::prepare(seed, memory, instances).await;
        while campaign.kills < KILLS || campaign.tasks() < TASKS {
            campaign.round().await;
        }
        campaign.finish().await;
        campaign.judge(name, began);
    }

    async fn prepare(seed: u64, memory: Memory, instances: usize) -> Self {
        let mut world = World::with(memory.receiver()).await;
        let front = Front::before(&world.receiver, memory, seed).await;
        let key = world.receiver.key();
        world.server("default", &front.url(), key.expose_secret());
        for (key, value) in [
            ("console.enabled", "true"),
            // Shared sessions are woken more often than people would be.
            ("wake.max_per_hour", "3600"),
            ("wake.max_failed_turns", "100"),
            ("log.level", "info,kanban_notify=debug"),
        ] {
            world.set(key, value);
        }
        let news = world.receiver.events();
        Self {
            seed,
            memory,
            front,
            dice: Dice::new(seed ^ 1),
            news,
            ran: BTreeSet::new(),
            answered_again: 0,
            work: Some(Work::new(&world.cards, seed ^ 2)),
            world,
            instances,
            running: Vec::new(),
            print: Some(Print::open()),
            logs: Vec::new(),
            killed: BTreeSet::new(),
            kills: 0,
            rests: 0,
            asked: BTreeSet::new(),
        }
    }

    /// Somebody is started, works, may be suspended, and is killed; meanwhile there is new work.
    async fn round(&mut self) {
        self.start();
        let mut work = self.work.take().unwrap();
        let working = tokio::task::spawn_blocking(move || {
            work.go_on(TASKS / KILLS);
            work
        });
        self.moment().await;
        if self.dice.often(3) {
            self.rest().await;
        }
        let all = self.running.len();
        let one = self.dice.below(all);
        let spares = all > 1 && !self.dice.often(8);
        let victims = if spares { one..one + 1 } else { 0..all };
        self.kill(victims).await;
        self.work = Some(working.await.unwrap());
    }

    fn tasks(&self) -> usize {
        self.work.as_ref().unwrap().tasks()
    }

    fn start(&mut self) {
        while self.running.len() < self.instances {
            let pipe = self.print.as_ref().unwrap().pipe.try_clone().unwrap();
            let process = Process::printing(&self.world, pipe.into());
            self.logs.push(process.lines());
            self.running.push(process);
        }
    }

    /// A random moment in the life of the youngest: while it starts, or when it is at work, after some time
    /// or some news from the receiver.
    async fn moment(&mut self) {
        let span = span(&mut self.dice, LIFE);
        let moment = self.dice.below(4);
        if moment > 0 {
            self.running.last_mut().unwrap().says("ready").await;
        }
        if moment < 2 {
            // sleep: the moment of a crash is nobody's to announce.
            return tokio::time::sleep(span).await;
        }
        let mut left = 1 + self.dice.below(16);
        let heard = async {
            while left > 0 {
                let news = self.news.recv().await.unwrap();
                self.note(&news);
                left -= 1;
            }
        };
        // There may be nothing to hear of.
        let _ = timeout(4 * LIFE, heard).await;
    }

    fn note(&mut self, news: &ReceiverEvent) {
        let ReceiverEvent::Answered(answered) = news else {
            return;
        };
        match answered.how {
            How::Ran => drop(self.ran.insert(answered.number)),
            How::Joined | How::Replayed => self.answered_again += 1,
            How::Refused | How::Left => {}
        }
    }

    /// Suspends one for a while: what it holds stays its own (law D9).
    async fn rest(&mut self) {
        let sleeper = self.dice.below(self.running.len());
        let pid = i64::from(self.running[sleeper].id());
        self.running[sleeper].suspend().await;
        let held = |campaign: &Self| {
            let mut held = claims::in_flight(&campaign.world.ledger(), Alive::Everybody);
            held.retain(|claim| claim.pid == pid);
            held
        };
        self.still(sleeper..sleeper + 1).await;
        let before = held(self);
        self.go_on(sleeper..sleeper + 1);
        let rest = span(&mut self.dice, LIFE / 2);
        // sleep: nobody says when a process is woken.
        tokio::time::sleep(rest).await;
        self.still(sleeper..sleeper + 1).await;
        assert_eq!(held(self), before, "taken from one that only sleeps");
        self.go_on(0..0);
        self.rests += 1;
    }

    /// Suspends everybody but these.
    async fn still(&self, but: Range<usize>) {
        for (index, process) in self.running.iter().enumerate() {
            if !but.contains(&index) {
                process.suspend().await;
            }
        }
    }

    fn go_on(&self, but: Range<usize>) {
        for (index, process) in self.running.iter().enumerate() {
            if !but.contains(&index) {
                process.signal("-CONT");
            }
        }
    }

    /// kill -9. The others stand still until it is noted what was in flight.
    async fn kill(&mut self, victims: Range<usize>) {
        self.still(victims.clone()).await;
        self.kills += victims.len();
        Process::kill_all(self.running.drain(victims).collect()).await;
        let lives = |claim: &InFlight| {
            self.running.iter().any(|process| claim.pid == i64::from(process.id()))
        };
        let alive = if self.running.is_empty() { Alive::Nobody } else { Alive::Somebody };
        let in_flight = claims::in_flight(&self.world.ledger(), alive).into_iter();
        self.killed.extend(in_flight.filter(|claim| !lives(claim)).map(|claim| claim.key));
        self.go_on(0..0);
    }

    /// The last lives, which nobody disturbs. What was unknown twice waits for an operator (law D7), who
    /// asks for it again.
    async fn finish(&mut self) {
        let mut work = self.work.take().unwrap();
        work.finish();
        self.start();
        let legs = i64::try_from(work.legs.len()).unwrap();
        self.work = Some(work);
        loop {
            let mut operator = self.world.operator();
            let end = Instant::now() + TAIL;
            let mut is_over = || {
                let counts = operator.counts().unwrap();
                let ended = ["delivered", "parked"].map(|end| counts.legs.get(end).unwrap_or(&0));
                ended.into_iter().sum::<i64>() == legs && counts.raises == 0
            };
            while !is_over() && Instant::now() < end {
                // sleep: a ledger tells nobody that it has changed; the bound is above.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            if !is_over() {
                let (counts, waiting) = (operator.counts(), operator.waiting_list());
                panic!("{SEED}={}, {legs} legs: {counts:#?} {waiting:#?}", self.seed);
            }
            let dead = operator.dead_list(false).unwrap();
            if dead.is_empty() {
                break;
            }
            // Where something else is on its way to the same place, it is asked for once more.
            let ids: Vec<i64> = dead.iter().map(|leg| leg.id).collect();
            operator.dead_retry(&ids).unwrap();
            let said = &self.work.as_ref().unwrap().said;
            for leg in dead {
                assert_eq!(leg.verdict, "unknown", "{leg:?}");
                let mark = said[&leg.event].clone();
                self.asked.insert(Leg { platform: leg.platform, chat: leg.chat, mark });
            }
        }
        for mut process in std::mem::take(&mut self.running) {
            process.terminate();
            assert!(process.ended().await.success(), "{}", process.log());
        }
    }
}

fn span(dice: &mut Dice, longest: Duration) -> Duration {
    longest * u32::try_from(dice.below(1_000)).unwrap() / 1_000
}

impl Print {
    fn open() -> Self {
        let (lines, pipe) = std::io::pipe().unwrap();
        let lines = BufReader::new(lines).lines();
        let lines = std::thread::spawn(|| lines.map(Result::unwrap).collect());
        Self { pipe, lines }
    }

    /// Everything that was printed, once nobody can print any more.
    fn close(self) -> Vec<String> {
        drop(self.pipe);
        self.lines.join().unwrap()
    }
}
