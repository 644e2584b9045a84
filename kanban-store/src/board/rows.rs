//! Changes to rows of the subscriptions table, each a compare-and-set (laws B5, O2, S3).

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    Features,
    model::{EditOutcome, RowEdit, RowKey},
    sql::{aged, untold},
    statement::{Any, Bind, Cell, execute, query},
};

/// The SQL of changes, put together once for the columns that a file has.
#[derive(Debug)]
pub(crate) struct EditTexts {
    raise: String,
    raises_ping: bool,
    stamp: Option<String>,
    delete: String,
    delete_aged: String,
    look: String,
}

const KEY: &str = "task_id = ? AND platform = ? AND chat_id = ? AND thread_id = ?";

const DELETE: &str = "DELETE FROM kanban_notify_subs WHERE task_id = ? AND platform = ? AND \
     chat_id = ? AND thread_id = ? AND created_at = ?";

impl EditTexts {
    /// For a file with these columns.
    pub(crate) fn new(features: &Features) -> Self {
        let ping = if features.last_ping_event_id {
            ", last_ping_event_id = max(last_ping_event_id, ?)"
        } else {
            ""
        };
        let owner = if features.notifier_profile { "notifier_profile" } else { "NULL" };
        Self {
            raise: format!(
                "UPDATE kanban_notify_subs SET last_event_id = ?{ping} WHERE {KEY} AND \
                 created_at = ? AND last_event_id < ?"
            ),
            raises_ping: features.last_ping_event_id,
            stamp: features.notifier_profile.then(|| {
                format!(
                    "UPDATE kanban_notify_subs SET notifier_profile = ? WHERE {KEY} AND \
                     notifier_profile IS ?"
                )
            }),
            delete: format!(
                "{DELETE} AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.task_id = \
                 kanban_notify_subs.task_id AND {})",
                untold()
            ),
            delete_aged: format!("{DELETE} AND {}", aged()),
            look: format!(
                "SELECT created_at, last_event_id, {owner} FROM kanban_notify_subs WHERE {KEY}"
            ),
        }
    }

    /// Makes one change. Belongs inside an immediate transaction.
    pub(crate) fn apply(
        &self,
        connection: &mut SqliteConnection,
        edit: &RowEdit,
    ) -> QueryResult<EditOutcome> {
        match edit {
            RowEdit::Raise { key, created_at, to } => {
                let mut binds = vec![Bind::Int(*to)];
                if self.raises_ping {
                    binds.push(Bind::Int(*to));
                }
                binds.extend(key_binds(key));
                binds.extend([Bind::Int(*created_at), Bind::Int(*to)]);
                if execute(connection, &self.raise, &binds)? > 0 {
                    return Ok(EditOutcome::Won);
                }
                self.judge(connection, key, |found| {
                    found.created_at == Cell::Int(*created_at)
                        && found.cursor.as_int().is_some_and(|cursor| cursor >= *to)
                })
            }
            RowEdit::Stamp { key, from, to } => {
                if let Some(stamp) = &self.stamp {
                    let mut binds = vec![Bind::TextOrNull(to.as_deref())];
                    binds.extend(key_binds(key));
                    binds.push(Bind::TextOrNull(from.as_deref()));
                    if execute(connection, stamp, &binds)? > 0 {
                        return Ok(EditOutcome::Won);
                    }
                }
                let wanted = to.clone().map_or(Cell::Null, Cell::Text);
                // A file of the first generation has no place for an owner: nothing is left to do.
                self.judge(connection, key, |found| self.stamp.is_none() || found.owner == wanted)
            }
            RowEdit::Delete { key, created_at, aged } => {
                let mut binds = key_binds(key).to_vec();
                binds.push(Bind::Int(*created_at));
                binds.extend(aged.map(Bind::Int));
                let text = if aged.is_some() { &self.delete_aged } else { &self.delete };
                if execute(connection, text, &binds)? > 0 {
                    return Ok(EditOutcome::Won);
                }
                self.judge(connection, key, |_| false)
            }
        }
    }

    /// What a change that touched nothing found: `already` says whether nothing was left to do.
    fn judge(
        &self,
        connection: &mut SqliteConnection,
        key: &RowKey,
        already: impl FnOnce(&Found) -> bool,
    ) -> QueryResult<EditOutcome> {
        let rows: Vec<Found> =
            query::<(Any, Any, Any)>(&self.look, &key_binds(key)).load(connection)?;
        Ok(match rows.first() {
            None => EditOutcome::Gone,
            Some(found) if already(found) => EditOutcome::Won,
            Some(_) => EditOutcome::Lost,
        })
    }
}

#[derive(Queryable)]
struct Found {
    created_at: Cell,
    cursor: Cell,
    owner: Cell,
}

fn key_binds(key: &RowKey) -> [Bind<'_>; 4] {
    [&key.task, &key.platform, &key.chat, &key.thread].map(|part| Bind::Text(part))
}
