//! A ledger's schema as text: for comparing two of them, and as the Rust of `schema.rs`.

use std::path::Path;

use diesel::{QueryResult, QueryableByName, RunQueryDsl as _, SqliteConnection, sql_types};

use super::{
    connect::{connect, during},
    migrate::BOOKKEEPING,
    place,
};
use crate::error::StoreError;

/// Every table and index with the statement that made it, in a fixed order.
pub fn schema_dump(ledger: &Path) -> Result<String, StoreError> {
    let mut conn = connect(&place::prepare(ledger)?)?;
    let made = diesel::sql_query(format!(
        "SELECT sql AS text FROM sqlite_master
         WHERE sql IS NOT NULL AND tbl_name <> '{BOOKKEEPING}' AND tbl_name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY type DESC, name"
    ))
    .load::<TextRow>(&mut conn)
    .map_err(during("reading its schema"))?;
    Ok(made.into_iter().fold(String::new(), |mut dump, row| {
        dump.push_str(&row.text);
        dump.push_str(";\n");
        dump
    }))
}

/// The text of `schema.rs` for the tables that are there.
pub fn diesel_schema(ledger: &Path) -> Result<String, StoreError> {
    let mut conn = connect(&place::prepare(ledger)?)?;
    schema_text(&mut conn).map_err(during("reading its schema"))
}

const HEADER: &str = "\
//! The ledger's tables, written by `cargo xtask migrations check --write` and never by hand.
";

fn schema_text(conn: &mut SqliteConnection) -> QueryResult<String> {
    let tables = diesel::sql_query(format!(
        "SELECT name AS text FROM sqlite_master
         WHERE type = 'table' AND name <> '{BOOKKEEPING}' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY name"
    ))
    .load::<TextRow>(conn)?;
    let mut text = HEADER.to_owned();
    let mut joins = String::new();
    for table in &tables {
        text.push_str(&table_text(conn, &table.text)?);
        joins.push_str(&joins_text(conn, &table.text)?);
    }
    if !joins.is_empty() {
        text.push('\n');
        text.push_str(&joins);
    }
    text.push_str("\ndiesel::allow_tables_to_appear_in_same_query!(\n");
    for table in &tables {
        put(&mut text, format_args!("    {},\n", table.text));
    }
    text.push_str(");\n");
    Ok(text)
}

fn table_text(conn: &mut SqliteConnection, table: &str) -> QueryResult<String> {
    let columns = diesel::sql_query(format!(
        "SELECT name, type AS declared, \"notnull\" AS required, pk FROM pragma_table_info('{table}') ORDER BY cid"
    ))
    .load::<Column>(conn)?;
    let mut keys: Vec<&Column> = columns.iter().filter(|column| column.pk > 0).collect();
    keys.sort_by_key(|column| column.pk);
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let mut text = String::new();
    put(&mut text, format_args!("\ndiesel::table! {{\n    {table} ({}) {{\n", names.join(", ")));
    for column in &columns {
        put(&mut text, format_args!("        {} -> {},\n", column.name, column.rust(names.len())));
    }
    text.push_str("    }\n}\n");
    Ok(text)
}

fn joins_text(conn: &mut SqliteConnection, table: &str) -> QueryResult<String> {
    let references = diesel::sql_query(format!(
        "SELECT \"table\" AS target, \"from\" AS source FROM pragma_foreign_key_list('{table}') ORDER BY id DESC, seq"
    ))
    .load::<Reference>(conn)?;
    Ok(references.iter().fold(String::new(), |mut text, found| {
        put(
            &mut text,
            format_args!("diesel::joinable!({table} -> {} ({}));\n", found.target, found.source),
        );
        text
    }))
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.push_str(&what.to_string());
}

#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = sql_types::Text)]
    text: String,
}

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = sql_types::Text)]
    name: String,
    #[diesel(sql_type = sql_types::Text)]
    declared: String,
    #[diesel(sql_type = sql_types::Integer)]
    required: i32,
    #[diesel(sql_type = sql_types::Integer)]
    pk: i32,
}

impl Column {
    /// A key that is SQLite's rowid has 64 bits, whatever it is declared as.
    fn rust(&self, keys: usize) -> String {
        let plain = match self.declared.as_str() {
            "INTEGER" if self.pk > 0 && keys == 1 => "BigInt",
            "BIGINT" => "BigInt",
            "INTEGER" => "Integer",
            "TEXT" => "Text",
            // Left as it is: the build then says which column has a type that it must not have.
            other => other,
        };
        if self.required == 1 || self.pk > 0 {
            plain.to_owned()
        } else {
            format!("Nullable<{plain}>")
        }
    }
}

#[derive(QueryableByName)]
struct Reference {
    #[diesel(sql_type = sql_types::Text)]
    target: String,
    #[diesel(sql_type = sql_types::Text)]
    source: String,
}
