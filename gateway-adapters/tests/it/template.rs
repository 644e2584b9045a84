//! Templates at work: whatever a task holds is data, and what fails or grows too much is left to our words.

use std::collections::BTreeMap;

use gateway_adapters::template::{Place, Templates};
use kanban_notify::{
    event::{Event, Kind, Task},
    facts::facts,
    ids::{ChannelName, EventId},
    message::{Span, flat},
    ports::Wording as _,
    record::Facts,
    text::fields::fields,
    time::Timestamp,
};

fn place(platform: &str, kind: Option<Kind>) -> Place {
    let platform = (!platform.is_empty()).then(|| platform.to_owned());
    Place { platform, kind }
}

fn templates(sources: &[(&str, Option<Kind>, &str)]) -> Templates {
    let sources = sources.iter().map(|(at, kind, source)| (place(at, *kind), (*source).to_owned()));
    Templates::new(&BTreeMap::from_iter(sources)).unwrap()
}

/// What is told on a platform of the completion of a task with this title.
fn told(templates: &Templates, platform: &str, title: &str) -> Option<Vec<Span>> {
    templates.ping(&ChannelName(platform.into()), &completed(title), "ops")
}

fn completed(title: &str) -> Facts {
    let event = Event {
        id: EventId(7),
        task: "t_0a1b2c3d".into(),
        kind: Kind::Completed,
        payload: Some(r#"{"summary": "14 pages"}"#.into()),
        payload_cut: None,
        run: None,
        created_at: Timestamp::from_secs(1_796_042_476),
    };
    let task = Task { title: title.into(), assignee: Some("writer".into()), ..Task::default() };
    facts(&event, Some(&task))
}

#[test]
fn report_47_the_title_comes_first_and_an_id_only_where_the_template_asks() {
    let told = |source| told(&templates(&[("", None, source)]), "telegram", "Build the report");
    let short = told("{{ title }}\n{{ line }}").unwrap();
    assert_eq!(short[0], Span::quoted("Build the report"));
    assert_eq!(flat(&short), "Build the report\nwas completed.");
    assert_eq!(told("{{ title }}\r\n{{ line }}\r\n"), Some(short));
    let long = told(
        "{{ title }} {{ line }}\n{% if summary %}\n{{ label }}: {{ summary }}\n{% endif %}\n\
         {{ kind }} {{ event }} of {{ task }} on {{ board }} by @{{ assignee }}, {{ at }}\n",
    );
    assert_eq!(
        flat(&long.unwrap()),
        "Build the report was completed.\nSummary: 14 pages\ncompleted 7 of t_0a1b2c3d on ops by @writer, \
         2026-11-30T12:41:16Z"
    );
}

#[test]
fn the_nearest_template_words_a_message() {
    let all = templates(&[
        ("", None, "all"),
        ("", Some(Kind::Completed), "all completed"),
        ("telegram", None, "telegram"),
        ("slack", Some(Kind::Completed), "slack completed"),
        ("slack", Some(Kind::Blocked), "slack blocked"),
    ]);
    for (platform, words) in
        [("telegram", "telegram"), ("slack", "slack completed"), ("ntfy", "all completed")]
    {
        assert_eq!(flat(&told(&all, platform, "x").unwrap()), words);
    }
    assert_eq!(told(&templates(&[("slack", None, "x")]), "ntfy", "x"), None);
    for blank in ["{{ reviewer }} ", "{{ reviewer }} {{ note }}", "{{ ' ' }}"] {
        assert_eq!(told(&templates(&[("", None, blank)]), "ntfy", "x"), None, "{blank}");
    }
}

#[test]
fn w9_whatever_a_title_holds_is_data() {
    let all = templates(&[(
        "",
        None,
        "<{{ title }}> {% set x %}{{ title }}!{% endset %}{{ x | reverse }}",
    )]);
    let hostile = [
        "{{ task }} {% for n in range(9) %}x{% endfor %} {# no #}",
        "\u{2}\u{3}\u{3}ours?\u{2}",
        "<b>&amp;</b> @everyone <!channel> `x` ${HOME}",
        &"\u{3}<@U1> ".repeat(125_000),
    ];
    for title in hostile {
        let spans = told(&all, "telegram", title).unwrap();
        let ours: String =
            spans.iter().filter(|span| matches!(span, Span::Ours(_))).map(Span::text).collect();
        assert_eq!(ours, "<> ", "{spans:?}");
        let told: String = flat(&spans);
        assert!(told.len() < 2_000 && !told.contains(['\u{2}', '\u{3}']), "{told:?}");
    }
    let spans = told(&all, "telegram", hostile[0]).unwrap();
    assert!(spans[1].text().contains("{{ task }} {% for n in range(9) %}"), "{spans:?}");
}

#[test]
fn report_47_what_fails_or_grows_too_much_is_left_to_our_words() {
    for fails in [
        "{{ title[500] }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10000000 }}",
        "{% for n in range(20) %}{{ 'x' * 1000 }}{% endfor %}",
        &("{% set x = title %}".to_owned() + &"{% set x = x ~ x %}".repeat(40)),
    ] {
        let source = format!("{{{{ title }}}}{{% if 'boom' in title %}}{fails}{{% endif %}}");
        let all = templates(&[("", None, &source)]);
        assert_eq!(told(&all, "slack", "boom"), None, "{fails}");
        assert_eq!(told(&all, "slack", "good"), Some(vec![Span::quoted("good")]), "{fails}");
    }
}

#[test]
fn every_variable_is_documented() {
    let documented = include_str!("../../../docs/TEMPLATES.md").lines();
    let documented = documented.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: Vec<&str> = documented.map(|(name, _)| name).collect();
    let known: Vec<&str> = fields(&completed("x"), "").iter().map(|(name, _)| *name).collect();
    assert_eq!(documented, known);
}
