//! Rates that are measured in turn, in one run: ours, a plain loop's, and the peer's.

use crate::{
    Sizes,
    ceiling::{self, CONCURRENCY},
    peer,
    report::{Figure, median},
    sink::Sink,
};

/// What each round measured.
pub struct Rates {
    /// Unseen events in each pass of the peer.
    peer_rows: usize,
    ours: Vec<f64>,
    plain: Vec<f64>,
    theirs: Vec<f64>,
}

impl Rates {
    pub fn new(sizes: &Sizes) -> Self {
        let (ours, plain, theirs) = (Vec::new(), Vec::new(), Vec::new());
        Self { peer_rows: sizes.pick(500, 200), ours, plain, theirs }
    }

    /// One round: our rate, then at once the plain loop with as many requests of as many bytes to the same
    /// receiver, then the peer, if it is there.
    pub fn round(&mut self, ours: f64, sink: &Sink, count: usize, bytes: usize) {
        self.ours.push(ours);
        self.plain.push(ceiling::requests_a_second(sink.addr(), CONCURRENCY, count, bytes));
        self.theirs.extend(peer::deliveries(self.peer_rows));
    }

    /// The three rates, and ours in percent of the plain loop's and in times the peer's of the same round.
    pub fn figures(&self, what: &str, beside: &str) -> Vec<Figure> {
        let plain = "plain hyper loop, same bytes, same receiver";
        let ratios = |theirs: &[f64], unit: f64| -> Vec<f64> {
            self.ours.iter().zip(theirs).map(|(ours, theirs)| unit * ours / theirs).collect()
        };
        let of_plain = median(&ratios(&self.plain, 100.0));
        let mut figures = vec![
            Figure::new(what, median(&self.ours), "/s").spread(&self.ours),
            Figure::new(plain, median(&self.plain), "/s").spread(&self.plain),
            Figure::new(format!("{what}, of the plain loop"), of_plain, "%")
                .at_least(25.0)
                .beside(beside),
        ];
        if !self.theirs.is_empty() {
            let name = "hermes-agent 0.19.0, stub that answers at once: deliveries";
            let times = median(&ratios(&self.theirs, 1.0));
            figures.extend([
                Figure::new(name, median(&self.theirs), "/s").spread(&self.theirs),
                Figure::new(format!("{what}, times its deliveries"), times, "").at_least(50.0),
            ]);
        }
        figures
    }
}
