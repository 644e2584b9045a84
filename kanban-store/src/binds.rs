//! Values for the parameters of SQL text.

use diesel::{
    QueryResult,
    query_builder::AstPass,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
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

/// Pushes the pieces of a text with the values between them.
pub(crate) fn walk<'b>(
    mut pieces: impl Iterator<Item = &'b str>,
    binds: &'b [Bind<'_>],
    mut out: AstPass<'_, 'b, Sqlite>,
) -> QueryResult<()> {
    out.push_sql(pieces.next().unwrap_or_default());
    for (bind, piece) in binds.iter().zip(pieces) {
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
