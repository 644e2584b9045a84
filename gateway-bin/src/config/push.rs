//! Push platforms as the operator sets them: one table for each, from the list of the adapters.

use std::{collections::BTreeMap, path::PathBuf, sync::LazyLock};

use super::{
    keys::{Key, Shape},
    read::Reader,
    secret::{ONE_WORD, read_secret},
    server::base_url,
    source::Origin,
};
use crate::platforms::{Field, FieldKind, MAX_LENGTH, PLATFORMS, Platform, Settings};

/// The settings of the platforms that the configuration says anything about, by platform.
pub type PushSettings = BTreeMap<&'static str, Settings>;

/// The keys of all platforms.
pub(super) static PUSH_KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let fields = PLATFORMS.iter().flat_map(|of| of.fields.iter().map(move |field| (of, field)));
    fields.flat_map(|(platform, field)| keys(platform, field)).collect()
});

fn keys(platform: &Platform, field: &Field) -> Vec<Key> {
    let name = format!("{}.{}", platform.name, field.name);
    let shape = match field.kind {
        FieldKind::Text => Shape::Text,
        FieldKind::Secret | FieldKind::Secrets => Shape::Secret,
        FieldKind::Switch => Shape::Switch,
        FieldKind::Count => Shape::Count,
    };
    let default = match field.kind {
        FieldKind::Text if !field.default.is_empty() => {
            toml::Value::from(field.default).to_string()
        }
        _ => field.default.to_owned(),
    };
    let mut about = field.about.to_owned();
    if !field.variable.is_empty() {
        about
            .push_str(&format!("\nElse {} in Hermes' .env or in the environment.", field.variable));
    }
    let key = |name: String, shape, default: String, about: String| Key {
        // Made once: the list of platforms is a constant.
        name: name.leak(),
        shape,
        default: default.leak(),
        about: about.leak(),
    };
    let file = (shape == Shape::Secret).then(|| {
        let about = format!("A file that holds the {}.", field.name);
        key(file_of(&name), Shape::Path, String::new(), about)
    });
    std::iter::once(key(name, shape, default, about)).chain(file).collect()
}

/// What a refused secret of ours needs besides the right one.
const RESTART: &str = "restart `run` after changing it";

fn file_of(name: &str) -> String {
    format!("{name}_file")
}

/// Reads what is set; faults go to the reader's problems.
pub(super) fn push(reader: &mut Reader<'_>) -> PushSettings {
    let mut all = PushSettings::new();
    for platform in PLATFORMS {
        let mut settings = Settings::default();
        for field in platform.fields {
            let name = format!("{}.{}", platform.name, field.name);
            let value = match field.kind {
                FieldKind::Secret | FieldKind::Secrets => {
                    secret(reader, field, &name, &mut settings)
                }
                _ if !is_set(reader, &name) => None,
                FieldKind::Text => Some(text(reader, platform, field, &name)),
                FieldKind::Switch => Some(reader.switch(&name).to_string()),
                FieldKind::Count => Some(reader.count(&name, 1..=most(field)).to_string()),
            };
            if let Some(value) = value {
                settings.set(field, &value);
                settings.stands_at(field, place(reader, &name));
                let value = settings.text(field.name).unwrap_or_default();
                let is_word = value.bytes().all(|byte| byte.is_ascii_graphic());
                if field.kind.is_secret() && value.is_empty() {
                    reader.wrong(&name, "is empty; set it or take it out");
                } else if field.kind.is_secret() && !is_word {
                    reader.wrong(&name, ONE_WORD);
                }
            }
        }
        if settings != Settings::default() {
            all.insert(platform.name, settings);
        }
    }
    all
}

/// The largest number that means anything.
fn most(field: &Field) -> i64 {
    match field.name {
        // The default is what the platform takes.
        MAX_LENGTH => field.default.parse().unwrap_or(i64::MAX),
        "port" => u16::MAX.into(),
        _ => 1_000_000,
    }
}

/// Where a key stands, or the one that names its file.
fn place(reader: &Reader<'_>, name: &str) -> String {
    let setting =
        |name: &str| reader.settings.get(name).filter(|set| set.origin != Origin::Default);
    let setting = setting(name).or_else(|| setting(&file_of(name)));
    setting.map(|setting| setting.place.clone()).unwrap_or_default()
}

/// The files that hold secrets.
pub(super) fn secret_files(reader: &Reader<'_>) -> Vec<PathBuf> {
    let secrets = PUSH_KEYS.iter().filter(|key| key.shape == Shape::Secret);
    let files = secrets.filter_map(|key| {
        let setting = reader.settings.get(&file_of(key.name))?;
        Some(reader.locate(setting.value.as_str()?, &setting.origin))
    });
    files.collect()
}

/// Whether the file of the configuration holds a secret itself.
pub(super) fn holds_secret(reader: &Reader<'_>) -> bool {
    let mut secrets = PUSH_KEYS.iter().filter(|key| key.shape == Shape::Secret);
    secrets.any(|key| reader.settings.get(key.name).is_some_and(|set| set.origin == Origin::File))
}

fn text(reader: &mut Reader<'_>, platform: &Platform, field: &Field, name: &str) -> String {
    let text = reader.text(name);
    let secrets = platform.fields.iter().filter(|field| field.kind.is_secret());
    let keys: Vec<String> =
        secrets.map(|field| format!("`{}.{}`", platform.name, field.name)).collect();
    let instead = match keys.as_slice() {
        [] => "this platform has none".to_owned(),
        keys => format!("{} takes them", keys.join(" or ")),
    };
    if field.name == "url"
        && let Err(message) = base_url(&text, &instead)
    {
        reader.wrong(name, format!("cannot be used: {message}"));
    }
    text
}

fn is_set(reader: &Reader<'_>, name: &str) -> bool {
    reader.settings.get(name).is_some_and(|setting| setting.origin != Origin::Default)
}

fn secret(
    reader: &mut Reader<'_>,
    field: &Field,
    name: &str,
    settings: &mut Settings,
) -> Option<String> {
    let file = file_of(name);
    let (here, there) = (is_set(reader, name), is_set(reader, &file));
    if here && there {
        reader.wrong(&file, format!("and `{name}` are both set; give one of them"));
        return None;
    }
    if here {
        let place = reader.settings.get(name).map(|setting| setting.place.clone());
        let place = place.unwrap_or_default();
        settings.secret_from(&format!("`{name}` in {place}; {RESTART}"));
        return Some(reader.text(name));
    }
    let path = there.then(|| reader.path(&file)).flatten()?;
    match read_secret(&path, field.kind) {
        Ok(secret) => {
            settings.secret_from(&format!("`{file}` {}; {RESTART}", path.display()));
            Some(secret)
        }
        Err(fault) => {
            reader.wrong(&file, fault);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::config::{Env, load};

    fn of(vars: &[(&str, &str)]) -> Result<crate::config::Loaded, String> {
        let all = vars.iter().copied().chain([("HOME", "/nowhere")]);
        load(None, &Env::from_iter(all)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_may_be_in_a_file_and_is_shown_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "1:FAKE\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let loaded =
            of(&[("KANBAN_GATEWAY_TELEGRAM__TOKEN_FILE", path.to_str().unwrap())]).unwrap();
        let telegram = &loaded.config.push["telegram"];
        assert_eq!(telegram.text("token"), Some("1:FAKE"));
        assert!(telegram.origin().contains("token_file"), "{}", telegram.origin());
        assert!(loaded.warnings[0].contains("chmod 600"), "{:?}", loaded.warnings);
        let loaded = of(&[("KANBAN_GATEWAY_TELEGRAM__TOKEN", "1:FAKE")]).unwrap();
        assert!(
            loaded.shown.iter().any(|one| one.key == "telegram.token" && one.value == "\"***\"")
        );
        assert!(!format!("{loaded:?}").contains("FAKE"));
        let loaded = of(&[("KANBAN_GATEWAY_SLACK__TOKEN", "1-FAKE, 2-FAKE,")]).unwrap();
        assert_eq!(loaded.config.push["slack"].text("token"), Some("1-FAKE,2-FAKE"));
        for key in ["WECOM_WEBHOOK__URL", "SIGNED_WEBHOOK__TARGETS"] {
            let name = format!("KANBAN_GATEWAY_{key}");
            let loaded = of(&[(&name, "a=https://h/FAKE, b=https://h/FAKE")]).unwrap();
            let (platform, field) = key.split_once("__").unwrap();
            let settings = &loaded.config.push[platform.to_lowercase().as_str()];
            let listed = settings.text(&field.to_lowercase());
            assert_eq!(listed, Some("a=https://h/FAKE,b=https://h/FAKE"), "{key}");
        }
        assert!(!format!("{loaded:?}").contains("FAKE"));
    }

    #[test]
    fn a_file_that_holds_no_secret_is_named_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let token = |path: &str| of(&[("KANBAN_GATEWAY_TELEGRAM__TOKEN_FILE", path)]).unwrap_err();
        for (text, told) in [("", " is empty"), ("FAKE\nb\n", " line 1: the secret goes on")] {
            std::fs::write(&path, text).unwrap();
            let problems = token(path.to_str().unwrap());
            let told = format!(
                "KANBAN_GATEWAY_TELEGRAM__TOKEN_FILE: `telegram.token_file` {}{told}",
                path.display()
            );
            assert!(problems.contains(&told) && !problems.contains("FAKE"), "{problems}");
        }
        assert!(token("/dev/zero").contains("/dev/zero: it is no regular file"));
    }

    #[test]
    fn what_cannot_be_used_is_told_without_being_repeated() {
        for (vars, told) in [
            (&[("KANBAN_GATEWAY_TELEGRAM__TOKEN", "FAKE b")][..], "one word of visible"),
            (
                &[("KANBAN_GATEWAY_TELEGRAM__TOKEN", "\"\"")],
                "KANBAN_GATEWAY_TELEGRAM__TOKEN: `telegram.token` is empty",
            ),
            (&[("KANBAN_GATEWAY_SLACK__TOKEN", " , ")], "`slack.token` is empty"),
            (&[("KANBAN_GATEWAY_TELEGRAM__TOKN", "FAKE")], "did you mean `telegram.token`?"),
            (&[("KANBAN_GATEWAY_TELEGRAM__TOKEN_FILE", "/nowhere/token")], "/nowhere/token"),
            (
                &[("KANBAN_GATEWAY_NTFY__URL", "http://u:FAKE@h")],
                "must not hold credentials; `ntfy.token` takes them",
            ),
            (&[("KANBAN_GATEWAY_NTFY__MARKDOWN", "perhaps")], "true or false"),
            (&[("KANBAN_GATEWAY_NTFY__MAX_LENGTH", "4097")], "`ntfy.max_length` must be 1 to 4096"),
            (&[("KANBAN_GATEWAY_EMAIL__PORT", "65536")], "`email.port` must be 1 to 65535"),
            (&[("KANBAN_GATEWAY_ADOPT", "[\"telegrm\"]")], "did you mean `telegram`?"),
            (
                &[("KANBAN_GATEWAY_ALONGSIDE", "slack, dscord")],
                "holds `dscord`, which is no platform",
            ),
            (
                &[
                    ("KANBAN_GATEWAY_NTFY__TOKEN", "FAKE"),
                    ("KANBAN_GATEWAY_NTFY__TOKEN_FILE", "/nowhere/token"),
                ],
                "both set",
            ),
        ] {
            let problems = of(vars).unwrap_err();
            assert!(problems.contains(told) && !problems.contains("FAKE"), "{problems}");
        }
        assert!(of(&[]).unwrap().config.push.is_empty());
        let told = of(&[("KANBAN_GATEWAY_ALONGSIDE", "quux, sms, Slack")]).unwrap().warnings;
        assert!(
            told.len() == 2 && told[1].contains("`sms`: this build has no such platform"),
            "{told:?}"
        );
    }
}
