//! SQL text with typed rows through Diesel, prepared once and cached, and values of any type.
//!
//! Columns of a board may hold values of any type, and some columns exist only in newer files, so
//! the reads are SQL text put together once per file. Diesel's `sql_query` would prepare that text
//! anew for each use; this fragment lets the connection keep the prepared statement.

use std::marker::PhantomData;

use diesel::{
    QueryResult, Queryable, RunQueryDsl,
    deserialize::{self, FromSql, FromSqlRow},
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sql_types::{BigInt, Nullable, SqlType, Text},
    sqlite::{Sqlite, SqliteConnection, SqliteType, SqliteValue},
};

use super::sql::NAME_BYTES;

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

/// A value for a `?`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bind<'a> {
    Int(i64),
    Text(&'a str),
    TextOrNull(Option<&'a str>),
    #[cfg(feature = "write")]
    IntOrNull(Option<i64>),
}

/// SQL text with its values; `Row` is the SQL type of its rows. Each `?` is a parameter.
#[derive(Debug)]
pub(crate) struct Statement<'a, Row> {
    sql: &'a str,
    binds: Vec<Bind<'a>>,
    row: PhantomData<Row>,
}

/// SQL text that answers with rows of the SQL type `Row`.
pub(crate) fn query<'a, Row>(sql: &'a str, binds: &[Bind<'a>]) -> Statement<'a, Row> {
    Statement { sql, binds: binds.to_vec(), row: PhantomData }
}

/// Runs SQL text that answers with a number of changed rows.
pub(crate) fn execute(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<usize> {
    query::<()>(sql, binds).execute(connection)
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

impl<Row> QueryFragment<Sqlite> for Statement<'_, Row> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let mut pieces = self.sql.split('?');
        out.push_sql(pieces.next().unwrap_or_default());
        for (bind, piece) in self.binds.iter().zip(pieces) {
            match bind {
                Bind::Int(value) => out.push_bind_param::<BigInt, _>(value)?,
                Bind::Text(value) => out.push_bind_param::<Text, _>(value)?,
                Bind::TextOrNull(value) => out.push_bind_param::<Nullable<Text>, _>(value)?,
                #[cfg(feature = "write")]
                Bind::IntOrNull(value) => out.push_bind_param::<Nullable<BigInt>, _>(value)?,
            }
            out.push_sql(piece);
        }
        Ok(())
    }
}

impl<Row> QueryId for Statement<'_, Row> {
    type QueryId = ();
    // The text is the identity: the cache looks prepared statements up by it.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Row> Query for Statement<'_, Row> {
    type SqlType = Row;
}

impl<Row> RunQueryDsl<SqliteConnection> for Statement<'_, Row> {}
