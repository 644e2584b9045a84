//! A long run: 200 events a second, a restart each minute; what is held must not grow.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use diesel::connection::SimpleConnection as _;

use crate::{
    fill::{Fill, connect, unix_now},
    scene::{Gateway, Scene},
    sink::Sink,
};

const TASKS: usize = 1_000;
const SESSIONS: usize = 500;
const EVENTS_A_SECOND: u32 = 200;
/// How long after its start a gateway is looked at: late enough that what it had to catch up on is over.
const SETTLED: Duration = Duration::from_secs(50);

/// One of the figures, its name, and by how much it varies anyway.
type Kept = (&'static str, fn(&Held) -> u64, u64);

/// What a gateway and its files hold.
#[derive(Clone, Copy, Debug)]
struct Held {
    memory_kib: u64,
    descriptors: usize,
    threads: u64,
    ledger: u64,
    ledger_wal: u64,
    board_wal: u64,
}

/// Runs for so many minutes; panics where something grows, is lost, or is told twice without need.
pub fn soak(minutes: usize) {
    let mut scene = Scene::with(1, Sink::start(true));
    scene.set("wake.max_per_hour", "3600");
    // What is forgotten after a month in the field is forgotten after a minute here.
    scene.set("keep_outcomes", "1m");
    scene.fill(
        0,
        Fill { platform: "api_server", rows: TASKS, sessions: SESSIONS, unseen: false, ours: true },
    );
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (board, stop) = (scene.board(0).to_owned(), Arc::clone(&stop));
        std::thread::spawn(move || write(&board, &stop))
    };
    let (mut told, mut held, mut kills) = (HashMap::new(), Vec::new(), 0);
    for minute in 0..minutes {
        let gateway = scene.start();
        while gateway.started.elapsed() < SETTLED {
            std::thread::sleep(Duration::from_secs(1));
            count(&scene, &mut told);
        }
        held.push(look(&scene, &gateway));
        println!("  minute {minute}: {} events told, {:?}", told.len(), held[minute]);
        std::thread::sleep(Duration::from_secs(60).saturating_sub(gateway.started.elapsed()));
        if minute % 2 == 0 {
            gateway.stop();
        } else {
            gateway.kill();
            kills += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let written = writer.join().unwrap();
    let gateway = scene.start();
    scene.wait_caught_up(0);
    gateway.stop();
    count(&scene, &mut told);

    let lost = (0..written).filter(|number| !told.contains_key(number)).count();
    let repeats: usize = told.values().map(|times| times - 1).sum();
    println!("  {written} events, {lost} lost, {repeats} repeats after {kills} kills");
    assert_eq!(lost, 0);
    // The receiver shows no history: what was in flight at a kill is sent again, marked.
    assert!(repeats <= kills * 4 * 20, "{repeats} repeats");
    judge(&held);
}

/// Tasks that are blocked again and again, each time for a reason of its own; answers how often.
fn write(board: &Path, stop: &AtomicBool) -> u32 {
    let mut board = connect(board);
    let (began, mut number) = (Instant::now(), 0_u32);
    while !stop.load(Ordering::Relaxed) {
        let task = 1 + usize::try_from(number).unwrap() % TASKS;
        board
            .batch_execute(&format!(
                "INSERT INTO task_events (task_id, kind, payload, created_at)
                 VALUES ('t_{task:08x}', 'blocked', '{{\"reason\": \"case {number:08}\"}}', {})",
                unix_now()
            ))
            .unwrap();
        number += 1;
        let due = Duration::from_secs(1) * number / EVENTS_A_SECOND;
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    number
}

/// Counts the reasons in what arrived.
fn count(scene: &Scene, told: &mut HashMap<u32, usize>) {
    for arrival in scene.sink.take() {
        let text = String::from_utf8_lossy(&arrival.text).into_owned();
        for (at, found) in text.match_indices("case ") {
            let digits = text.get(at + found.len()..at + found.len() + 8).unwrap();
            *told.entry(digits.parse().unwrap()).or_default() += 1;
        }
    }
}

fn look(scene: &Scene, gateway: &Gateway) -> Held {
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let beside = |path: &Path, suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    Held {
        memory_kib: gateway.memory().0,
        descriptors: gateway.descriptors(),
        threads: gateway.threads(),
        ledger: size(scene.ledger()),
        ledger_wal: size(beside(&scene.ledger(), "-wal")),
        board_wal: size(beside(scene.board(0), "-wal")),
    }
}

/// The last third holds no more than the second one, but for what sizes vary by anyway.
fn judge(held: &[Held]) {
    let third = held.len() / 3;
    if third == 0 {
        println!("  too short to judge growth");
        return;
    }
    let most = |part: &[Held], of: fn(&Held) -> u64| part.iter().map(of).max().unwrap_or_default();
    let (before, after) = (&held[third..held.len() - third], &held[held.len() - third..]);
    let figures: [Kept; 6] = [
        ("resident KiB", |held| held.memory_kib, 4_096),
        ("descriptors", |held| u64::try_from(held.descriptors).unwrap(), 4),
        ("threads", |held| held.threads, 0),
        ("ledger", |held| held.ledger, 4 << 20),
        ("ledger's log", |held| held.ledger_wal, 4 << 20),
        ("board's log", |held| held.board_wal, 4 << 20),
    ];
    for (name, of, slack) in figures {
        let (before, after) = (most(before, of), most(after, of));
        println!("  {name}: at most {before}, then at most {after}");
        assert!(after <= before + slack, "{name} grows");
    }
}
