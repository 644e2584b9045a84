//! JSON with a blank after commas and colons, as it is on every board.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};

/// `value` as one line of JSON; non-ASCII characters stay as they are.
pub(super) fn line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced));
    debug_assert!(written.is_ok(), "payloads are plain structs of plain values");
    String::from_utf8(bytes).unwrap_or_default()
}

/// The same in ASCII alone, as Hermes writes lists of skills.
pub(super) fn ascii_line(value: &impl Serialize) -> String {
    let mut ascii = String::new();
    // Outside strings everything is ASCII anyway.
    for c in line(value).chars() {
        if matches!(c, '\0'..='~') {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// A fraction as Python spells it: like Rust, but with a sign and two digits in the exponent.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(number(value).as_bytes())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_written_in_ascii() {
        assert_eq!(ascii_line(&["é\u{7f}", "𝄞\"\n"]), r#"["\u00e9\u007f", "\ud834\udd1e\"\n"]"#);
        assert_eq!(ascii_line(&[""; 0]), "[]");
    }

    #[test]
    fn fractions_are_spelled_as_python_spells_them() {
        let fractions = [1.0, 0.0001, 1e-5, 2.5e-7, 1e15, 1e16, 1.5e300, -0.0, 0.1];
        let spelled =
            "[1.0, 0.0001, 1e-05, 2.5e-07, 1000000000000000.0, 1e+16, 1.5e+300, -0.0, 0.1]";
        assert_eq!(line(&fractions), spelled);
    }
}
