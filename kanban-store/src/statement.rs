//! SQL text with typed rows through Diesel, prepared once and cached.
//!
//! Diesel prepares `sql_query` anew for each use, and every `UPDATE` of its query builder; this fragment
//! lets the connection keep the prepared statement.

use std::marker::PhantomData;

use diesel::{
    QueryResult, RunQueryDsl,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sql_types::{BigInt, Nullable, Text},
    sqlite::{Sqlite, SqliteConnection},
};

/// A value for a `?`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bind<'a> {
    Int(i64),
    Text(&'a str),
    TextOrNull(Option<&'a str>),
    #[cfg(any(feature = "write", feature = "ledger"))]
    IntOrNull(Option<i64>),
}

/// SQL text that never changes: its type tells the connection which prepared statement it is, without a
/// look at the text.
#[cfg(feature = "ledger")]
pub(crate) trait Fixed: 'static {
    const SQL: &'static str;
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
#[cfg(feature = "board")]
pub(crate) fn execute(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<usize> {
    query::<()>(sql, binds).execute(connection)
}

impl<Row> QueryFragment<Sqlite> for Statement<'_, Row> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let mut pieces = self.sql.split('?');
        out.push_sql(pieces.next().unwrap_or_default());
        for (bind, piece) in self.binds.iter().zip(pieces) {
            match bind {
                Bind::Int(value) => out.push_bind_param::<BigInt, _>(value)?,
                Bind::Text(value) => out.push_bind_param::<Text, _>(value)?,
                Bind::TextOrNull(value) => out.push_bind_param::<Nullable<Text>, _>(value)?,
                #[cfg(any(feature = "write", feature = "ledger"))]
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

/// A [`Fixed`] text with its values.
#[cfg(feature = "ledger")]
#[derive(Debug)]
pub(crate) struct FixedStatement<'a, F, Row> {
    fixed: PhantomData<F>,
    statement: Statement<'a, Row>,
}

/// Runs fixed text that answers with a number of changed rows.
#[cfg(feature = "ledger")]
pub(crate) fn run<F: Fixed>(
    connection: &mut SqliteConnection,
    binds: &[Bind<'_>],
) -> QueryResult<usize> {
    fixed::<F, ()>(binds).execute(connection)
}

/// Fixed text that answers with rows of the SQL type `Row`.
#[cfg(feature = "ledger")]
pub(crate) fn fixed<'a, F: Fixed, Row>(binds: &[Bind<'a>]) -> FixedStatement<'a, F, Row> {
    FixedStatement { fixed: PhantomData, statement: query(F::SQL, binds) }
}

#[cfg(feature = "ledger")]
impl<F, Row> QueryFragment<Sqlite> for FixedStatement<'_, F, Row> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.statement.walk_ast(out)
    }
}

#[cfg(feature = "ledger")]
impl<F: Fixed, Row> QueryId for FixedStatement<'_, F, Row> {
    type QueryId = F;
}

#[cfg(feature = "ledger")]
impl<F, Row> Query for FixedStatement<'_, F, Row> {
    type SqlType = Row;
}

#[cfg(feature = "ledger")]
impl<F, Row> RunQueryDsl<SqliteConnection> for FixedStatement<'_, F, Row> {}
