//! What somebody else who writes to a board loses by us.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;

use crate::{
    Sizes,
    ceiling::per_second,
    fill::{Fill, connect, unix_now},
    report::{Figure, median},
    scene::Scene,
};

/// What a writer that commits as fast as it can loses by us.
///
/// It writes alone, beside us, alone and so on: what it does beside us is compared with the spans before
/// and after.
pub fn writer(sizes: &Sizes) -> Vec<Figure> {
    // Short spans and many of them: how fast a disk syncs changes from one second to the next.
    let (rounds, span) = (sizes.pick(15, 3), Duration::from_secs(sizes.pick(2, 1)));
    let scene = Scene::new(1);
    scene.fill(
        0,
        Fill { platform: "api_server", rows: 10_000, sessions: 10_000, unseen: false, ours: true },
    );
    // Alone, the writer's connection would be the last one and delete the log when it is closed: with
    // somebody else there all the time, the log is the same file, grown already, alone and beside us.
    let mut other = connect(scene.board(0));
    other.batch_execute("SELECT count(*) FROM tasks").unwrap();
    commits(&scene, span);
    let (mut alone, mut beside, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = commits(&scene, span);
    for _ in 0..rounds {
        let gateway = scene.start_warm();
        beside.push(commits(&scene, span));
        gateway.stop();
        let after = commits(&scene, span);
        alone.push(f64::midpoint(before, after));
        losses.push(100.0 * (1.0 - beside[beside.len() - 1] / alone[alone.len() - 1]));
        before = after;
    }
    vec![
        Figure::new("a writer alone", median(&alone), "commits/s").spread(&alone),
        Figure::new("the same beside us", median(&beside), "commits/s").spread(&beside),
        Figure::new("what it loses beside us", median(&losses), "%").below(10.0).spread(&losses),
    ]
}

/// Heartbeats as fast as they go, and now and then something to be told.
fn commits(scene: &Scene, span: Duration) -> f64 {
    let mut board = connect(scene.board(0));
    let (began, mut count) = (Instant::now(), 0_usize);
    while began.elapsed() < span {
        let (kind, task) = match count % 500 {
            0 => ("completed", 1 + count / 500),
            _ => ("heartbeat", 1 + count % 10_000),
        };
        board
            .batch_execute(&format!(
                "BEGIN IMMEDIATE;
                 UPDATE tasks SET last_heartbeat_at = {now} WHERE id = '{task}';
                 INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', '{kind}', {now});
                 COMMIT",
                now = unix_now(),
                task = format_args!("t_{task:08x}"),
            ))
            .unwrap();
        count += 1;
    }
    per_second(count, began.elapsed())
}
