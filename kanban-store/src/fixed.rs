//! SQL text that is fixed with the program, with typed rows through Diesel.
//!
//! Diesel prepares `sql_query` anew for each use, and looks a built query up by its text; of a fixed one the
//! type alone says which prepared statement it is.

use std::marker::PhantomData;

use diesel::{
    QueryResult, RunQueryDsl,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sqlite::{Sqlite, SqliteConnection},
};

pub(crate) use crate::binds::Bind;
use crate::binds::walk;

/// SQL text that never changes.
pub(crate) trait Fixed: 'static {
    /// The text, with `?` for each of its [`MOST`] values at most.
    const SQL: &'static str;
    /// The text between its parameters. Diesel walks through it several times for each use.
    const PIECES: [&'static str; MOST + 1] = pieces(Self::SQL);
}

/// The values that a [`Fixed`] text may have.
pub(crate) const MOST: usize = 20;

/// A [`Fixed`] text with its values.
#[derive(Debug)]
pub(crate) struct FixedStatement<'a, F, Row> {
    binds: &'a [Bind<'a>],
    kind: PhantomData<(F, Row)>,
}

/// Runs fixed text that answers with a number of changed rows.
pub(crate) fn run<F: Fixed>(
    connection: &mut SqliteConnection,
    binds: &[Bind<'_>],
) -> QueryResult<usize> {
    fixed::<F, ()>(binds).execute(connection)
}

/// Fixed text that answers with rows of the SQL type `Row`.
pub(crate) fn fixed<'a, F: Fixed, Row>(binds: &'a [Bind<'a>]) -> FixedStatement<'a, F, Row> {
    FixedStatement { binds, kind: PhantomData }
}

impl<F: Fixed, Row> QueryFragment<Sqlite> for FixedStatement<'_, F, Row> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        walk(const { &F::PIECES }.iter().copied(), self.binds, out)
    }
}

impl<F: Fixed, Row> QueryId for FixedStatement<'_, F, Row> {
    type QueryId = F;
}

impl<F, Row> Query for FixedStatement<'_, F, Row> {
    type SqlType = Row;
}

impl<F, Row> RunQueryDsl<SqliteConnection> for FixedStatement<'_, F, Row> {}

/// Cuts a text at its parameters. One with more than [`MOST`] of them does not compile.
#[expect(clippy::panic, reason = "it runs when the program is compiled")]
const fn pieces(sql: &'static str) -> [&'static str; MOST + 1] {
    let mut pieces = [""; MOST + 1];
    let mut places: &mut [&'static str] = &mut pieces;
    let (mut left, mut length) = (sql, 0);
    loop {
        let (piece, rest) = left.split_at(length);
        let parameter = matches!(rest.as_bytes().first(), Some(b'?'));
        if parameter || rest.is_empty() {
            let Some((place, others)) = places.split_first_mut() else {
                panic!("too many parameters");
            };
            *place = piece;
            places = others;
            if rest.is_empty() {
                return pieces;
            }
            (_, left) = rest.split_at(1);
            length = 0;
        } else {
            length += 1;
        }
    }
}
