//! Giving rows back to their previous owners, and taking them again (law O2).

use diesel::{dsl, prelude::*};

use crate::ledger::{
    conditions, ends,
    plan::{CopyKey, CopyPlan, PlanRows, plan},
    rows::{BoardRow, SubscriptionRow},
    schema::{boards, legs, subscriptions},
    states,
};

/// A copy that was released: what has to be written on its board.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Released {
    /// The ledger's id.
    pub subscription: i64,
    /// The board's id.
    pub board_id: i64,
    /// The board's name.
    pub board: String,
    /// The board's path.
    pub path: String,
    /// Key: the task.
    pub task: String,
    /// Key: the platform.
    pub platform: String,
    /// Key: the chat or raw session.
    pub chat: String,
    /// Key: the thread.
    pub thread: String,
    /// When the row was made, in UTC microseconds.
    pub created_at: i64,
    /// Whether we stamped the row; only then it is given back.
    pub adopted: bool,
    /// What stood there before; `None` is NULL.
    pub previous_owner: Option<String>,
    /// The cursor that the board is to have first, so that nothing settled is sent again.
    pub settled: i64,
    /// Unsent legs that were cancelled.
    pub cancelled: usize,
    /// Legs of which something may be on its way.
    pub in_flight: i64,
}

/// A row that an operator adopts: recorded here before it is stamped on its board (law O2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The board's id.
    pub board_id: i64,
    /// The row.
    pub key: CopyKey,
    /// The Hermes profile it belongs to.
    pub profile: String,
    /// What its `notifier_profile` is now; `None` is NULL.
    pub previous_owner: Option<String>,
    /// What it asks for.
    pub mode: String,
    /// The row's cursor.
    pub cursor: i64,
    /// What is settled already: the cursor, or with cursor 0 the newest event that is older than the
    /// row (law F3).
    pub baseline: i64,
}

/// Records an adoption, or ends the release of the copy. Answers its id, if the board is known.
pub fn adopt(
    conn: &mut SqliteConnection,
    adoption: &Adoption,
    now: i64,
) -> QueryResult<Option<i64>> {
    let Some(board) = crate::ledger::boards::get(conn, adoption.board_id)? else {
        return Ok(None);
    };
    let wanted = PlanRows {
        board: board.id,
        incarnation: board.incarnation,
        position: board.position(),
        subscriptions: vec![CopyPlan {
            key: adoption.key.clone(),
            profile: adoption.profile.clone(),
            adopted: Some(adoption.previous_owner.clone()),
            mode: adoption.mode.clone(),
            baseline: adoption.baseline,
            seen: adoption.baseline,
            cursor: adoption.cursor,
            archived: None,
            life: states::OFFERED.to_owned(),
            legs: Vec::new(),
        }],
        closes: Vec::new(),
        at: now,
    };
    let Some(planned) = plan(conn, &wanted)? else {
        return Ok(None);
    };
    let id = planned.owed.first().map(|owed| owed.subscription.id);
    if let Some(id) = id {
        unrelease(conn, &[id], now)?;
    }
    Ok(id)
}

/// Releases copies that are live or offered; others are not in the answer.
pub fn release(conn: &mut SqliteConnection, ids: &[i64], now: i64) -> QueryResult<Vec<Released>> {
    let mut released = Vec::new();
    for id in ids {
        let row = subscriptions::table
            .inner_join(boards::table)
            .filter(subscriptions::id.eq(id))
            .filter(subscriptions::life.eq_any([states::LIVE, states::OFFERED, states::THEIRS]))
            .select((SubscriptionRow::as_select(), BoardRow::as_select()))
            .first::<(SubscriptionRow, BoardRow)>(conn)
            .optional()?;
        if let Some((row, board)) = row {
            set_life(conn, row.id, states::RELEASED, now)?;
            let reason = "released to its previous owner";
            let cancelled = ends::cancel_unsent(conn, row.id, reason, now)?;
            let in_flight = legs::table
                .filter(legs::subscription_id.eq(row.id))
                .filter(conditions::OpenLegs)
                .select(dsl::count_star())
                .get_result(conn)?;
            released.push(answer(row, board, cancelled, in_flight));
        }
    }
    Ok(released)
}

/// Ends the release of copies; answers how many there were.
///
/// They are live, not offered: what their previous owner has passed meanwhile is not owed again.
pub fn unrelease(conn: &mut SqliteConnection, ids: &[i64], now: i64) -> QueryResult<usize> {
    let mut taken = 0;
    for id in ids {
        taken += diesel::update(subscriptions::table.find(id))
            .filter(subscriptions::life.eq(states::RELEASED))
            .set((subscriptions::life.eq(states::LIVE), subscriptions::updated_at.eq(now)))
            .execute(conn)?;
    }
    Ok(taken)
}

fn set_life(conn: &mut SqliteConnection, id: i64, life: &str, now: i64) -> QueryResult<()> {
    diesel::update(subscriptions::table.find(id))
        .set((subscriptions::life.eq(life), subscriptions::updated_at.eq(now)))
        .execute(conn)
        .map(drop)
}

fn answer(row: SubscriptionRow, board: BoardRow, cancelled: usize, in_flight: i64) -> Released {
    Released {
        subscription: row.id,
        board_id: board.id,
        board: board.slug,
        path: board.path,
        task: row.task,
        platform: row.platform,
        chat: row.chat,
        thread: row.thread,
        created_at: row.created_at,
        adopted: row.adopted == 1,
        previous_owner: row.previous_owner,
        settled: row.settled,
        cancelled,
        in_flight,
    }
}
