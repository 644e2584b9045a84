//! Cells of a board, of any type and content.

use arbitrary::Arbitrary;

use crate::one_of;

/// One value.
#[derive(Arbitrary, Debug)]
pub enum Cell<'a> {
    /// SQL NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text, perhaps not UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
    /// A long text.
    Long(u32),
    /// A word that other rows have too.
    Known(u8),
}

impl Cell<'_> {
    /// The value as SQL.
    pub fn sql(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Int(number) => number.to_string(),
            Self::Real(number) if number.is_finite() => format!("{number:e}"),
            Self::Real(_) => "-9e999".to_owned(),
            Self::Text(bytes) => format!("CAST(x'{}' AS TEXT)", hex(bytes)),
            Self::Blob(bytes) => format!("x'{}'", hex(bytes)),
            Self::Long(size) => format!("printf('%.*c', {}, 'x')", size % 300_000),
            Self::Known(number) => format!("'{}'", one_of(&KNOWN, *number)),
        }
    }
}

const KNOWN: [&str; 4] = ["t_1", "completed", "api_server", "status"];
