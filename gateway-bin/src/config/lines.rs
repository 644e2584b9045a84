//! Where in a file its keys stand.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::keys::{find, is_level};

/// The line of each key of a valid file, by dotted name; those of a list of tables as `list[0].key`.
pub(super) fn lines(text: &str) -> BTreeMap<String, usize> {
    fn walk(text: &str, level: &str, table: &DeTable<'_>, lines: &mut BTreeMap<String, usize>) {
        for (key, value) in table {
            let name = below(level, key.get_ref());
            if let Some(inner) = value.get_ref().as_table() {
                walk(text, &name, inner, lines);
            }
            for (index, item) in value.get_ref().as_array().into_iter().flatten().enumerate() {
                if let Some(inner) = item.get_ref().as_table() {
                    let name = format!("{name}[{index}]");
                    walk(text, &name, inner, lines);
                    lines.insert(name, line_of(text, item.span().start));
                }
            }
            lines.insert(name, line_of(text, key.span().start));
        }
    }
    let mut lines = BTreeMap::new();
    if let Ok(table) = DeTable::parse(text) {
        walk(text, "", table.get_ref(), &mut lines);
    }
    lines
}

/// The line, counted from 1, that holds the byte at `offset`.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// What to say of a table or key at `offset` that stood before already; `None` where it is something else,
/// or none of ours: what is not known may be a secret.
pub(super) fn twice(text: &str, offset: usize) -> Option<String> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let before = text.get(..start)?;
    let line = text.get(start..)?.lines().next()?;
    let name = match header(line) {
        Some(table) => table.to_owned(),
        None => {
            let level = before.lines().rev().find_map(header).unwrap_or_default();
            below(level, line.split_once('=')?.0.trim())
        }
    };
    let first = *lines(before).get(&name)?;
    if find(&name).is_none() && !is_level(&name) {
        return None;
    }
    let rest = if header(line).is_some() {
        "put everything below one of the two"
    } else {
        "take one of the two out"
    };
    Some(format!("`{name}` stands in line {first} already; {rest}"))
}

/// The name of the table that begins in a line.
fn header(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix('[')?.split_once(']')?.0;
    (!name.starts_with('[')).then(|| name.trim())
}

fn below(level: &str, name: &str) -> String {
    if level.is_empty() { name.to_owned() } else { format!("{level}.{name}") }
}
