//! What is read of a board with 100 000 subscriptions: its version, its tail, all of it.

use std::hint::black_box;

use criterion::Criterion;
use kanban_store::{
    board::{Board, Mark, PassQuery},
    write,
};

use crate::fill::{Fill, complete};

const ROWS: usize = 100_000;
/// As many as a pass of the gateway reads at once.
const LIMIT: usize = 512;

pub fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kanban.db");
    write::create_board(&path).unwrap();
    let fill =
        Fill { platform: "api_server", rows: ROWS, sessions: ROWS, unseen: false, ours: true };
    fill.write(&path, 0);
    let mut board = Board::open(&path).unwrap();
    let after = end(&mut board);

    // What every look at a board costs to which nothing has happened.
    criterion.bench_function("board/data_version", |bencher| {
        bencher.iter(|| black_box(board.data_version().unwrap()));
    });

    // What a board costs that is swept: at the start, and now and then while others write to it.
    let sweep = PassQuery {
        after: after.clone(),
        sweep_above: Some(0),
        limit: LIMIT,
        ..PassQuery::default()
    };
    assert!(board.read(&sweep).unwrap().events.is_empty());
    criterion.bench_function("board/sweep of 100000 caught-up subscriptions", |bencher| {
        bencher.iter(|| black_box(board.read(&sweep).unwrap()));
    });

    // What a commit costs the reader: its events, their tasks, and the rows of those.
    complete(&path, 50_001, 50_010);
    let tail = PassQuery { after, limit: LIMIT, ..PassQuery::default() };
    let seen = board.read(&tail).unwrap();
    assert_eq!((seen.events.len(), seen.rows.len()), (10, 10));
    criterion.bench_function("board/tail of 10 new events among 100000", |bencher| {
        bencher.iter(|| black_box(board.read(&tail).unwrap()));
    });
}

/// The end of the board, as a gateway knows it that has read everything.
fn end(board: &mut Board) -> Mark {
    let mut wanted = PassQuery { sweep_above: Some(0), limit: LIMIT, ..PassQuery::default() };
    loop {
        let pass = board.read(&wanted).unwrap();
        wanted.after = pass.next;
        wanted.sweep_above = pass.sweep_from;
        if !pass.more {
            return wanted.after;
        }
    }
}
