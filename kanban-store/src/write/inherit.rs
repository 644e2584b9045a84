//! Who hears of a task hears of its children, on boards of a Hermes after 0.19.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, dsl::max, sqlite::SqliteConnection};

use crate::board::{
    Features,
    immediate::Failed,
    schema::task_events,
    statement::{Bind, execute},
};

/// Copies the subscriptions of `from` to a child, caught up with what happened to the child.
pub(super) fn subscriptions(
    connection: &mut SqliteConnection,
    features: &Features,
    child: &str,
    from: &[String],
    now: i64,
) -> Result<(), Failed> {
    // Hermes copies since it has modes of delivery.
    if !features.delivery_mode {
        return Ok(());
    }
    let newest: Option<i64> = task_events::table
        .filter(task_events::task_id.eq(child))
        .select(max(task_events::id))
        .get_result(connection)?;
    let mut columns = "user_id, notifier_profile, delivery_mode".to_owned();
    let mut values = "user_id, notifier_profile, coalesce(delivery_mode, 'notify')".to_owned();
    for (there, name, value) in [
        (features.chat_type, "chat_type", "coalesce(chat_type, 'dm')"),
        (features.user_id_alt, "user_id_alt", "user_id_alt"),
        (features.delivery_metadata, "delivery_metadata", "delivery_metadata"),
    ] {
        if there {
            columns.push_str(&format!(", {name}"));
            values.push_str(&format!(", {value}"));
        }
    }
    let sql = format!(
        "INSERT OR IGNORE INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, \
         created_at, last_event_id, {columns}) SELECT ?, platform, chat_id, thread_id, ?, ?, \
         {values} FROM kanban_notify_subs WHERE task_id = ?"
    );
    for parent in from {
        let newest = Bind::Int(newest.unwrap_or(0));
        let binds = [Bind::Text(child), Bind::Int(now), newest, Bind::Text(parent)];
        execute(connection, &sql, &binds)?;
    }
    Ok(())
}
