//! Telling the values in a rendered text from the operator's words, by marks that no value can hold.

use kanban_notify::message::Span;
use minijinja::{Error, Output, State, Value};

/// Before and after a value. Neither a task's text nor a template has characters of control.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// What begins a mention.
const SIGNS: [char; 2] = ['@', '\u{ff20}'];

/// Writes a value between marks. What it holds of them itself is left out: nothing ends it but its end.
pub(super) fn mark(
    out: &mut Output<'_>,
    _: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let [open, close] = MARKS;
    let text = value.to_string().replace(MARKS, "");
    write!(out, "{open}{text}{close}").map_err(Error::from)
}

/// The spans of a rendered text.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let [open, _] = MARKS;
    let mut spans = Vec::new();
    let mut quoted = false;
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.find(MARKS).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        push(&mut spans, piece, quoted);
        let mut behind = behind.chars();
        quoted = behind.next() == Some(open);
        rest = behind.as_str();
    }
    trim(&mut spans);
    spans
}

/// A text begins and ends with what can be seen: a value that is empty may stand before or behind.
fn trim(spans: &mut Vec<Span>) {
    let is_blank = |span: &Span| span.text().trim().is_empty();
    while spans.last().is_some_and(is_blank) {
        spans.pop();
    }
    let blank = spans.iter().take_while(|span| is_blank(span)).count();
    spans.drain(..blank);
    let words = |span: &mut Span, trimmed: fn(&str) -> &str| {
        let (Span::Ours(text) | Span::Quoted(text)) = span;
        *text = trimmed(text).to_owned();
    };
    spans.first_mut().into_iter().for_each(|span| words(span, str::trim_start));
    spans.last_mut().into_iter().for_each(|span| words(span, str::trim_end));
}

fn push(spans: &mut Vec<Span>, piece: &str, quoted: bool) {
    if piece.is_empty() {
        return;
    }
    if !quoted {
        spans.push(Span::ours(piece));
        return;
    }
    // A sign right before a value goes with it: together they may be a mention, which is for the channel
    // to disarm.
    let sign = match spans.last_mut() {
        Some(Span::Ours(before)) if before.ends_with(SIGNS) => before.pop(),
        _ => None,
    };
    if spans.last().is_some_and(|span| span.text().is_empty()) {
        spans.pop();
    }
    spans.push(Span::quoted(sign.into_iter().chain(piece.chars()).collect::<String>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_marks_is_quoted() {
        let (ours, quoted) = (|text: &str| Span::ours(text), |text: &str| Span::quoted(text));
        assert_eq!(spans("a \u{2}b\u{3}\nc"), [ours("a "), quoted("b"), ours("\nc")]);
        assert_eq!(spans("\u{2}b\u{3}"), [quoted("b")]);
        assert_eq!(spans(""), []);
        assert_eq!(spans("x\u{2}\u{3}y"), [ours("x"), ours("y")]);
        // Marks of a template's own: what is in doubt is quoted, and a value is so in any case.
        assert_eq!(
            spans("\u{3}a\u{2}b\u{2}c\u{3}\u{3}d"),
            [ours("a"), quoted("b"), quoted("c"), ours("d")]
        );
        assert_eq!(spans("a\u{2}b"), [ours("a"), quoted("b")]);
    }

    #[test]
    fn report_77_a_sign_before_a_value_goes_with_it() {
        let (ours, quoted) = (|text: &str| Span::ours(text), |text: &str| Span::quoted(text));
        assert_eq!(spans("for @\u{2}all\u{3}"), [ours("for "), quoted("@all")]);
        assert_eq!(spans("@\u{2}all\u{3}"), [quoted("@all")]);
        assert_eq!(spans("@\u{2}\u{3} x"), [ours("@"), ours(" x")]);
    }

    #[test]
    fn report_47_a_text_begins_and_ends_with_what_can_be_seen() {
        let (ours, quoted) = (|text: &str| Span::ours(text), |text: &str| Span::quoted(text));
        for blank in ["\u{2}\u{3} \u{2}\u{3}", "\u{2}\u{3}\n", " \u{2} \u{3}", "\n\n"] {
            assert_eq!(spans(blank), [], "{blank:?}");
        }
        assert_eq!(spans("\u{2}\u{3}\n\u{2} a\u{3} b \u{2}\u{3}\n"), [quoted("a"), ours(" b")]);
    }
}
