//! `notify-subscribe` and `notify-unsubscribe`: who wants to hear of a task.

use diesel::{
    ExpressionMethods, QueryDsl, RunQueryDsl, delete, dsl::max, insert_into,
    sqlite::SqliteConnection,
};

use super::PATIENCE;
use crate::{
    board::{
        Board, Features, RowKey,
        immediate::Failed,
        schema::{kanban_notify_subs as subs, task_events, tasks},
        statement::{Bind, execute},
    },
    error::StoreError,
};

/// A subscription to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSubscription {
    /// The row's key.
    pub key: RowKey,
    /// `user_id`.
    pub user: Option<String>,
    /// `notifier_profile`; dropped where the file has no such column.
    pub owner: Option<String>,
    /// `delivery_mode`; `None` is the platform's default. Dropped where the file has no such column.
    pub mode: Option<String>,
}

/// Subscribes at `now`. `false`: the row was there, and only what was empty in it was filled in.
///
/// A new row starts caught up: it hears of what happens from now on. The user of a row that was
/// there is filled in on boards of a Hermes after 0.19 only, which is the first to do so.
pub fn subscribe(board: &mut Board, new: &NewSubscription, now: i64) -> Result<bool, StoreError> {
    let key = &new.key;
    board.write(PATIENCE, |connection, features| {
        let known: i64 =
            tasks::table.filter(tasks::id.eq(&key.task)).count().get_result(connection)?;
        if known == 0 {
            return Err(Failed::Refused(StoreError::UnknownTask { task: key.task.clone() }));
        }
        let newest: Option<i64> = task_events::table
            .filter(task_events::task_id.eq(&key.task))
            .select(max(task_events::id))
            .get_result(connection)?;
        let inserted = insert_into(subs::table)
            .values((
                subs::task_id.eq(&key.task),
                subs::platform.eq(&key.platform),
                subs::chat_id.eq(&key.chat),
                subs::thread_id.eq(&key.thread),
                subs::user_id.eq(new.user.as_deref()),
                subs::created_at.eq(now),
                subs::last_event_id.eq(newest.unwrap_or(0)),
            ))
            .on_conflict_do_nothing()
            .execute(connection)?
            > 0;
        fill(connection, features, new, inserted)?;
        Ok(inserted)
    })
}

/// Removes a subscription. `false`: it was not there.
pub fn unsubscribe(board: &mut Board, key: &RowKey) -> Result<bool, StoreError> {
    board.write(PATIENCE, |connection, _| {
        let row = subs::table
            .filter(subs::task_id.eq(&key.task))
            .filter(subs::platform.eq(&key.platform))
            .filter(subs::chat_id.eq(&key.chat))
            .filter(subs::thread_id.eq(&key.thread));
        Ok(delete(row).execute(connection)? > 0)
    })
}

/// Fills in the columns that only some files have.
fn fill(
    connection: &mut SqliteConnection,
    features: &Features,
    new: &NewSubscription,
    inserted: bool,
) -> Result<(), Failed> {
    let key = &new.key;
    let mut set = |assignment: &str, value: &str| {
        let sql = format!(
            "UPDATE kanban_notify_subs SET {assignment} WHERE task_id = ? AND platform = ? AND \
             chat_id = ? AND thread_id = ?"
        );
        let binds = [value, &key.task, &key.platform, &key.chat, &key.thread].map(Bind::Text);
        execute(connection, &sql, &binds)
    };
    if let (true, Some(user)) = (features.delivery_mode, &new.user) {
        set("user_id = coalesce(nullif(user_id, ''), ?)", user)?;
    }
    // Before 0.15 a row kept the owner that it began with.
    let owned = features.notifier_profile && (inserted || features.branch_name);
    if let (true, Some(owner)) = (owned, new.owner.as_ref().filter(|o| inserted || !o.is_empty())) {
        set("notifier_profile = coalesce(nullif(notifier_profile, ''), ?)", owner)?;
    }
    if features.chat_type && inserted {
        set("chat_type = coalesce(chat_type, ?)", "dm")?;
    }
    if features.delivery_mode {
        let default = inserted.then(|| {
            if key.platform.trim().eq_ignore_ascii_case("api_server") {
                "notify+wake"
            } else {
                "notify"
            }
        });
        if let Some(mode) = new.mode.as_deref().or(default) {
            set("delivery_mode = ?", mode)?;
        }
    }
    Ok(())
}
