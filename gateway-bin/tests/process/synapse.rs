//! Matrix with a real Synapse: killed, and we too, it has each part of each message once (laws D5, D7).

mod server;

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Instant,
};

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform},
    receiver::push::PushServer,
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::Channel,
};
use kanban_store::board::RowKey;
use tokio::sync::mpsc::unbounded_channel;

use crate::{
    crashes::lock,
    process::Process,
    support::{wait::soon, world::World},
};
use server::{Phase, Synapse, require};

const WORDS: usize = 60;

/// Where we are killed, and the server or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The server has the part, and nobody was told.
    Taken,
    /// The same, and the server is killed.
    TakenAndServer,
    /// The server is killed before it is asked.
    Server,
    /// The answer comes, and the ledger cannot be written.
    Outcome,
    /// The message is delivered, and the board cannot be written.
    Cursor,
}

const MOMENTS: [Moment; 5] =
    [Moment::Taken, Moment::TakenAndServer, Moment::Server, Moment::Outcome, Moment::Cursor];

/// What is done at a phase of one of the next messages.
struct Plan {
    phase: Phase,
    pass: usize,
    act: Box<dyn FnOnce() + Send>,
}

struct Campaign {
    synapse: Arc<Synapse>,
    world: World,
    plan: Arc<Mutex<Option<Plan>>>,
    room: String,
    rows: Vec<(RowKey, i64)>,
    _front: PushServer,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d7_report_117_kills_of_the_server_and_of_us_at_each_step_show_each_part_once() {
    let Some(python) = require() else { return };
    let began = Instant::now();
    let synapse = Synapse::start(python).await;
    let reader = synapse.login("READER");
    let token = synapse.login("BOT");
    // With the password, each life logs in anew.
    for settings in [vec![("matrix.token", token.as_str())], Synapse::by_password().to_vec()] {
        let mut campaign = Campaign::new(&synapse, synapse.room(&reader), &settings).await;
        for moment in MOMENTS {
            for part in [0, 1] {
                campaign.life(moment, part).await;
            }
        }
        let mut last = Process::run(&campaign.world);
        campaign.settled().await;
        last.terminate();
        assert!(last.ended().await.success(), "{}", last.log());
        let shown = synapse.shown(&reader, &campaign.room);
        let told: Vec<&str> =
            shown.iter().flat_map(|text| text.split_whitespace()).filter(is_word).collect();
        let expected: Vec<String> = (0..campaign.rows.len()).flat_map(words).collect();
        assert_eq!(told, expected, "{settings:?}");
        assert!(shown.iter().all(|text| !text.contains("may be a repeat")), "{shown:?}");
        assert!(shown.len() > 2 * campaign.rows.len(), "messages have parts: {shown:?}");
    }
    println!("{} lives, {:?}", 2 * 2 * MOMENTS.len(), began.elapsed());
}

fn words(number: usize) -> impl Iterator<Item = String> {
    (0..WORDS).map(move |word| format!("w{number}x{word}"))
}

fn is_word(text: &&str) -> bool {
    text.starts_with('w') && text.contains('x')
}

impl Campaign {
    async fn new(synapse: &Arc<Synapse>, room: String, settings: &[(&str, &str)]) -> Self {
        let plan = Arc::<Mutex<Option<Plan>>>::default();
        let mine = Arc::clone(&plan);
        let watch = move |phase| {
            let due = mine.lock().unwrap().take_if(|plan| {
                let is_due = plan.phase == phase && plan.pass == 0;
                plan.pass = plan.pass.saturating_sub(usize::from(plan.phase == phase));
                is_due
            });
            if let Some(plan) = due {
                (plan.act)();
            }
        };
        let front = PushServer::start(synapse.behind(watch)).await.unwrap();
        let mut world = World::new().await;
        world.set("matrix.url", &front.url());
        world.set("matrix.max_length", "150");
        settings.iter().for_each(|(key, value)| world.set(key, value));
        let synapse = Arc::clone(synapse);
        Self { synapse, world, plan, room, rows: Vec::new(), _front: front }
    }

    /// A life of the gateway: what the last one left, a new message, and a kill at one of its parts.
    async fn life(&mut self, moment: Moment, part: usize) {
        let process = Process::run(&self.world);
        self.settled().await;
        let (tell, mut there) = unbounded_channel();
        let (release, released) = mpsc::channel::<()>();
        let synapse = Arc::clone(&self.synapse);
        let (ledger, board) = (self.world.ledger(), self.world.cards.path().to_owned());
        let act = move || {
            let held = match moment {
                Moment::Outcome => Some(lock(&ledger)),
                Moment::Cursor => Some(lock(&board)),
                _ => None,
            };
            if matches!(moment, Moment::Server | Moment::TakenAndServer) {
                synapse.kill();
            }
            tell.send(held).unwrap();
            if matches!(moment, Moment::Taken | Moment::TakenAndServer) {
                // Nobody sends anything: it ends once we are killed.
                let _ = released.recv();
            }
        };
        let phase = if moment == Moment::Server { Phase::Heard } else { Phase::Answered };
        *self.plan.lock().unwrap() = Some(Plan { phase, pass: part, act: Box::new(act) });

        let task = self.world.cards.task("Build the report");
        let row = self.world.cards.subscribe(&task, "matrix", &self.room);
        let words: Vec<String> = words(self.rows.len()).collect();
        let event = self.world.cards.complete(&task, &words.join(" "));
        self.rows.push((row, event));
        let held = soon("the moment", there.recv()).await.unwrap();
        if moment == Moment::Cursor {
            self.world.legs("delivered", i64::try_from(self.rows.len()).unwrap()).await;
        }
        process.kill().await;
        drop((held, release));
        if matches!(moment, Moment::Server | Moment::TakenAndServer) {
            self.synapse.run().await;
        }
    }

    /// Waits until everything so far is told.
    async fn settled(&self) {
        for (row, event) in &self.rows {
            self.world.settled(row, *event).await;
        }
    }
}

/// The answers are the server's own, so this is what the stand-in of other tests is measured by.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_the_real_server_has_its_verdict() {
    let Some(python) = require() else { return };
    let synapse = Synapse::start(python).await;
    let token = synapse.login("BOT");
    let front = PushServer::start(synapse.behind(|_| ())).await.unwrap();
    let (room, other) = (synapse.room(&token), synapse.room(&token));
    let right = channel(&front.url(), &[("token", &token)]);
    let sent = |chat: &str, thread: &str, key: &str, text: &str| {
        let destination = Destination::Chat {
            channel: ChannelName("matrix".to_owned()),
            chat: chat.to_owned(),
            thread: thread.to_owned(),
        };
        let spans = vec![Span::quoted(text), Span::ours(" \u{1f600}.")];
        let message = Message { spans, facts: Vec::new(), ..Message::default() };
        let body = right.encode(&destination, &message);
        Parcel::new(destination, key.to_owned(), body)
    };
    let first = right.send(&sent(&room, "", "k/1", "x")).await;
    let id = |verdict: &kanban_notify::verdict::Verdict| match verdict {
        kanban_notify::verdict::Verdict::Delivered(receipt) => receipt.remote_id.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let root = id(&first);
    // The same key is the same event, also for a thread and with other words.
    assert_eq!(id(&right.send(&sent(&room, "", "k/1", "y")).await), root);
    let reply = id(&right.send(&sent(&room, &root, "k/2", "x")).await);
    for (chat, thread, verdict) in [
        (&*room, "$unknown", "thread"),
        (&*room, &*reply, "thread"),
        (&*other, &*root, "thread"),
        ("!unknown", "", "target"),
        ("!unknown:localhost", "", "target"),
    ] {
        let met = right.send(&sent(chat, thread, "k/3", "x")).await;
        assert_eq!(met.name(), verdict, "{chat} {thread}: {met:?}");
    }
    // What was refused has used up no key.
    assert_ne!(id(&right.send(&sent(&room, "", "k/3", "x")).await), root);
    for (number, sign) in ["a", "<", "\"", "\n", "日", "\u{1f600}", "\u{1}"].iter().enumerate() {
        let long = sent(&room, &root, &format!("long-{number}"), &sign.repeat(29_000));
        let verdict = right.send(&long).await;
        assert!(matches!(verdict.name(), "part" | "delivered"), "{sign:?}: {verdict:?}");
    }
    assert_eq!(right.probe().await.name(), "delivered");
    let password = |word| [("user", "bot"), ("password", word)];
    let by_password = channel(&front.url(), &password("FAKEpassword"));
    assert_eq!(by_password.probe().await.name(), "delivered");
    for settings in [&[("token", "syt_FAKE")][..], &password("FAKEwrong")] {
        let wrong = channel(&front.url(), settings);
        for verdict in [wrong.probe().await, wrong.send(&sent(&room, "", "k/4", "x")).await] {
            assert_eq!(verdict.name(), "credential", "{verdict:?}");
            assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
        }
    }
}

/// A file that is kept twice, because we are killed in between, is shown once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_43_a_file_is_in_the_room_once_also_when_we_are_killed() {
    let Some(python) = require() else { return };
    let synapse = Synapse::start(python).await;
    let (reader, token) = (synapse.login("READER"), synapse.login("BOT"));
    let room = synapse.room(&reader);
    let mut campaign = Campaign::new(&synapse, room.clone(), &[("matrix.token", &token)]).await;
    let write = |name: &str, content: &str| {
        let path = campaign.world.folder().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files = [write("日本 a.txt", "first\n"), write("b.txt", &"second ".repeat(100_000))];
    let (tell, mut there) = unbounded_channel();
    let (release, released) = mpsc::channel::<()>();
    // The text is one event, the first file the next.
    let act = move || {
        tell.send(()).unwrap();
        let _ = released.recv();
    };
    *campaign.plan.lock().unwrap() =
        Some(Plan { phase: Phase::Answered, pass: 1, act: Box::new(act) });
    let task = campaign.world.cards.task("Report");
    let row = campaign.world.cards.subscribe(&task, "matrix", &room);
    let process = Process::run(&campaign.world);
    let event = campaign.world.cards.complete_with(&task, "done", &files);
    campaign.rows.push((row, event));
    soon("the moment", there.recv()).await.unwrap();
    process.kill().await;
    drop(release);
    let mut last = Process::run(&campaign.world);
    campaign.settled().await;
    last.terminate();
    assert!(last.ended().await.success(), "{}", last.log());
    let found = synapse.files(&reader, &room);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["日本 a.txt", "b.txt"]);
    assert_eq!((found[0].1.as_str(), found[1].1.len()), ("first\n", 700_000));
}

fn channel(url: &str, set: &[(&str, &str)]) -> Arc<dyn Channel> {
    let matrix = platform("matrix").unwrap();
    let mut settings = Settings::default();
    for field in matrix.fields {
        let value = set.iter().find(|(name, _)| *name == field.name).map(|(_, value)| *value);
        settings.set(field, if field.name == "url" { url } else { value.unwrap_or_default() });
    }
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    (matrix.make)(client, &settings).unwrap()
}
