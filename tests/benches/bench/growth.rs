//! How the time for an event grows with the rows and with the boards to which nothing happens.

use std::time::Instant;

use crate::{
    Sizes,
    deliver::{LONG, count_of},
    idle::asleep,
    report::{Figure, median},
    scene::{Gateway, Scene},
};

/// Events of one round.
const BATCH: usize = 500;
/// Rows of all boards together, where it is the number of boards that grows.
const SHARED_ROWS: usize = 100_000;

/// A gateway that waits for its turn; that it costs next to nothing meanwhile is shown by `idle`.
struct Grown {
    boards: usize,
    rows: usize,
    scene: Scene,
    gateway: Gateway,
}

/// Time for an event, beside ever more rows, then beside ever more boards.
///
/// All sizes are there at once and take turns, so that whatever else the machine does meets them alike.
pub fn growth(sizes: &Sizes) -> Vec<Figure> {
    let rounds = sizes.rounds.max(3);
    let mut figures = Vec::new();
    let most_rows = sizes.pick(1_000_000, 100_000);
    let rows = [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|rows| *rows <= most_rows);
    let by_rows: Vec<Grown> = rows.map(|rows| Grown::start(1, rows)).collect();
    let micros = in_turn(&by_rows, rounds, Grown::on_one_board);
    for (index, Grown { rows, .. }) in by_rows.iter().enumerate() {
        let name = format!("time for an event, {rows} rows");
        figures.extend(compared(&name, &micros, index, "times that beside 1000", Some(1.5)));
    }
    by_rows.into_iter().for_each(|grown| grown.gateway.stop());

    let by_boards = [1, 10, 100].map(|boards| Grown::start(boards, SHARED_ROWS / boards));
    let alone = in_turn(&by_boards, rounds, Grown::on_one_board);
    let spread = in_turn(&by_boards, rounds, Grown::on_all_boards);
    for (index, Grown { boards, .. }) in by_boards.iter().enumerate() {
        let name = format!("time for an event of one board among {boards}");
        figures.extend(compared(&name, &alone, index, "times that with one", Some(1.5)));
        let name = format!("time for an event, {BATCH} of them on {boards} boards");
        figures.extend(compared(&name, &spread, index, "times that with one", None));
    }
    by_boards.into_iter().for_each(|grown| grown.gateway.stop());
    figures
}

impl Grown {
    fn start(boards: usize, rows: usize) -> Self {
        let scene = Scene::new(boards);
        (0..boards).for_each(|board| scene.fill(board, asleep(rows)));
        let gateway = scene.start_warm();
        (0..boards).for_each(|board| scene.wait_caught_up(board));
        // What is done at first sight grows with the rows, and is over before anything is measured.
        gateway.wait_calm();
        Self { boards, rows, scene, gateway }
    }

    /// A commit of [`BATCH`] events on the first board.
    fn on_one_board(&self, round: usize) -> f64 {
        let from = 1 + round * BATCH % self.rows;
        self.time(|scene| scene.complete(0, from, from + BATCH - 1))
    }

    /// As many events, a commit on each board.
    fn on_all_boards(&self, round: usize) -> f64 {
        let each = BATCH / self.boards;
        let from = 1 + round * each % self.rows;
        self.time(|scene| {
            let commits =
                (0..self.boards).map(|board| scene.complete(board, from, from + each - 1));
            commits.min().unwrap()
        })
    }

    /// Microseconds for each of [`BATCH`] events, from the commit to the last arrival.
    fn time(&self, commit: impl FnOnce(&Scene) -> Instant) -> f64 {
        self.scene.sink.take();
        let began = commit(&self.scene);
        let last = self.scene.sink.wait_for(BATCH, LONG);
        (0..self.boards).for_each(|board| self.scene.wait_caught_up(board));
        (last - began).as_secs_f64() * 1e6 / count_of(BATCH)
    }
}

/// What each of them measured in each round.
fn in_turn(all: &[Grown], rounds: usize, measure: fn(&Grown, usize) -> f64) -> Vec<Vec<f64>> {
    let mut micros = vec![Vec::new(); all.len()];
    for round in 0..rounds {
        for (grown, micros) in all.iter().zip(&mut micros) {
            micros.push(measure(grown, round));
        }
    }
    micros
}

/// A time, and how many times the first one's of the same round it is.
fn compared(
    name: &str,
    micros: &[Vec<f64>],
    index: usize,
    than: &str,
    most: Option<f64>,
) -> Vec<Figure> {
    let time = Figure::new(name, median(&micros[index]), "µs").spread(&micros[index]);
    if index == 0 {
        return vec![time];
    }
    let times: Vec<f64> =
        micros[index].iter().zip(&micros[0]).map(|(all, one)| all / one).collect();
    let times_one = Figure::new(format!("{name}, {than}"), median(&times), "").spread(&times);
    vec![time, most.into_iter().fold(times_one, Figure::below)]
}
