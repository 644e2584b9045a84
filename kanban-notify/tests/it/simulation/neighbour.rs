//! Others at work: an instance on the same ledger that dies in the middle (law D9), and a notifier that
//! takes rows for its own (law O3).

use kanban_notify::{
    engine::Input,
    ids::{ChannelName, EventId},
    leg::{Leg, LegKind},
    message::{Destination, Fact, Message, Parcel},
    ports::Change,
    record::{Facts, Intent, IntentResult},
    subscription::Life,
};

use super::{BOARD, Fate, Sim, pin};

/// The instance that is never ours: those are counted from 1.
const NEIGHBOUR: u32 = 0;

impl Sim {
    /// The neighbour takes the first delivery that it may, and dies before it knows what came of it.
    pub(super) fn neighbour_dies(&mut self) {
        let Some((leg, facts)) = self.first_unclaimed() else { return };
        let chat = self.ledger.subs.iter().find(|copy| copy.sub.id == leg.subscription);
        let chat = chat.map(|copy| copy.sub.key.chat.clone()).unwrap_or_default();
        let channel = match leg.kind {
            LegKind::Wake => ChannelName::api_server("default"),
            LegKind::Ping => ChannelName("console".into()),
        };
        let lane = format!("{channel} {chat}");
        let destination = match leg.kind {
            LegKind::Wake => Destination::Session { channel, session: chat },
            LegKind::Ping => Destination::Chat { channel, chat, thread: String::new() },
        };
        let EventId(event) = facts.event;
        let fact = Fact { board: "default".into(), task: facts.task, event, kind: "completed" };
        let mut intent = Intent {
            draft: 0,
            lane,
            destination: destination.clone(),
            legs: vec![leg.id],
            tallies: vec![leg.tally],
            key: format!("neighbour-{}", self.ledger.claims.len()),
            reference: format!("kgw:neighbour-{}.", self.ledger.claims.len()),
            message: Message { spans: Vec::new(), facts: vec![fact], ..Message::default() },
            body: self.ledger.begun(&leg).unwrap_or_default(),
            at: self.now,
        };
        pin(&mut intent);
        let results = self.ledger.intend(std::slice::from_ref(&intent), NEIGHBOUR);
        if !matches!(results.as_slice(), [IntentResult::Won(_)]) {
            return;
        }
        if self.chance(2) {
            let parcel = Parcel {
                part: leg.tally.part,
                repeat: leg.tally.repeat && leg.tally.part > 0,
                ..Parcel::new(destination, intent.key, intent.body)
            };
            self.receiver.take(&parcel, Fate::Silent, self.now);
        }
        self.feed(Input::Disturbed);
    }

    /// A notifier of Hermes had listed a row before our stamp: it counts everything as told, and deletes
    /// the row, although nobody woke the session.
    pub(super) fn hermes_swallows(&mut self) {
        let copies = &self.ledger.subs;
        let taken = self.board.rows.iter().position(|row| {
            row.key.is_api_server()
                && row.owner.as_deref() == Some("default")
                && copies.iter().any(|c| c.sub.key == row.key && c.sub.life == Life::Offered)
        });
        let Some(row) = taken.map(|at| self.board.rows.remove(at)) else { return };
        let owed = self.board.events.iter().filter(|event| {
            event.task == row.key.task
                && event.kind.wakes()
                && event.created_at.secs() >= row.created_at.secs()
        });
        self.swallowed.extend(owed.map(|event| (row.key.clone(), event.id)));
        self.cursors.remove(&format!("{:?}", row.key));
        self.board.gone.push(row.key);
        self.feed(Input::Change(Change::Board(BOARD)));
    }

    /// The oldest delivery that nobody has, with nothing open before it in its subscription.
    fn first_unclaimed(&self) -> Option<(Leg, Facts)> {
        let open = |other: &Leg, leg: &Leg| {
            other.subscription == leg.subscription
                && other.kind == leg.kind
                && other.event < leg.event
                && !other.state.is_final()
        };
        let free = self.ledger.legs.iter().find(|(leg, _)| {
            leg.state.is_claimable()
                && !leg.tally.repeat
                && !self.ledger.legs.iter().any(|(other, _)| open(other, leg))
        });
        free.cloned()
    }
}
