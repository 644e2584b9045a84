//! What the ledger says of claims.

use std::{collections::BTreeMap, path::Path};

use diesel::{
    QueryResult, QueryableByName, RunQueryDsl as _, SqliteConnection,
    connection::SimpleConnection as _,
    sql_query,
    sql_types::{BigInt, Text},
};

use super::work::{Leg, marks};
use crate::support::cards::connect;

/// A claim whose outcome nobody has recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
pub struct InFlight {
    #[diesel(sql_type = BigInt)]
    pub id: i64,
    #[diesel(sql_type = Text)]
    pub key: String,
    #[diesel(sql_type = Text)]
    pub channel: String,
    /// The process that holds it.
    #[diesel(sql_type = BigInt)]
    pub pid: i64,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    key: String,
    #[diesel(sql_type = Text)]
    channel: String,
    #[diesel(sql_type = Text)]
    chat: String,
    #[diesel(sql_type = Text)]
    body: String,
}

/// The claims in flight while everybody stands still or is dead.
///
/// A commit that its writer did not live to publish counts for whoever opens the ledger anew, and not for
/// those who have it open: they are asked in their way. Where nobody is left, a copy is read, so that nothing
/// is recovered or checkpointed for the gateway.
pub fn in_flight(ledger: &Path, somebody_lives: bool) -> Vec<InFlight> {
    if somebody_lives && ledger.exists() {
        let mut ledger = connect(ledger);
        ledger.batch_execute("PRAGMA busy_timeout = 100").unwrap();
        // Whoever stands still while it opens the ledger lets nobody in; it is not at work yet.
        if let Ok(claims) = open_claims(ledger) {
            return claims;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("ledger.db");
    for suffix in ["", "-wal"] {
        let named = |path: &Path| format!("{}{suffix}", path.display());
        match std::fs::copy(named(ledger), named(&copy)) {
            Ok(_) => {}
            // Killed before it made one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
    }
    open_claims(connect(&copy)).unwrap()
}

fn open_claims(mut ledger: SqliteConnection) -> QueryResult<Vec<InFlight>> {
    if !has_tables(&mut ledger)? {
        return Ok(Vec::new());
    }
    sql_query(
        "SELECT DISTINCT c.id, c.key, c.channel, coalesce(i.pid, 0) AS pid
           FROM claims c
           JOIN legs l ON l.claim_id = c.id AND l.state IN ('intended', 'sending', 'unknown')
           LEFT JOIN instances i ON i.id = c.instance
          ORDER BY c.id",
    )
    .load(&mut ledger)
}

/// Killed in its first moments, a process leaves a ledger without tables.
fn has_tables(ledger: &mut SqliteConnection) -> QueryResult<bool> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = BigInt)]
        tables: i64,
    }
    let names = "'claims', 'legs', 'instances'";
    let query = format!("SELECT count(*) AS tables FROM sqlite_master WHERE name IN ({names})");
    Ok(sql_query(query).get_result::<Found>(ledger)?.tables == 3)
}

/// What each key carries, of all claims that there ever were.
pub fn carried(ledger: &Path) -> BTreeMap<String, Vec<Leg>> {
    let query = "SELECT key, channel, chat, body FROM claims";
    let rows: Vec<Row> = sql_query(query).load(&mut connect(ledger)).unwrap();
    let legs = |row: &Row| {
        let platform = row.channel.split('/').next().unwrap().to_owned();
        let leg = |mark| Leg { platform: platform.clone(), chat: row.chat.clone(), mark };
        marks(&row.body).into_iter().map(leg).collect()
    };
    rows.into_iter().map(|row| (row.key.clone(), legs(&row))).collect()
}
