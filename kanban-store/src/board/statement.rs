//! Values of any type: columns of a board may hold them, and some columns exist only in newer files, so
//! the reads are SQL text put together once per file.

use diesel::{
    QueryResult, Queryable, RunQueryDsl,
    deserialize::{self, FromSql, FromSqlRow},
    query_builder::QueryId,
    sql_types::SqlType,
    sqlite::{Sqlite, SqliteConnection, SqliteType, SqliteValue},
};

use super::sql::NAME_BYTES;
pub(crate) use crate::statement::{Bind, execute, query};

/// The SQL type of a column that may hold anything.
#[derive(Clone, Copy, Debug, SqlType, QueryId)]
#[diesel(sqlite_type(name = "Binary"))]
pub(crate) struct Any;

/// One value as it is stored.
#[derive(Clone, Debug, PartialEq, FromSqlRow)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    /// Stored as text, and not UTF-8.
    BrokenText(Vec<u8>),
    Blob(Vec<u8>),
}

impl Cell {
    /// What is stored, in words for people.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Int(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::BrokenText(_) => "text that is not UTF-8",
            Self::Blob(bytes) if bytes.len() > NAME_BYTES => "too long",
            Self::Blob(_) => "a blob",
        }
    }

    /// The value if it is text.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value if it is text.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value if it is an integer.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }
}

impl FromSql<Any, Sqlite> for Cell {
    fn from_sql(mut value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(match value.value_type() {
            None => Self::Null,
            Some(SqliteType::Text) => match String::from_utf8(value.read_blob().to_vec()) {
                Ok(text) => Self::Text(text),
                Err(broken) => Self::BrokenText(broken.into_bytes()),
            },
            Some(SqliteType::Binary) => Self::Blob(value.read_blob().to_vec()),
            Some(SqliteType::Double | SqliteType::Float) => Self::Real(value.read_double()),
            Some(SqliteType::Integer | SqliteType::Long | SqliteType::SmallInt) => {
                Self::Int(value.read_long())
            }
        })
    }

    fn from_nullable_sql(value: Option<SqliteValue<'_, '_, '_>>) -> deserialize::Result<Self> {
        value.map_or(Ok(Self::Null), Self::from_sql)
    }
}

/// The first column of the first row; [`Cell::Null`] when there is no row.
pub(crate) fn scalar(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<Cell> {
    let rows: Vec<Single> = query::<(Any,)>(sql, binds).load(connection)?;
    Ok(rows.into_iter().next().map_or(Cell::Null, |row| row.0))
}

#[derive(Queryable)]
struct Single(Cell);
