//! SQL text with typed rows through Diesel, prepared once and cached.
//!
//! Diesel prepares `sql_query` anew for each use, and every `UPDATE` of its query builder; this fragment
//! lets the connection keep the prepared statement.

use std::marker::PhantomData;

use diesel::{
    QueryResult, RunQueryDsl,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sqlite::{Sqlite, SqliteConnection},
};

pub(crate) use crate::binds::Bind;
use crate::binds::walk;

/// SQL text with its values; `Row` is the SQL type of its rows. Each `?` is a parameter.
#[derive(Debug)]
pub(crate) struct Statement<'a, Row> {
    sql: &'a str,
    binds: &'a [Bind<'a>],
    row: PhantomData<Row>,
}

/// SQL text that answers with rows of the SQL type `Row`.
pub(crate) fn query<'a, Row>(sql: &'a str, binds: &'a [Bind<'a>]) -> Statement<'a, Row> {
    Statement { sql, binds, row: PhantomData }
}

/// Runs SQL text that answers with a number of changed rows.
pub(crate) fn execute(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<usize> {
    query::<()>(sql, binds).execute(connection)
}

impl<Row> QueryFragment<Sqlite> for Statement<'_, Row> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        walk(self.sql.split('?'), self.binds, out)
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
