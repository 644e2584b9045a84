//! The ledger's write-ahead log after a burst.

use diesel::{Connection as _, SqliteConnection, connection::SimpleConnection as _};
use kanban_store::ledger;

use crate::support::{number, place};

const LIMIT: u64 = 64 << 20;

/// Field report 160: a log that has grown shrinks to a limit once it was moved into the ledger.
#[test]
fn the_log_shrinks_to_its_limit_after_a_burst() {
    let (_folder, path) = place();
    let mut ledger = ledger::open(&path).unwrap();
    let conn = ledger.connection();
    let log = || std::fs::metadata(ledger::beside(&path, "-wal")).unwrap().len();
    // Somebody reads all the time, so that nothing can be moved.
    let mut reader = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    reader.batch_execute("BEGIN").unwrap();
    number(&mut reader, "SELECT count(*) FROM pauses");
    for _ in 0..50 {
        let burst =
            "INSERT OR REPLACE INTO pauses VALUES ('burst', 1, hex(randomblob(1000000)), 0, 1)";
        conn.batch_execute(burst).unwrap();
    }
    assert!(log() > LIMIT + (16 << 20), "{}", log());
    reader.batch_execute("COMMIT").unwrap();
    // The first commit moves it all, as any does by itself; the next one begins the log anew.
    for until in 2..=3 {
        conn.batch_execute(&format!("UPDATE pauses SET until = {until}")).unwrap();
    }
    assert!(log() <= LIMIT, "{}", log());
}
