//! What the ledger says of claims.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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

/// Who has the ledger open while everybody stands still or is dead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alive {
    Everybody,
    Somebody,
    Nobody,
}

/// The claims in flight while everybody stands still or is dead.
///
/// A commit that its writer did not live to publish counts for whoever opens the ledger anew, and not for
/// those who have it open: they are asked in their way. Where they let nobody in, copies are read, so that
/// nothing is recovered or checkpointed for the gateway.
pub fn in_flight(ledger: &Path, alive: Alive) -> Vec<InFlight> {
    if alive != Alive::Nobody && ledger.exists() {
        let mut ledger = connect(ledger);
        ledger.batch_execute("PRAGMA busy_timeout = 100").unwrap();
        // Whoever stands still while it opens the ledger lets nobody in.
        if let Ok(claims) = open_claims(ledger) {
            return claims;
        }
    }
    let mut claims = match alive {
        Alive::Everybody => Vec::new(),
        Alive::Somebody | Alive::Nobody => copied(ledger, None),
    };
    if alive != Alive::Nobody {
        // It may have opened it while the dead one lived, and then goes by what that one had published.
        claims.extend(copied(ledger, published(ledger)));
    }
    claims.sort_unstable();
    claims.dedup();
    claims
}

/// What a copy says that has so many bytes of the log, or all of them.
fn copied(ledger: &Path, log: Option<u64>) -> Vec<InFlight> {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("ledger.db");
    for suffix in ["", "-wal"] {
        match std::fs::copy(beside(ledger, suffix), beside(&copy, suffix)) {
            Ok(_) => {}
            // Killed before it made one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
    }
    if let Some(log) = log {
        let file = std::fs::OpenOptions::new().write(true).open(beside(&copy, "-wal")).unwrap();
        file.set_len(log.min(file.metadata().unwrap().len())).unwrap();
    }
    open_claims(connect(&copy)).unwrap()
}

/// How long the log is for those who have the ledger open: <https://www.sqlite.org/walformat.html>, 2.1.
fn published(ledger: &Path) -> Option<u64> {
    let index = std::fs::read(beside(ledger, "-shm")).ok()?;
    let page = u16::from_ne_bytes(index.get(14..16)?.try_into().unwrap());
    let frames = u32::from_ne_bytes(index.get(16..20)?.try_into().unwrap());
    // 1 stands for what does not fit in.
    let page = if page == 1 { 65_536 } else { u64::from(page) };
    beside(ledger, "-wal").exists().then_some(32 + u64::from(frames) * (24 + page))
}

fn beside(ledger: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", ledger.display()))
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
