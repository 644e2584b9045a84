//! kill -9 at each step between intent and cursor: nothing lost, nothing doubled (laws D1, D6, W6).

use std::time::{Duration, Instant};

use diesel::{SqliteConnection, connection::SimpleConnection as _};
use gateway_adapters::receiver::{ReceiverConfig, ReceiverEvent};
use kanban_store::board::RowKey;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    process::Process,
    support::{
        cards::{assert_sound, connect},
        tally::assert_each_told_once,
        wait::{eventually, soon},
        world::World,
    },
};

const KILLS: usize = 50;
const TASKS_EACH: usize = 4;

/// The moment of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The session is looked at: planned, no intent yet, or just.
    Look,
    /// The request is there, its turn runs and ends without a listener.
    Turn,
    /// The answer has just been written.
    Answer,
    /// The answer is there and the ledger cannot be written: the outcome is known to nobody else.
    Outcome,
    /// The outcome is in the ledger and the board cannot be written: no cursor is raised.
    Cursor,
    /// Whatever is under way just then.
    Any,
}

const MOMENTS: [Moment; 6] =
    [Moment::Look, Moment::Turn, Moment::Answer, Moment::Outcome, Moment::Cursor, Moment::Any];

struct Campaign {
    world: World,
    news: UnboundedReceiver<ReceiverEvent>,
    asked: Vec<(String, RowKey, i64)>,
    random: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_at_each_step_between_intent_and_cursor_lose_and_double_nothing() {
    let began = Instant::now();
    let world = World::with(ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() }).await;
    let news = world.receiver.events();
    let mut campaign = Campaign { world, news, asked: Vec::new(), random: 86_553 };
    for round in 0..KILLS {
        let moment = MOMENTS[round % MOMENTS.len()];
        campaign.round(round, moment).await;
    }
    let Campaign { world, asked, .. } = campaign;
    let mut last = Process::run(&world);
    for (_, row, event) in &asked {
        world.settled(row, *event).await;
    }
    last.terminate();
    assert!(last.ended().await.success(), "{}", last.log());

    assert_eq!(asked.len(), KILLS * TASKS_EACH);
    let expected: Vec<_> =
        asked.iter().map(|(_, row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
    let counts = world.operator().counts().unwrap();
    assert_eq!(counts.legs.get("delivered"), Some(&200), "{counts:?}");
    assert_eq!((counts.legs.len(), counts.raises), (1, 0), "{counts:?}");
    assert_sound(world.cards.path());
    assert_sound(&world.ledger());
    let took = began.elapsed();
    println!("{KILLS} kills, {} wakes, {took:?}", world.receiver.wakes().len());
    assert!(took < Duration::from_secs(90), "{took:?}");
}

impl Campaign {
    /// A life of the gateway: it starts, finds what the last one left and new work, and is killed.
    async fn round(&mut self, round: usize, moment: Moment) {
        let process = Process::run(&self.world);
        let mut ledger_lock = None;
        let mut board_lock = None;
        match moment {
            Moment::Turn | Moment::Outcome => self.world.receiver.hold(),
            _ => {}
        }
        while self.news.try_recv().is_ok() {}
        let rows = self.work(round);
        match moment {
            Moment::Look => {
                self.until(
                    |news| matches!(news, ReceiverEvent::Arrived(request) if !request.is_wake()),
                )
                .await;
            }
            Moment::Turn => self.until_arrived().await,
            Moment::Answer => self.until_answered().await,
            Moment::Outcome => {
                self.until_arrived().await;
                ledger_lock = Some(lock(&self.world.ledger()));
                self.world.receiver.release_all();
                self.until_answered().await;
            }
            Moment::Cursor => {
                board_lock = Some(lock(self.world.cards.path()));
                self.until_delivered(&rows).await;
            }
            Moment::Any => {
                // sleep: the moment of a crash is nobody's to announce.
                tokio::time::sleep(Duration::from_millis(self.random(400))).await;
            }
        }
        process.kill().await;
        drop((ledger_lock, board_lock));
        self.world.receiver.release_all();
    }

    /// New tasks that are completed: most with a session of their own, some share one.
    fn work(&mut self, round: usize) -> Vec<RowKey> {
        let cards = self.world.cards.clone();
        let mut rows = Vec::new();
        for number in 0..TASKS_EACH {
            let session = match number {
                0 => format!("shared-{}", round % 5),
                _ => format!("session-{round}-{number}"),
            };
            let (task, row) = cards.asked("Build the report", &session);
            let event = cards.complete(&task, "done once");
            rows.push(row.clone());
            self.asked.push((session, row, event));
        }
        rows
    }

    async fn until(&mut self, is_it: impl Fn(&ReceiverEvent) -> bool) {
        let heard = async {
            while let Some(news) = self.news.recv().await {
                if is_it(&news) {
                    return;
                }
            }
        };
        soon("news from the receiver", heard).await;
    }

    async fn until_arrived(&mut self) {
        self.until(|news| matches!(news, ReceiverEvent::Arrived(request) if request.is_wake()))
            .await;
    }

    async fn until_answered(&mut self) {
        self.until(|news| matches!(news, ReceiverEvent::Answered(_))).await;
    }

    /// Waits until the ledger knows of a delivery whose cursor is still to be raised.
    async fn until_delivered(&self, rows: &[RowKey]) {
        let mut operator = self.world.operator();
        eventually("an outcome is durable and its cursor is not raised", || {
            let copies = operator.subscription_list(&Default::default()).unwrap();
            let mut ours = copies.iter().filter(|copy| {
                rows.iter().any(|row| row.task == copy.task && row.chat == copy.chat)
            });
            ours.any(|copy| copy.settled > copy.board_cursor).then_some(())
        })
        .await;
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below
    }
}

/// Holds the write lock of a database until it is dropped.
pub fn lock(path: &std::path::Path) -> SqliteConnection {
    let mut connection = connect(path);
    connection.batch_execute("BEGIN IMMEDIATE").unwrap();
    connection
}
