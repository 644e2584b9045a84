//! The end of a campaign: all that must be so now, and one line about it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::{
    Campaign, SEED, claims,
    front::Memory,
    tells::{self, Excuses, Tell},
    work::Leg,
};
use crate::support::cards::assert_sound;

/// The log is long; so many lines of a delivery that went wrong are shown.
const SHOWN: usize = 40;

impl Campaign {
    pub fn judge(mut self, name: &str, began: Instant) {
        while let Ok(news) = self.news.try_recv() {
            self.note(&news);
        }
        let printed = self.print.take().unwrap().close();
        let lines: Vec<Tell> = printed.iter().filter_map(|line| tells::line(line)).collect();
        let turns = tells::turns(&self.world.receiver, &self.ran);
        let carried = claims::carried(&self.world.ledger());
        let met = self.front.met();
        let requests = self.front.requests();
        let failed: usize = met.faults.values().sum();
        let in_flight = |wakes: bool| {
            let carries = |key: &&String| carried[*key].iter().any(|leg| leg.is_wake() == wakes);
            self.killed.iter().filter(carries).count()
        };
        println!(
            "{name}: {} kills, {} times suspended; {} wakes, {} pings and {} torn; {failed} faults in \
             {requests} requests; in flight at the kills {} wakes and {} pings, cut off {} wakes; \
             repeated {} wakes and {} pings, {} asked for; {:.1?}",
            self.kills,
            self.rests,
            turns.len(),
            lines.len(),
            printed.len() - lines.len(),
            in_flight(true),
            in_flight(false),
            met.cut.len(),
            tells::repeats(&turns),
            tells::repeats(&lines),
            self.asked.len(),
            began.elapsed(),
        );
        println!("{:?}", met.faults);

        let mut unknown: BTreeMap<Leg, usize> = BTreeMap::new();
        for leg in self.killed.union(&met.cut).flat_map(|key| &carried[key]) {
            *unknown.entry(leg.clone()).or_default() += 1;
        }
        let tells = [lines, turns].concat();
        for tell in &tells {
            // Law D1: the intent is there before anything leaves.
            assert_eq!(carried.get(&tell.key), Some(&tell.legs), "{SEED}={}", self.seed);
        }
        let knows = self.memory == Memory::Whole;
        let excuses =
            Excuses { unknown, asked: std::mem::take(&mut self.asked), wakes_are_known: knows };
        let work = self.work.as_ref().unwrap();
        let faults = tells::faults(&work.legs, &tells, &excuses);
        if !faults.is_empty() {
            for (leg, _) in faults.iter().take(2) {
                println!("{leg:?}:\n{}", self.story(&work.legs[leg]).join("\n"));
            }
            panic!("{SEED}={}: {faults:#?}", self.seed);
        }

        assert!(knows || self.answered_again == 0, "the receiver remembered something");
        // Without these, nothing was tried.
        assert!((15..25).contains(&(failed * 100 / requests)), "{failed} faults in {requests}");
        let (wakes, pings) = (in_flight(true), in_flight(false));
        assert!(wakes > 0 && pings > 0 && wakes + pings > 20, "hardly anything was in flight");
        self.at_rest();
    }

    /// Board, ledger and sessions when everything is told.
    fn at_rest(&self) {
        let work = self.work.as_ref().unwrap();
        let rows = self.world.cards.rows();
        let there: BTreeSet<_> = rows.iter().map(|row| &row.key).collect();
        assert_eq!(there, work.rows.keys().collect(), "no subscription is gone");
        let behind: Vec<_> = rows.iter().filter(|row| row.cursor < work.rows[&row.key]).collect();
        assert!(behind.is_empty(), "{SEED}={}: {behind:#?}", self.seed);
        let mut operator = self.world.operator();
        let counts = operator.counts().unwrap();
        let legs = i64::try_from(work.legs.len()).unwrap();
        assert_eq!(counts.legs, [("delivered".to_owned(), legs)].into(), "{counts:?}");
        assert_eq!((counts.raises, counts.dropped), (0, 0), "{counts:?}");
        assert_eq!(operator.lanes().unwrap(), []);
        assert_sound(self.world.cards.path());
        assert_sound(&self.world.ledger());
        for session in self.world.receiver.sessions() {
            let rows = self.world.receiver.rows(&session);
            let answers = rows.iter().filter(|row| row.role == "assistant").count();
            assert_eq!(answers * 2, rows.len(), "{session}: each turn has its answer");
        }
    }

    /// What the processes said about a task, one after the other.
    fn story(&self, task: &str) -> Vec<String> {
        let mut story = Vec::new();
        for (life, log) in self.logs.iter().enumerate() {
            let log = log.lock().unwrap();
            let lines = log.iter().filter(|line| line.contains(task));
            story.extend(lines.map(|line| format!("life {life}: {line}")));
        }
        story.truncate(SHOWN);
        story
    }
}
