//! Long messages into parts: at a line, then at a word, never inside a link, a character or a code block.

use kanban_notify::message::Span;
use unicode_segmentation::UnicodeSegmentation as _;

/// What a platform counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Code units of UTF-16.
    Utf16,
    /// Code points.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    /// The length of `text` in this unit.
    pub fn len(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// How a platform's messages are measured and cut.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What is counted.
    pub unit: Unit,
    /// The most of it in one part.
    pub part: usize,
    /// The most parts; what does not fit is left out, and the last part says so.
    pub parts: usize,
    /// How our own words are written, as they are counted.
    pub ours: fn(&str) -> String,
    /// How quoted text is written, as it is counted. Both are applied to one character after the other.
    pub quoted: fn(&str) -> String,
}

/// The most parts of a message: who reads ten has read enough.
const PARTS: usize = 10;

impl Format {
    /// Parts of so much in this unit, and how text is written.
    pub fn new(
        unit: Unit,
        part: usize,
        ours: fn(&str) -> String,
        quoted: fn(&str) -> String,
    ) -> Self {
        Self { unit, part, parts: PARTS, ours, quoted }
    }

    /// A text as it is written.
    pub fn written(&self, spans: &[Span]) -> String {
        let written = spans.iter().map(|span| match span {
            Span::Ours(text) => (self.ours)(text),
            Span::Quoted(text) => (self.quoted)(text),
        });
        written.collect()
    }
}

/// What stands before a part that is sent again though it may have arrived (law D7).
pub const REPEAT: &str = "(may be a repeat) ";

/// Splits a text; each part has room for [`REPEAT`]. There is always one part.
pub fn split(spans: &[Span], format: &Format) -> Vec<Vec<Span>> {
    let all = characters(spans, format);
    let whole: usize = all.iter().map(|one| one.cost).sum();
    if whole <= format.part {
        return vec![joined(&all)];
    }
    // What is added is written like all the rest.
    let written = |text: &str| format.unit.len(&(format.ours)(text));
    let mut parts = Vec::new();
    let mut rest = all.as_slice();
    let mut fenced = false;
    while !rest.is_empty() {
        let last = parts.len().saturating_add(1) >= format.parts.max(1);
        let mut room = format.part.saturating_sub(format.unit.len(REPEAT));
        let mut part = Vec::new();
        if fenced {
            part.push(Span::ours(OPEN_FENCE));
            room = room.saturating_sub(written(OPEN_FENCE));
        }
        let left: usize = rest.iter().map(|one| one.cost).sum();
        if left <= room {
            part.extend(joined(rest));
            parts.push(part);
            break;
        }
        let note = |left: usize| format!("\n[{left} characters left out]");
        if last {
            room = room.saturating_sub(written(&note(rest.len())));
        }
        let end = cut(rest, room.saturating_sub(written(CLOSE_FENCE)), fenced);
        let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        part.extend(joined(head));
        fenced = is_fenced(head, fenced);
        if fenced {
            part.push(Span::ours(CLOSE_FENCE));
        }
        if last {
            part.push(Span::Ours(note(tail.len())));
            parts.push(part);
            break;
        }
        parts.push(part);
        // The break itself has become the gap between two messages.
        let blank = tail.iter().take_while(|one| one.is_blank() && !fenced).count();
        rest = tail.get(blank..).unwrap_or_default();
    }
    parts
}

const FENCE: &str = "```";
const OPEN_FENCE: &str = "```\n";
const CLOSE_FENCE: &str = "\n```";

/// One character as people see it.
#[derive(Clone, Copy, Debug)]
struct One<'a> {
    text: &'a str,
    quoted: bool,
    cost: usize,
}

impl One<'_> {
    fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    fn ends_line(&self) -> bool {
        self.text.ends_with('\n')
    }
}

fn characters<'a>(spans: &'a [Span], format: &Format) -> Vec<One<'a>> {
    let mut all = Vec::new();
    for span in spans {
        let (quoted, write) = match span {
            Span::Ours(_) => (false, format.ours),
            Span::Quoted(_) => (true, format.quoted),
        };
        for text in span.text().graphemes(true) {
            all.push(One { text, quoted, cost: format.unit.len(&write(text)) });
        }
    }
    all
}

fn joined(characters: &[One<'_>]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for one in characters {
        match (spans.last_mut(), one.quoted) {
            (Some(Span::Quoted(text)), true) | (Some(Span::Ours(text)), false) => {
                text.push_str(one.text);
            }
            (_, true) => spans.push(Span::quoted(one.text)),
            (_, false) => spans.push(Span::ours(one.text)),
        }
    }
    spans
}

/// How many characters go into a part with so much room; always at least one, or there would be no end.
fn cut(rest: &[One<'_>], room: usize, fenced: bool) -> usize {
    let mut used = 0_usize;
    let fits = rest.iter().take_while(|one| {
        used = used.saturating_add(one.cost);
        used <= room
    });
    let most = fits.count().max(1);
    let window = rest.get(..most).unwrap_or(rest);
    // A code block goes whole into the next part, if it begins in this one.
    if let Some(start) = open_fence(window, fenced).filter(|start| *start > 0) {
        return start;
    }
    let at = |is: fn(&One<'_>) -> bool| window.iter().rposition(is).map(|at| at.saturating_add(1));
    let next = rest.get(most);
    if next.is_none_or(|next| next.ends_line()) {
        return most;
    }
    // A line that ends in the first half is worth less than a full part.
    if let Some(line) = at(|one| one.ends_line()).filter(|at| at.saturating_mul(2) >= most) {
        return line;
    }
    if next.is_some_and(One::is_blank) {
        return most;
    }
    at(|one| one.is_blank()).unwrap_or(most)
}

/// Where the code block begins that is open at the end.
fn open_fence(window: &[One<'_>], fenced: bool) -> Option<usize> {
    let mut open = fenced.then_some(0);
    for start in line_starts(window) {
        if is_fence(window, start) {
            open = if open.is_some() { None } else { Some(start) };
        }
    }
    open
}

fn is_fenced(window: &[One<'_>], fenced: bool) -> bool {
    open_fence(window, fenced).is_some()
}

fn line_starts<'a>(window: &'a [One<'_>]) -> impl Iterator<Item = usize> + 'a {
    let after = window.iter().enumerate().filter(|(_, one)| one.ends_line());
    std::iter::once(0).chain(after.map(|(at, _)| at.saturating_add(1)))
}

fn is_fence(window: &[One<'_>], start: usize) -> bool {
    let three = window.get(start..start.saturating_add(3)).unwrap_or_default();
    three.len() == 3 && three.iter().all(|one| FENCE.starts_with(one.text) && one.text == "`")
}

#[cfg(test)]
mod tests {
    use kanban_notify::{
        event::{Event, Kind},
        facts,
        ids::EventId,
        message::flat,
        text::ping,
        time::Timestamp,
    };
    use proptest::prelude::*;

    use super::*;

    fn format(unit: Unit, part: usize, parts: usize) -> Format {
        Format { unit, part, parts, ours: str::to_owned, quoted: str::to_owned }
    }

    fn texts(text: &str, format: &Format) -> Vec<String> {
        split(&[Span::quoted(text)], format).iter().map(|part| flat(part)).collect()
    }

    #[test]
    fn report_113_what_fits_exactly_is_one_part_in_each_unit() {
        for (unit, text) in [
            (Unit::Utf16, "a\u{1f600}".repeat(20)),
            (Unit::Chars, "日e\u{301}".repeat(20)),
            (Unit::Bytes, "日é".repeat(12)),
        ] {
            let whole = unit.len(&text);
            assert_eq!(unit.len(&text), 60);
            for (room, parts) in [(whole + 1, 1), (whole, 1), (whole - 1, 2)] {
                let found = texts(&text, &format(unit, room, 9));
                assert_eq!(found.len(), parts, "{unit:?} {room}: {found:?}");
                assert!(found.iter().all(|part| unit.len(part) <= room));
                assert_eq!(found.concat(), text);
            }
        }
    }

    #[test]
    fn a_text_is_cut_at_a_line_then_at_a_word_and_a_link_stays_whole() {
        let lines = format!("{}\n{}", "a".repeat(30), "b c ".repeat(10));
        let found = texts(&lines, &format(Unit::Chars, 60, 9));
        assert_eq!(found[0], format!("{}\n", "a".repeat(30)));
        let link = "https://example.org/a/b?c=d";
        let found =
            texts(&format!("{} {link} end", "word ".repeat(5)), &format(Unit::Chars, 50, 9));
        assert!(found.iter().any(|part| part.contains(link)), "{found:?}");
    }

    #[test]
    fn report_95_a_code_block_goes_whole_or_is_closed_and_opened_again() {
        let block = format!("```\n{}\n```", "x\n".repeat(8));
        let text = format!("{}\n{block}\nend", "w ".repeat(15));
        let found = texts(&text, &format(Unit::Chars, 60, 9));
        assert!(found.iter().any(|part| part.contains(block.trim_end())), "{found:?}");
        let long = format!("```\n{}```", "line of code\n".repeat(30));
        let found = texts(&long, &format(Unit::Chars, 100, 9));
        assert!(found.len() > 2);
        for part in &found {
            assert_eq!(part.matches("```").count() % 2, 0, "{found:?}");
        }
    }

    #[test]
    fn report_115_what_is_left_out_is_told() {
        let found = texts(&"word ".repeat(100), &format(Unit::Chars, 60, 2));
        assert_eq!(found.len(), 2);
        assert!(found[1].ends_with("characters left out]"), "{found:?}");
        assert!(found.iter().all(|part| part.chars().count() <= 60));
    }

    #[test]
    fn report_105_no_limit_ends_in_a_panic() {
        for text in
            ["д".repeat(3_720), "\u{1f600}".repeat(60), "\u{301}\u{301}".into(), String::new()]
        {
            for unit in [Unit::Utf16, Unit::Chars, Unit::Bytes] {
                for part in 0..=5 {
                    assert!(!texts(&text, &format(unit, part, 3)).is_empty());
                }
            }
        }
    }

    #[test]
    fn what_escaping_adds_counts() {
        fn doubled(text: &str) -> String {
            text.replace('*', "\\*")
        }
        let format = Format { quoted: doubled, ..format(Unit::Chars, 40, 9) };
        let parts = split(&[Span::quoted("*".repeat(50)), Span::ours("*".repeat(10))], &format);
        for part in &parts {
            assert!(format.written(part).chars().count() <= 40);
        }
        assert_eq!(parts.iter().map(|part| flat(part)).collect::<String>().len(), 60);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_blanks_and_no_character_is_cut(
            text in "(\\PC|[ \\n]){0,300}",
            part in 60_usize..120,
        ) {
            // Fences are added to what is cut inside of them.
            let text = text.replace('`', "'");
            for unit in [Unit::Utf16, Unit::Chars, Unit::Bytes] {
                // A cluster may be longer than any part.
                prop_assume!(text.graphemes(true).all(|one| one.len() < 20));
                let found = texts(&text, &format(unit, part, 1_000));
                prop_assert!(found.iter().all(|one| unit.len(one) <= part));
                let words = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(words(&found.concat()), words(&text));
            }
        }
    }

    #[test]
    fn d7_a_repeat_says_so_in_its_first_part_whatever_is_cut_off() {
        let event = Event {
            id: EventId(1),
            task: "t_00000001".into(),
            kind: Kind::Completed,
            payload: Some(format!("{{\"summary\": \"{}\"}}", "word ".repeat(70))),
            payload_cut: None,
            run: None,
            created_at: Timestamp::from_secs(1_800_000_000),
        };
        let facts = facts::facts(&event, None);
        for room in [160, 40] {
            let format = format(Unit::Chars, room, 10);
            let parts = split(&ping::marked(ping::body(&facts, "default"), true, false), &format);
            assert!(parts.len() > 1);
            assert!(flat(&parts[0]).starts_with(REPEAT), "{parts:?}");
        }
    }
}
