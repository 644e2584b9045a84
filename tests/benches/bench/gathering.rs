//! How many turns a session gets that much happens to at once.

use std::time::{Duration, Instant};

use kanban_notify::{policy::WakePolicy, record::Facts, text::wake};

use crate::{
    Sizes, deliver::count_of, fill::Fill, report::Figure, scene::Scene, sink::Sink, told::facts_of,
};

/// Tasks of one session that are completed within two seconds.
const TASKS: usize = 1_000;

/// Turns where each takes as long as a short answer of an agent, then where the receiver answers at once.
///
/// What happens while a turn runs is gathered for the next one, as much as fits the size bound.
pub fn gathering(_: &Sizes) -> Vec<Figure> {
    let least = count_of(TASKS.div_ceil(fit()));
    let (slow, fast) = (turns(Duration::from_millis(500)), turns(Duration::ZERO));
    vec![
        Figure::new("turns of 0.5 s for 1 000 tasks of one session in 2 s", slow, "turns")
            // One more than fit: the first turn begins when only the first task is completed.
            .below(least + 2.0)
            .beside(format!("{least} if each is full; each task named once")),
        Figure::new("the same with a receiver that answers at once", fast, "turns")
            .beside("little is gathered in no time; each task named once"),
    ]
}

/// How many such events fit into a turn.
fn fit() -> usize {
    let facts: Vec<Facts> = (2..=1 + i64::try_from(TASKS).unwrap()).map(facts_of).collect();
    let events: Vec<(&Facts, &str)> = facts.iter().map(|facts| (facts, "default")).collect();
    let reference = |_| "kgw:0123456789abcdef0123".to_owned();
    wake::text(&events, reference, false, WakePolicy::default().max_bytes).named
}

fn turns(each: Duration) -> f64 {
    let mut scene = Scene::with(1, Sink::with_turns(true, each));
    scene.set("wake.max_per_hour", "3600");
    scene.fill(
        0,
        Fill { platform: "api_server", rows: TASKS + 1, sessions: 1, unseen: false, ours: true },
    );
    let gateway = scene.start_warm();
    scene.wait_caught_up(0);
    scene.sink.take();
    let began = Instant::now();
    for task in 2..=TASKS + 1 {
        scene.complete(0, task, task);
        let due = Duration::from_millis(u64::try_from(2 * task).unwrap());
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    scene.wait_caught_up(0);
    gateway.stop();
    let arrivals = scene.sink.take();
    let texts: Vec<_> =
        arrivals.iter().map(|arrival| String::from_utf8_lossy(&arrival.text)).collect();
    for task in 2..=TASKS + 1 {
        let id = format!("t_{task:08x}");
        let named: usize = texts.iter().map(|text| text.matches(&id).count()).sum();
        assert_eq!(named, 1, "{id}");
    }
    count_of(texts.len())
}
