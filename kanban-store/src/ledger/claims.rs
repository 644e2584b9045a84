//! Claims: the intent before a send (law D1).

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::{reads, rests, schema::legs, writes};

/// A claim to be recorded before it is sent.
#[derive(Clone, Debug)]
pub struct IntentRow {
    /// The lane it is to hold.
    pub lane: String,
    /// `chat` or `session`.
    pub target: String,
    /// The channel.
    pub channel: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// Its legs.
    pub legs: Vec<i64>,
    /// The counts that each leg must still have.
    pub tallies: Vec<TallyRow>,
    /// The idempotency key.
    pub key: String,
    /// The reference.
    pub reference: String,
    /// The bytes.
    pub body: String,
    /// When.
    pub at: i64,
}

/// The counts of one leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = legs, check_for_backend(diesel::sqlite::Sqlite))]
pub struct TallyRow {
    /// Failed attempts.
    pub failures: i32,
    /// Failed turns.
    pub failed_turns: i32,
    /// The epoch.
    pub epoch: i32,
    /// Whether it must travel alone.
    pub alone: i32,
    /// Whether it may be a repeat.
    pub repeat: i32,
    /// Whether an operator asked for it again.
    pub replay: i32,
    /// How many parts of its message were accepted.
    pub part: i32,
    /// Whether it goes as plain text.
    pub plain: i32,
    /// Whether it goes to the chat above its thread.
    pub parent: i32,
}

/// What became of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intended {
    /// Recorded under this id.
    Won(i64),
    /// Another claim holds the lane.
    Held,
    /// The channel rests until then.
    Paused(i64),
    /// A leg cannot be claimed, or not as it was known; nothing was recorded.
    Taken,
}

/// Records one intent, as [`intend_all`] does.
pub fn intend(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
) -> QueryResult<Intended> {
    let until = rests::until(conn, &intent.channel)?;
    intend_one(conn, instance, intent, until)
}

/// Records intents, each or nothing of it (laws D6, D9). The caller holds the write transaction, so what
/// is looked at first still holds when it is written.
pub fn intend_all(
    conn: &mut SqliteConnection,
    instance: &str,
    intents: &[IntentRow],
) -> QueryResult<Vec<Intended>> {
    // Until when each channel rests, asked once.
    let mut known = BTreeMap::new();
    let mut intended = Vec::with_capacity(intents.len());
    for intent in intents {
        let channel = intent.channel.as_str();
        let until = match known.get(channel) {
            Some(until) => *until,
            None => *known.entry(channel).or_insert(rests::until(conn, channel)?),
        };
        intended.push(intend_one(conn, instance, intent, until)?);
    }
    Ok(intended)
}

fn intend_one(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
    rests_until: Option<i64>,
) -> QueryResult<Intended> {
    if let Some(until) = rests_until.filter(|until| *until > intent.at) {
        return Ok(Intended::Paused(until));
    }
    let Some(claim) = writes::record(conn, instance, intent)? else {
        return Ok(Intended::Held);
    };
    if are_unsent(conn, intent)? && writes::take_legs(conn, claim, intent)? {
        return Ok(Intended::Won(claim));
    }
    writes::free(conn, claim)?;
    writes::withdraw(conn, claim)?;
    Ok(Intended::Taken)
}

/// Whether there are legs, each named once, of which nothing was sent since they had these counts.
fn are_unsent(conn: &mut SqliteConnection, intent: &IntentRow) -> QueryResult<bool> {
    let count = intent.legs.len();
    if count <= 1 {
        // The one is looked at when it is taken; of several, one that is gone must leave the others alone.
        return Ok(count == 1 && intent.tallies.len() == 1);
    }
    let distinct: BTreeSet<i64> = intent.legs.iter().copied().collect();
    for (leg, known) in intent.legs.iter().zip(&intent.tallies) {
        if reads::unsent(conn, *leg)?.as_ref() != Some(known) {
            return Ok(false);
        }
    }
    Ok(distinct.len() == count && intent.tallies.len() == count)
}
