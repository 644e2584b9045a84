//! Keys that hold names of platforms.

use std::collections::BTreeSet;

use kanban_notify::policy::Adopt;

use super::{Config, problem::nearest, read::Reader};

/// Which rows of others are taken over.
pub(super) fn adopt(reader: &mut Reader<'_>) -> Adopt {
    match reader.text_or_names("adopt") {
        Ok(word) if word == "auto" => Adopt::Auto,
        Ok(word) if word == "off" => Adopt::Off,
        Ok(word) => {
            let hint = format!("must be \"auto\", \"off\" or a list of platforms, not \"{word}\"");
            reader.wrong("adopt", hint);
            Adopt::Off
        }
        Err(_) => Adopt::Platforms(platforms(reader, "adopt")),
    }
}

/// Names of platforms, which are compared in lower case. Hermes can have any others; what is nearly the
/// name of one is a slip.
pub(super) fn platforms(reader: &mut Reader<'_>, name: &str) -> BTreeSet<String> {
    let names: BTreeSet<String> =
        reader.names(name).iter().map(|name| name.to_lowercase()).collect();
    for platform in names.iter().filter(|platform| !is_known(platform)) {
        if let Some(meant) = nearest(platform, known_platforms()) {
            let hint = format!("holds `{platform}`, which is no platform; did you mean `{meant}`?");
            reader.wrong(name, hint);
        }
    }
    names
}

fn known_platforms() -> impl Iterator<Item = &'static str> {
    crate::platforms::names().chain(crate::hermes::platform_names())
}

fn is_known(platform: &str) -> bool {
    known_platforms().any(|known| known == platform)
}

/// Platforms that are to be adopted or served and that this build cannot send to.
pub(super) fn unknown_platforms(config: &Config) -> Vec<String> {
    let adopted = match &config.adopt {
        Adopt::Platforms(names) => names.iter().map(|name| ("adopt", name)).collect(),
        Adopt::Auto | Adopt::Off => Vec::new(),
    };
    let all = adopted.into_iter().chain(config.alongside.iter().map(|name| ("alongside", name)));
    let unknown = all.filter(|(_, name)| !crate::platforms::names().any(|known| known == *name));
    unknown
        .map(|(key, name)| {
            format!(
                "`{key}` holds `{name}`: this build has no such platform and sends nothing there"
            )
        })
        .collect()
}
