//! Tables for people: as wide as their content, and never wider than the terminal.

use std::{borrow::Cow, io::IsTerminal as _};

use ratatui::{
    crossterm::{
        style::{Color, Stylize as _},
        terminal,
    },
    text::Span,
};

use super::output;

/// No column is cut to less than this: an id stays whole.
const NARROWEST: usize = 10;

/// Prints rows in columns. On a terminal they fit its width, and states have a colour.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        say!("None.");
        return;
    }
    let stdout = std::io::stdout().is_terminal();
    let width = if stdout { terminal::size().ok().map(|(width, _)| width.into()) } else { None };
    let colour = stdout && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // In one piece: a write for each of 100 000 lines takes longer than all the rest.
    let _ = output::as_it_is(&lines(head, rows, width, colour).join("\n"));
}

fn lines(
    head: &[&str],
    mut rows: Vec<Vec<String>>,
    width: Option<usize>,
    colour: bool,
) -> Vec<String> {
    let mut head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for cell in rows.iter_mut().flatten().filter(|cell| cell.contains(crate::ops::is_wild)) {
        *cell = shown(cell);
    }
    let mut widths: Vec<usize> = head.iter().map(|cell| wide(cell)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wide(cell));
        }
    }
    if let Some(room) = width {
        // The first column names the row, the last one says what it is about: those between go first.
        while widths.len() > 2 && least(&widths) > room {
            let at = widths.len().saturating_sub(2);
            widths.remove(at);
            head.remove(at);
            rows.iter_mut().filter(|row| row.len() > at).for_each(|row| drop(row.remove(at)));
        }
        fit(&mut widths, room);
    }
    let mut lines = vec![line(&head, &widths, colour, |text| text.bold().to_string())];
    lines.extend(rows.into_iter().map(|row| line(&row, &widths, colour, |text| painted(&text))));
    lines
}

/// The least room that these columns need.
fn least(widths: &[usize]) -> usize {
    let gaps = widths.len().saturating_sub(1).saturating_mul(2);
    widths.iter().map(|width| (*width).min(NARROWEST)).sum::<usize>().saturating_add(gaps)
}

/// Takes room from the widest column until the line fits.
fn fit(widths: &mut [usize], room: usize) {
    let gaps = widths.len().saturating_sub(1).saturating_mul(2);
    let mut over = widths.iter().sum::<usize>().saturating_add(gaps).saturating_sub(room);
    while over > 0 {
        let Some(widest) = widths.iter_mut().max() else { return };
        if *widest <= NARROWEST {
            return;
        }
        *widest = widest.saturating_sub(1);
        over = over.saturating_sub(1);
    }
}

fn line(
    cells: &[String],
    widths: &[usize],
    colour: bool,
    paint: impl Fn(String) -> String,
) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cut(cell, *width);
        let last = at.saturating_add(1) == cells.len();
        let blank = if last { 0 } else { width.saturating_sub(wide(&cell)).saturating_add(2) };
        if colour {
            line.push_str(&paint(cell.into_owned()));
        } else {
            line.push_str(&cell);
        }
        line.extend(std::iter::repeat_n(' ', blank));
    }
    line.truncate(line.trim_end().len());
    line
}

/// `text` in at most `width` columns, with an ellipsis where something is missing.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if wide(text) <= width {
        return text.into();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if wide(&kept) >= width {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept.into()
}

/// Columns that `text` takes on a terminal.
fn wide(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Span::raw(text).width() }
}

/// A state in the colour of what it means; anything else as it is.
fn painted(text: &str) -> String {
    let colour = match text {
        "done" | "delivered" | "completed" | "present" => Color::Green,
        "blocked" | "parked" | "crashed" | "gave_up" | "timed_out" => Color::Red,
        "running" | "review" | "retrying" | "unknown" | "intended" | "triage" => Color::Yellow,
        "archived" | "expired" | "cancelled" | "taken" => Color::DarkGrey,
        _ => return text.to_owned(),
    };
    text.with(colour).to_string()
}

/// A cell as one line: what a board holds must not move the cursor of a terminal.
pub(super) fn shown(cell: &str) -> String {
    cell.chars().map(|c| if crate::ops::is_wild(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            row(["t_1", "done", "Build the report that everybody is waiting for"]),
            row(["t_22", "ready", "日本語の長いタイトルです\u{1b}[31m"]),
        ]
    }

    #[test]
    fn a_table_is_as_wide_as_its_content_where_there_is_no_terminal() {
        let lines = lines(&["ID", "STATUS", "TITLE"], rows(), None, false);
        assert_eq!(lines[1], "t_1   done    Build the report that everybody is waiting for");
        assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
    }

    #[test]
    fn a_table_fits_the_terminal_and_says_where_something_is_missing() {
        for room in [24, 30, 40, 60] {
            let lines = lines(&["ID", "STATUS", "TITLE"], rows(), Some(room), false);
            assert!(lines.iter().all(|line| wide(line) <= room), "{room}: {lines:#?}");
            assert!(room > 50 || lines[1].ends_with('…'));
        }
        // There is a point from which on nothing could be read.
        assert!(!lines(&["ID", "STATUS", "TITLE"], rows(), Some(3), false).is_empty());
    }

    #[test]
    fn states_have_a_colour_and_alignment_stays() {
        let plain = lines(&["ID", "STATUS", "TITLE"], rows(), None, false);
        let painted = lines(&["ID", "STATUS", "TITLE"], rows(), None, true);
        assert!(painted[1].contains("\u{1b}["));
        let bare = painted[1].split('\u{1b}').map(|part| {
            part.split_once('m').map_or(
                part,
                |(code, rest)| {
                    if code.starts_with('[') { rest } else { part }
                },
            )
        });
        assert_eq!(bare.collect::<String>(), plain[1]);
    }
}
