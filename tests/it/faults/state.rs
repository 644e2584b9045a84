//! What a ledger and its board say at one moment, read with other hands than the gateway's own.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use diesel::{QueryableByName, RunQueryDsl as _, SqliteConnection, sql_query, sql_types};
use kanban_notify::ids::ChannelName;

use crate::support::cards::connect;

/// A delivery.
#[derive(Clone, Debug, QueryableByName)]
pub struct Leg {
    #[diesel(sql_type = sql_types::Text)]
    chat: String,
    #[diesel(sql_type = sql_types::Text)]
    pub state: String,
    #[diesel(sql_type = sql_types::Text)]
    pub verdict: String,
    #[diesel(sql_type = sql_types::Text)]
    pub reason: String,
    #[diesel(sql_type = sql_types::BigInt)]
    due_at: i64,
    /// The board's, not the ledger's.
    #[diesel(sql_type = sql_types::BigInt)]
    pub cursor: i64,
}

impl Leg {
    /// How long from now it is due.
    pub fn due_in(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Duration::from_micros(self.due_at.try_into().unwrap()).saturating_sub(now)
    }
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = sql_types::Text)]
    name: String,
}

/// The deliveries by session, and the channels that rest.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    legs: BTreeMap<String, Leg>,
    rests: Vec<String>,
}

impl Ledger {
    /// Reads them.
    pub fn read(eyes: &mut SqliteConnection) -> Self {
        let legs: Vec<Leg> = sql_query(
            "SELECT s.chat, l.state, l.verdict, l.reason, l.due_at, b.last_event_id AS cursor
             FROM legs l JOIN subscriptions s ON s.id = l.subscription_id
             JOIN board.kanban_notify_subs b ON b.chat_id = s.chat",
        )
        .load(eyes)
        .unwrap();
        let rests: Vec<Name> = sql_query("SELECT channel AS name FROM pauses").load(eyes).unwrap();
        Self {
            legs: legs.into_iter().map(|leg| (leg.chat.clone(), leg)).collect(),
            rests: rests.into_iter().map(|row| row.name).collect(),
        }
    }

    pub fn leg(&self, session: &str) -> Option<&Leg> {
        self.legs.get(session)
    }

    pub fn rests(&self, channel: &ChannelName) -> bool {
        self.rests.iter().any(|name| name == channel.as_str())
    }
}

/// A connection to a ledger, with its board beside it.
pub fn eyes(ledger: &Path, board: &Path) -> SqliteConnection {
    let mut eyes = connect(ledger);
    let attach = format!("ATTACH '{}' AS board", board.display());
    sql_query(attach).execute(&mut eyes).unwrap();
    eyes
}

/// The cursor of a session's row.
pub fn cursor(board: &mut SqliteConnection, session: &str) -> i64 {
    #[derive(QueryableByName)]
    struct Number {
        #[diesel(sql_type = sql_types::BigInt)]
        number: i64,
    }
    let found: Number =
        sql_query("SELECT last_event_id AS number FROM kanban_notify_subs WHERE chat_id = ?")
            .bind::<sql_types::Text, _>(session)
            .get_result(board)
            .unwrap();
    found.number
}
