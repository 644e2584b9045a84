//! What must hold in every world.

use kanban_notify::{
    engine::Input,
    event::Kind,
    leg::{LegKind, LegState},
    message::Destination,
    policy::Policy,
    ports::Change,
};
use proptest::prelude::*;

use super::{BOARD, Sim};
use crate::model::receiver::{part_mark, parts_of};

fn play(seed: u64, actions: &[u8], deduplicates: bool, readable: bool) -> Sim {
    let mut sim = Sim::new(seed, deduplicates, readable);
    for action in actions {
        match action {
            0 | 1 => {
                let task = format!("t_{}", sim.pick(4));
                let kinds = [Kind::Completed, Kind::Blocked, Kind::Crashed, Kind::Status];
                let kind = kinds[usize::try_from(sim.pick(4)).unwrap()];
                let now = sim.now;
                sim.board.happen(&task, kind, now);
                sim.feed(Input::Change(Change::Board(BOARD)));
            }
            2 => {
                let task = format!("t_{}", sim.pick(4));
                let now = sim.now;
                match sim.pick(3) {
                    0 => sim.board.subscribe(&task, "console", "room", now),
                    n => sim.board.subscribe(&task, "api_server", &format!("s{n}"), now),
                }
                sim.feed(Input::Change(Change::Board(BOARD)));
            }
            3 => sim.step_time(),
            4 => sim.crash(),
            5 => sim.neighbour_dies(),
            6 => sim.hermes_swallows(),
            _ => {
                for _ in 0..4 {
                    sim.run_one();
                }
            }
        }
    }
    sim.drain();
    sim
}

/// Every (row, event) that somebody must have heard of, with how often it took effect, unmarked; each part
/// of a message for itself (law D5).
///
/// Of a leg whose turns all failed nobody heard, and it says so in the dead letters (law W7).
fn effects(sim: &Sim) -> Vec<(String, i64, usize)> {
    let mut heard = Vec::new();
    for (leg, facts) in &sim.ledger.legs {
        let copy = sim.ledger.subs.iter().find(|copy| copy.sub.id == leg.subscription).unwrap();
        let chat = &copy.sub.key.chat;
        let failed = leg.tally.failed_turns >= Policy::default().wake.max_failed_turns;
        if failed && leg.state == LegState::Parked {
            continue;
        }
        let parts = if leg.kind == LegKind::Ping { parts_of(facts.event.0) } else { 1 };
        for part in 0..parts {
            let count = sim.receiver.effects.iter().filter(|(destination, body)| {
                let to = match destination {
                    Destination::Chat { chat, .. } => chat,
                    Destination::Session { session, .. } => session,
                };
                let names = body.contains(&format!("<{}>", facts.event.0));
                to == chat && names && body.ends_with(&part_mark(part))
            });
            heard.push((chat.clone(), facts.event.0, count.count()));
        }
    }
    heard
}

/// Nothing that was owed is missing from the ledger altogether.
fn assert_all_planned(sim: &Sim) {
    for row in &sim.board.rows {
        for event in &sim.board.events {
            let concerns = event.task == row.key.task
                && event.created_at.secs() >= row.created_at.secs()
                && (event.kind.wakes() || !row.key.is_api_server());
            let kind = if row.key.is_api_server() { LegKind::Wake } else { LegKind::Ping };
            let planned = sim.ledger.legs.iter().any(|(leg, facts)| {
                let copy = sim.ledger.subs.iter().find(|copy| copy.sub.id == leg.subscription);
                copy.is_some_and(|copy| copy.sub.key == row.key)
                    && facts.event == event.id
                    && leg.kind == kind
            });
            assert!(planned || !concerns, "{:?} of {:?} was never planned", event.id, row.key);
        }
        assert!(row.cursor <= sim.board.newest());
    }
    for (key, event) in &sim.swallowed {
        let planned = sim.ledger.legs.iter().any(|(leg, facts)| {
            let copy = sim.ledger.subs.iter().find(|copy| copy.sub.id == leg.subscription);
            copy.is_some_and(|copy| copy.sub.key == *key) && facts.event == *event
        });
        assert!(planned, "{event:?} of {key:?} was swallowed");
    }
}

fn actions() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0_u8..12, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A receiver that knows its keys: exactly one effect for everything owed, whatever crashes.
    #[test]
    fn exactly_once_with_a_deduplicating_receiver(seed: u64, actions in actions(), readable: bool) {
        let sim = play(seed, &actions, true, readable);
        assert_all_planned(&sim);
        for (chat, event, count) in effects(&sim) {
            prop_assert_eq!(count, 1, "event {} for {}", event, chat);
        }
    }

    /// A receiver without keys whose history can be read: a session still gets everything exactly once.
    #[test]
    fn exactly_once_where_the_history_is_readable(seed: u64, actions in actions()) {
        let sim = play(seed, &actions, false, true);
        assert_all_planned(&sim);
        for (chat, event, count) in effects(&sim) {
            // The room has no history: there a message that was lost twice waits in the dead letters.
            if chat != "room" {
                prop_assert_eq!(count, 1, "event {} for {}", event, chat);
            }
        }
    }

    /// A receiver that helps with nothing: never lost; at most one repeat of anything, and marked.
    #[test]
    fn at_least_once_and_at_most_one_marked_repeat_otherwise(seed: u64, actions in actions()) {
        let sim = play(seed, &actions, false, false);
        assert_all_planned(&sim);
        let parked: Vec<i64> = sim.ledger.legs.iter()
            .filter(|(leg, _)| leg.state == LegState::Parked)
            .map(|(_, facts)| facts.event.0)
            .collect();
        for (chat, event, count) in effects(&sim) {
            // Lost twice on the way, it waits in the dead letters rather than being forgotten.
            prop_assert!(count >= 1 || parked.contains(&event), "event {} for {}", event, chat);
            prop_assert!(count <= 2, "event {} for {}: {} times", event, chat, count);
        }
        let bodies = &sim.receiver.effects;
        for (at, (to, body)) in bodies.iter().enumerate() {
            let named = |other: &str| events(body).any(|event| events(other).any(|e| e == event));
            let repeat = bodies.iter().take(at).any(|(before, other)| before == to && part(other) == part(body) && named(other));
            prop_assert!(!repeat || body.contains("repeat"), "an unmarked repeat: {}", body);
        }
    }
}

/// The part that a model body is of.
fn part(body: &str) -> &str {
    body.rsplit(' ').next().unwrap()
}

/// The events named in a model body.
fn events(body: &str) -> impl Iterator<Item = &str> {
    body.split(['<', '>']).filter(|part| part.parse::<i64>().is_ok())
}

#[test]
fn d3_many_events_for_one_session_travel_together() {
    // A world with memory for all of them.
    let mut sim = Sim::new(15, true, true);
    sim.healthy = true;
    for n in 0..10 {
        let now = sim.now;
        sim.board.subscribe(&format!("t_{n}"), "api_server", "s", now);
        sim.board.happen(&format!("t_{n}"), Kind::Completed, now);
    }
    sim.feed(Input::Change(Change::Board(BOARD)));
    sim.drain();
    assert_eq!(sim.receiver.effects.len(), 1, "{:?}", sim.receiver.effects);
}

/// A task of which a part was read; its rows are shown anew after a stamp failed, and the one whose cursor
/// was lowest is gone.
#[test]
fn o3_a_row_that_vanishes_while_its_task_is_read_bit_by_bit_loses_nothing() {
    let actions = [0, 0, 3, 7, 2, 0, 0, 7, 7, 7, 2, 0, 2, 3, 4, 7, 0, 6, 3, 3, 7];
    assert_all_planned(&play(17_995_979_636_260_845_292, &actions, false, true));
}
