//! Until when channels rest (law D8).

use diesel::prelude::*;

use super::{rows::PauseRow, schema::pauses};

/// Until when a channel rests, if it does; the time may be past.
pub fn until(conn: &mut SqliteConnection, channel: &str) -> QueryResult<Option<i64>> {
    pauses::table.find(channel).select(pauses::until).get_result(conn).optional()
}

/// Ends a pause. Answers whether there was one.
pub fn lift(conn: &mut SqliteConnection, channel: &str) -> QueryResult<bool> {
    diesel::delete(pauses::table.find(channel)).execute(conn).map(|lifted| lifted > 0)
}

/// Records a channel's pause, in the place of an earlier one; one whose time is past is lifted.
pub fn rest(conn: &mut SqliteConnection, pause: &PauseRow, now: i64) -> QueryResult<()> {
    if pause.until <= now {
        return diesel::delete(pauses::table.find(&pause.channel)).execute(conn).map(drop);
    }
    diesel::insert_into(pauses::table)
        .values(pause)
        .on_conflict(pauses::channel)
        .do_update()
        .set(pause)
        .execute(conn)
        .map(drop)
}
