//! Templates as the operator writes them: for each kind of event, for all platforms or for one.

use std::sync::LazyLock;

use kanban_notify::{event::Kind, subscription::API_SERVER};

use super::{
    keys::{Key, Shape},
    problem::nearest,
    read::{Reader, text_of},
    source::Origin,
};
use crate::platforms::{PLATFORMS, TemplatePlace, TemplateSources, check_template};

/// The keys of all templates; only some are in the default file, for there are very many.
pub(super) static TEMPLATE_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    places().map(|place| {
        let about = match (&place.platform, place.kind) {
            (None, None) => {
                "The operator's own words for messages to people: docs/TEMPLATES.md has the variables.\n\
                 For every kind of event without one of its own:"
            }
            (None, Some(Kind::Completed)) => {
                "For one kind: completed, blocked, gave_up, crashed, timed_out, status, review_requested,\n\
                 changes_requested or block_loop_detected. For one platform: [templates.telegram], and so on."
            }
            _ => "",
        };
        // Made once: the places are those of constants.
        Key { name: place.to_string().leak(), shape: Shape::Template, default: "", about }
    }).collect()
});

fn places() -> impl Iterator<Item = TemplatePlace> {
    let kinds = Kind::READ.map(|(kind, _)| kind).into_iter().filter(|kind| kind.pings());
    let kinds: Vec<Option<Kind>> = std::iter::once(None).chain(kinds.map(Some)).collect();
    let platforms = PLATFORMS.iter().map(|platform| platform.name).chain(["console"]);
    let platforms = std::iter::once(None).chain(platforms.map(|name| Some(name.to_owned())));
    platforms.flat_map(move |platform| {
        let place = move |kind| TemplatePlace { platform: platform.clone(), kind };
        kinds.clone().into_iter().map(place)
    })
}

/// The start of every key of a template.
pub(super) const LEVEL: &str = "templates.";

/// What to say of a key that starts so and is none.
pub(super) fn unknown(name: &str) -> String {
    let rest = name.strip_prefix(LEVEL).unwrap_or(name);
    let (platform, kind) = rest.split_once('.').unwrap_or((rest, ""));
    if platform == API_SERVER {
        return format!("there is no key `{name}`: templates are for people, and a wake has none");
    }
    // Without what all have in common, which would make everything near.
    let known: Vec<String> =
        places().map(|place| place.to_string().split_off(LEVEL.len())).collect();
    let platforms = known.iter().filter_map(|one| Some(one.split_once('.')?.0));
    let meant = match PLATFORMS.iter().any(|known| known.name == platform) {
        true => {
            let kinds = known.iter().filter(|one| !one.contains('.')).map(String::as_str);
            nearest(kind, kinds).map(|kind| format!("{LEVEL}{platform}.{kind}"))
        }
        false => {
            let all = platforms.chain(known.iter().map(String::as_str));
            nearest(rest, all).map(|meant| format!("{LEVEL}{meant}"))
        }
    };
    let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    format!("there is no key `{name}`{hint}")
}

/// Reads and tries what is set; faults go to the reader's problems.
pub(super) fn templates(reader: &mut Reader<'_>) -> TemplateSources {
    let mut sources = TemplateSources::new();
    for place in places() {
        let name = place.to_string();
        let setting = reader.settings.get(&name).filter(|set| set.origin != Origin::Default);
        let Some(setting) = setting else {
            continue;
        };
        let Some(source) = text_of(setting) else {
            reader.wrong(&name, "must be text");
            continue;
        };
        if let Err(error) = check_template(&place, &source) {
            let place = setting.place.clone();
            reader.problems.add(place, error.to_string());
        }
        sources.insert(place, source);
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Env, load};

    /// The templates of a file and of variables, or what is wrong with them.
    fn of(text: &str, vars: &[(&str, &str)]) -> Result<TemplateSources, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        let env = Env::from_iter(vars.iter().copied().chain([("HOME", "/nowhere")]));
        let loaded = load(Some(&path), &env).map_err(|error| error.to_string());
        loaded.map(|loaded| loaded.config.templates)
    }

    #[test]
    fn templates_are_read_by_kind_and_platform() {
        let text =
            "[templates]\ndefault = \"{{ title }}\"\n[templates.telegram]\nblocked = \"b\"\n";
        let vars =
            [("KANBAN_GATEWAY_TEMPLATES__SLACK_WEBHOOK__DEFAULT", "{{ title }}\n{{ line }}")];
        let read = of(text, &vars).unwrap();
        let read: Vec<(String, &str)> =
            read.iter().map(|(place, source)| (place.to_string(), source.as_str())).collect();
        let expected = [
            ("templates.default", "{{ title }}"),
            ("templates.slack_webhook.default", "{{ title }}\n{{ line }}"),
            ("templates.telegram.blocked", "b"),
        ];
        assert_eq!(read, expected.map(|(place, source)| (place.to_owned(), source)));
        assert!(of("", &[]).unwrap().is_empty());
    }

    #[test]
    fn a_slip_is_told_with_the_key_that_was_meant() {
        for (text, told) in [
            (
                "[templates.telgram]\ndefault = \"x\"\n",
                "`templates.telgram`; did you mean `templates.telegram`?",
            ),
            ("[templates]\ncompletd = \"x\"\n", "did you mean `templates.completed`?"),
            ("[templates.slack]\nblockd = \"x\"\n", "did you mean `templates.slack.blocked`?"),
            (
                "[templates.api_server]\ndefault = \"x\"\n",
                "`templates.api_server`: templates are for people",
            ),
            ("[templates]\nsomething = \"x\"\n", "no key `templates.something`\n"),
            (
                "[templates]\nblocked = \"{{ title.foo.bar }}\"\n",
                "undefined value: variables are plain text",
            ),
        ] {
            let refused = of(text, &[]).unwrap_err() + "\n";
            assert!(refused.contains(told) && !refused.contains("mean `api_server`"), "{refused}");
        }
        let told = of("", &[("KANBAN_GATEWAY_TEMPLATES__TELGRAM__DEFAULT", "x")]).unwrap_err();
        assert!(told.contains("did you mean `templates.telegram.default`?"), "{told}");
    }

    #[test]
    fn report_47_faults_name_the_key_and_the_line() {
        let text = "[templates]\ncompleted = \"\"\"\n{{ title }}\n{{ titel }}\n\"\"\"\n\
                    done = \"x\"\nblocked = 7\n[templates.telegrm]\ndefault = \"x\"\n\
                    [templates.slack]\narchived = \"x\"\ndefault = \"{{ x\"\n";
        let told = of(text, &[("KANBAN_GATEWAY_TEMPLATES__STATUS", "{% for")]).unwrap_err();
        for part in [
            "c.toml line 2: `templates.completed` line 2: there is no variable `titel`",
            "c.toml line 6: there is no key `templates.done`",
            "c.toml line 7: `templates.blocked` must be text",
            "c.toml line 8: there is no key `templates.telegrm`",
            "c.toml line 11: there is no key `templates.slack.archived`",
            "c.toml line 12: `templates.slack.default` line 1: syntax error",
            "KANBAN_GATEWAY_TEMPLATES__STATUS: `templates.status` line 1: syntax error",
        ] {
            assert!(told.contains(part), "{part:?} is missing in {told}");
        }
    }
}
