//! What is wrong with a template, found before it is used: by reading it, and by trying it.

use std::collections::BTreeSet;

use kanban_notify::{
    event::Kind,
    facts::{HANDOFF_CHARS, NAME_CHARS, TITLE_CHARS},
    ids::EventId,
    record::Facts,
    text::{clean::one_line, fields::fields},
    time::Timestamp,
};
use minijinja::Error;

use super::{MAX_SOURCE, Place, bounds, render};
use crate::AdapterError;

/// The engine's words may repeat what a field holds.
const DETAIL: usize = 200;

/// Whether a template can be used: that it can be read, that there is every variable it names, and that it
/// makes a text of the largest and of the smallest event that it is for.
///
/// # Errors
///
/// [`AdapterError::Template`], with the line.
pub fn check(place: &Place, source: &str) -> Result<(), AdapterError> {
    let wrong = |line, what| at_line(place, line, what);
    if source.len() > MAX_SOURCE {
        let reason = format!("is {} bytes long; {MAX_SOURCE} are the most", source.len());
        return Err(AdapterError::Template { place: place.to_string(), reason });
    }
    let source = &source.replace("\r\n", "\n");
    let is_wild = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if let Some(at) = source.find(is_wild) {
        return Err(wrong(line_at(source, at), "a character of control stands there".to_owned()));
    }
    bounds::with_room(|| tried(place, source)).unwrap_or_else(|error| Err(refused(place, &error)))
}

fn tried(place: &Place, source: &str) -> Result<(), AdapterError> {
    let wrong = |line, what| at_line(place, line, what);
    let mut environment = bounds::environment();
    let name = place.to_string();
    let added = environment.add_template_owned(name.clone(), source.to_owned());
    added.map_err(|error| refused(place, &error))?;
    let kinds = Kind::READ.map(|(kind, _)| kind).into_iter().filter(|kind| kind.pings());
    let kinds: Vec<Kind> = place.kind.map_or_else(|| kinds.collect(), |kind| vec![kind]);

    let template = environment.get_template(&name).map_err(|error| refused(place, &error))?;
    let known = fields(&smallest(Kind::Completed), "");
    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let globals: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let unknown = template.undeclared_variables(false).into_iter();
    let mut unknown = unknown
        .filter(|name| !known.contains(&name.as_str()) && !globals.contains(name.as_str()))
        .map(|name| (line_of(source, &name), name))
        .collect::<Vec<_>>();
    unknown.sort();
    if let Some((line, name)) = unknown.first() {
        let what = format!("there is no variable `{name}`; there are {}", known.join(", "));
        return Err(wrong(*line, what));
    }
    if let Some(line) = bounds::list(&template) {
        let what = "a list or map is made there of more than constants, or by `for … if`";
        return Err(wrong(line, what.to_owned()));
    }
    for kind in kinds {
        for facts in [largest(kind), smallest(kind)] {
            let board = "b".repeat(NAME_CHARS);
            render(&environment, &name, &facts, &board).map_err(|error| refused(place, &error))?;
        }
    }
    Ok(())
}

fn at_line(place: &Place, line: usize, what: String) -> AdapterError {
    AdapterError::Template { place: place.to_string(), reason: format!("line {line}: {what}") }
}

/// What the engine says of a template.
pub(super) fn refused(place: &Place, error: &Error) -> AdapterError {
    let line = error.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {}", one_line(detail, DETAIL)));
    let detail = detail.unwrap_or_default();
    AdapterError::Template {
        place: place.to_string(),
        reason: format!("{line}{}{detail}", error.kind()),
    }
}

/// The line, from 1, of the first block that names a variable.
fn line_of(source: &str, name: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = source.match_indices(name).find(|(at, _)| {
        let (before, behind) = source.split_at_checked(*at).unwrap_or((source, ""));
        let behind = behind.get(name.len()..).unwrap_or_default();
        let last = |marks: [&str; 2]| marks.into_iter().filter_map(|m| before.rfind(m)).max();
        !before.ends_with(is_part)
            && !behind.starts_with(is_part)
            && last(["{{", "{%"]) > last(["}}", "%}"])
    });
    line_at(source, found.map_or(0, |(at, _)| at))
}

fn line_at(source: &str, at: usize) -> usize {
    1 + source.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// An event of which there is as much to tell as there can be.
fn largest(kind: Kind) -> Facts {
    let text = |chars: usize| "\u{1f5d2}".repeat(chars);
    let name = |note: &str| (note.to_owned(), text(NAME_CHARS));
    let number = |note: &str| (note.to_owned(), i64::MAX.to_string());
    Facts {
        title: text(TITLE_CHARS),
        assignee: Some(text(NAME_CHARS)),
        handoff: Some(text(HANDOFF_CHARS)),
        notes: ["reviewer", "implementer", "status", "block_kind", "budget"]
            .map(name)
            .into_iter()
            .chain(["recurrences", "failures", "limit_seconds", "payload_bytes"].map(number))
            .collect(),
        ..smallest(kind)
    }
}

/// An event of which there is nothing to tell but that it happened.
fn smallest(kind: Kind) -> Facts {
    Facts {
        event: EventId(1),
        kind,
        task: "t_00000001".to_owned(),
        title: String::new(),
        assignee: None,
        handoff: None,
        session: None,
        notes: Vec::new(),
        at: Timestamp::default(),
        print: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::MAX_TEXT;

    fn of(source: &str) -> Result<(), String> {
        let place = Place { platform: None, kind: Some(Kind::Completed) };
        check(&place, source).map_err(|error| error.to_string())
    }

    #[test]
    fn what_can_be_used_is_good() {
        for source in [
            "{{ title }}\n{{ line }}",
            "{% if summary %}\n{{ label }}: {{ summary | upper }}\n{% endif %}\n{{ task }}",
            "{% set who = assignee or \"nobody\" %}{{ who }}{% for n in range(3) %}.{% endfor %}",
            "plain text { } %\r\nand more",
            "{% if kind in ['completed', 'blocked'] %}{{ summary | split(',') | first }}{% endif %}",
            "",
        ] {
            assert_eq!(of(source), Ok(()), "{source}");
        }
    }

    #[test]
    fn what_cannot_is_refused_with_its_line() {
        for (source, told) in [
            (
                "{{ title }}\n{{ titel }} titel",
                "`templates.completed` line 2: there is no variable `titel`; there are title, line",
            ),
            ("titel\n\n{% if failures %}{{ x }}{% endif %}", "line 3: there is no variable `x`"),
            ("{{ title }}\n{% if %}", "line 2: syntax error"),
            ("{{ title", "line 1: syntax error"),
            ("a\n{{ title | shout }}", "line 2: unknown filter"),
            ("{{ title.text }}", "line 1: undefined value"),
            ("{{ title[2000] }}", "line 1: undefined value"),
            ("a\u{1b}[31m", "line 1: a character of control"),
            ("a\n\rBcc: b", "line 2: a character of control"),
            ("a\n{% for n in range(9) if n %}{{ n }}{% endfor %}", "line 2: a list or map is made"),
            ("{{ debug() }}", "line 1: there is no variable `debug`"),
            ("{% include '/etc/passwd' %}", "line 1: syntax error"),
            ("{% extends 'x' %}", "line 1: syntax error"),
            ("{% import 'x' as y %}", "line 1: syntax error"),
            ("{{ env('HOME') }}", "line 1: there is no variable `env`"),
        ] {
            let refused = of(source).unwrap_err();
            assert!(refused.contains(told), "{source}: {refused}");
        }
    }

    #[test]
    fn what_costs_or_grows_too_much_is_refused() {
        let doubling = "{% set x = title %}".to_owned() + &"{% set x = x ~ x %}".repeat(60);
        for source in [
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "{{ 'x' * 10000000 }}",
            "{% for n in range(20) %}{{ 'x' * 1000 }}{% endfor %}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            "{% set ns = namespace(x='xxxxxxxx') %}{% for n in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "{% set x = title %}{% for n in range(9) %}{{ [x, x] }}{% endfor %}",
            "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
            "{% set x = [1] | batch(2, 'x') %}{% set x = x | zip(x) %}{{ x }}",
            "{% set x = ['x'] | chain(['y']) %}{{ x }}",
            "{{ title | replace('', title) | replace('', title) | replace('', title) }}",
            doubling.as_str(),
            &"x".repeat(MAX_SOURCE + 1),
        ] {
            let head = source.get(..40).unwrap_or(source);
            assert!(of(source).is_err(), "{head}");
        }
        assert_eq!(of(&"x".repeat(MAX_SOURCE)), Ok(()));
        const { assert!(MAX_SOURCE < MAX_TEXT) };
    }

    #[test]
    fn a_list_of_lists_would_cost_more_than_its_steps_and_is_refused() {
        for (list, use_of_it) in [
            ("[x, x]", "{{ x }}"),
            ("(x, x)", "{{ x ~ 'a' }}"),
            ("{'a': x, 'b': x}", "{{ x == x }}"),
            ("[x, x]", "{{ x | join }}"),
        ] {
            let source =
                "{% set x = title %}\n".to_owned() + &format!("{{% set x = {list} %}}").repeat(40);
            let refused = of(&(source + use_of_it)).unwrap_err();
            assert!(refused.contains("line 2: a list or map"), "{list}: {refused}");
        }
    }

    #[test]
    fn the_deepest_template_is_read_or_refused_and_ends_nothing() {
        for part in ["not ", "-", "1~", "1**", "1 if ", "1 and ", "[", "(", "{1:", "{% if 1 %}"] {
            for behind in ["", "1 }}"] {
                let source =
                    "{{ ".to_owned() + &part.repeat((MAX_SOURCE - 8) / part.len()) + behind;
                // Which of both it is, is the engine's matter.
                let _ = of(&source);
            }
        }
        for part in ["|e", ".a", "[0]", "()", " if 1", " is odd", "%}{% elif 1 "] {
            let source =
                "{{ title".to_owned() + &part.repeat((MAX_SOURCE - 16) / part.len()) + " }}";
            let _ = of(&source);
        }
        let least = "{{ title[9223372036854775807:-9223372036854775808:-9223372036854775808] }}";
        let _ = of(least);
        assert_eq!(of("{{ title }}"), Ok(()));
    }
}
