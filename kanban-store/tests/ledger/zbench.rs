//! Bench.
use crate::{domain::*, support::place};
use futures_executor::block_on;
use kanban_notify::{
    ids::BoardId,
    leg::LegState,
    ports::{Backlog as _, Claims as _, Planner as _},
};
use std::time::Instant;
#[test]
fn bench() {
    let (_f, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let n = 1000;
    let t = Instant::now();
    let mut ids = vec![];
    for i in 0..n {
        ids.extend(legs(&owe(&port, vec![session(&format!("t_{i}"), "raw", &[i + 1])])));
    }
    eprintln!("plan one by one: {:?} each", t.elapsed() / n as u32);
    let t = Instant::now();
    let mut claims = vec![];
    for (i, id) in ids.iter().enumerate() {
        claims.push(win(&port, &format!("l{i}"), &[*id]));
    }
    eprintln!("intend one by one: {:?} each", t.elapsed() / n as u32);
    let t = Instant::now();
    for (c, id) in claims.iter().zip(&ids) {
        block_on(port.settle(vec![outcome(*c, &[*id], LegState::Delivered)])).unwrap();
    }
    eprintln!("settle one by one: {:?} each", t.elapsed() / n as u32);
    let t = Instant::now();
    for _ in 0..1000 {
        assert!(!disturbed(&port));
    }
    eprintln!("disturbed: {:?} each", t.elapsed() / 1000);
    // batch
    let t = Instant::now();
    let m = 20_000_i64;
    let subs: Vec<_> = (0..m).map(|i| session(&format!("b_{i}"), "raw", &[10_000 + i])).collect();
    let owed = owe(&port, subs);
    eprintln!("plan batch: {:?} each", t.elapsed() / m as u32);
    let ids = legs(&owed);
    let t = Instant::now();
    let r = block_on(
        port.intend(ids.iter().map(|l| intent("raw", &format!("x{}", l.0), &[*l])).collect()),
    )
    .unwrap();
    eprintln!("intend batch: {:?} each", t.elapsed() / m as u32);
    let t = Instant::now();
    let w = work(&port);
    eprintln!("open_work {} : {:?}", w.owed.len(), t.elapsed());
    let t = Instant::now();
    let s = r
        .iter()
        .zip(&ids)
        .map(|(r, l)| {
            let kanban_notify::record::IntentResult::Won(c) = r else { panic!() };
            outcome(*c, &[*l], LegState::Delivered)
        })
        .collect();
    block_on(port.settle(s)).unwrap();
    eprintln!("settle batch: {:?} each", t.elapsed() / m as u32);
    let t = Instant::now();
    block_on(port.copies(BoardId(1), (0..1000).map(|i| format!("b_{i}")).collect())).unwrap();
    eprintln!("copies: {:?} each", t.elapsed() / 1000);
    let t = Instant::now();
    let w = work(&port);
    eprintln!("open_work {} raises {}: {:?}", w.owed.len(), w.raises.len(), t.elapsed());
}
