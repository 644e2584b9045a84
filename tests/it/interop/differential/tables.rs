//! All rows of a board as text, with the ids of tasks by their order of appearance.

use std::{collections::HashMap, path::Path};

use diesel::{
    Connection, QueryableByName, RunQueryDsl,
    connection::SimpleConnection,
    sql_query,
    sql_types::{BigInt, Text},
    sqlite::SqliteConnection,
};

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Somebody who looks at a board all the time.
pub(super) struct Observer(SqliteConnection);

impl Observer {
    pub(super) fn new(path: &Path) -> Self {
        let mut connection =
            SqliteConnection::establish(path.to_str().expect("UTF-8")).expect("the board");
        connection.batch_execute("PRAGMA busy_timeout = 5000").expect("pragma");
        Self(connection)
    }

    pub(super) fn run(&mut self, sql: &str) {
        self.0.batch_execute(sql).expect(sql);
    }

    fn lines(&mut self, sql: &str) -> Vec<String> {
        let rows: Vec<Line> = sql_query(sql).load(&mut self.0).expect(sql);
        rows.into_iter().map(|row| row.line).collect()
    }

    pub(super) fn number(&mut self, sql: &str) -> i64 {
        let row: Number = sql_query(sql).get_result(&mut self.0).expect(sql);
        row.number
    }

    pub(super) fn status(&mut self, task: &str) -> String {
        self.lines(&format!("SELECT status AS line FROM tasks WHERE id = '{task}'")).remove(0)
    }

    /// Something of each task, by its id.
    pub(super) fn of_tasks(&mut self, what: &str) -> HashMap<String, String> {
        let lines = self.lines(&format!("SELECT id || ' ' || {what} AS line FROM tasks"));
        let pairs = lines.iter().filter_map(|line| line.split_once(' '));
        pairs.map(|(id, value)| (id.to_owned(), value.to_owned())).collect()
    }

    /// What kinds of events there are.
    pub(super) fn kinds(&mut self) -> String {
        self.lines("SELECT DISTINCT kind AS line FROM task_events").join(" ")
    }

    /// Changes whenever somebody else commits something.
    pub(super) fn version(&mut self) -> i64 {
        self.number("SELECT data_version AS number FROM pragma_data_version")
    }

    /// Every row of every table, and what differs on purpose left out: see `kanban_store::write`.
    pub(super) fn rows(&mut self, tasks: &[String]) -> Vec<String> {
        let tables =
            self.lines("SELECT name AS line FROM sqlite_master WHERE type = 'table' ORDER BY name");
        let mut all = Vec::new();
        for table in tables {
            let columns =
                self.lines(&format!("SELECT name AS line FROM pragma_table_info('{table}')"));
            let shown: Vec<String> = columns.iter().map(|column| shown(&table, column)).collect();
            all.extend(self.lines(&format!(
                "SELECT '{table} ' || {} AS line FROM {table} ORDER BY rowid",
                shown.join(" || ")
            )));
        }
        for line in &mut all {
            for (number, id) in tasks.iter().enumerate() {
                if line.contains(id.as_str()) {
                    *line = line.replace(id.as_str(), &format!("#{number}#"));
                }
            }
        }
        all
    }
}

fn shown(table: &str, column: &str) -> String {
    let value = match (table, column) {
        // Ours start caught up.
        ("kanban_notify_subs", "last_event_id") => "'left out'".to_owned(),
        // Notes on attempts that somebody left open are in words of our own.
        ("task_runs", "summary") => {
            "CASE WHEN outcome = 'reclaimed' THEN 'left out' ELSE summary END".to_owned()
        }
        _ => column.to_owned(),
    };
    format!("' {column}=' || quote({value})")
}
