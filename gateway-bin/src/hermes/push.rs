//! Credentials of push platforms in a profile's `.env`, under Hermes' own names.

use std::{collections::BTreeMap, path::Path};

use super::{files::Variables, home::ProfileHome};
use crate::{
    config::read_secret,
    platforms::{PLATFORMS, Settings},
};

/// The settings of the platforms that a profile has credentials for, and what could not be read.
pub(super) fn push(
    home: &ProfileHome,
    variables: Variables<'_>,
) -> (BTreeMap<&'static str, Settings>, Vec<String>) {
    let mut problems = Vec::new();
    let mut all = BTreeMap::new();
    for platform in PLATFORMS {
        let mut settings = Settings::default();
        for field in platform.fields.iter().filter(|field| !field.variable.is_empty()) {
            let mut found = variables.get(field.variable).map(str::to_owned);
            let file = format!("{}_FILE", field.variable);
            let mut from = field.variable;
            if field.kind.is_secret() {
                if let Some(path) = variables.get(&file).filter(|_| found.is_none()) {
                    from = &file;
                    found = read_secret(Path::new(path), field.kind)
                        .inspect_err(|fault| problems.push(format!("{file}: {fault}")))
                        .ok();
                }
                // What is behind a name in `.env` may change without it.
                let then = match variables.is_in_file(from) && from == field.variable {
                    true => ", read again when it changes",
                    false => "; restart `run` after changing it",
                };
                if found.is_some() {
                    settings.secret_from(&format!("{}{then}", place(home, variables, from)));
                }
            }
            settings.set(field, &found.unwrap_or_default());
            settings.stands_at(field, place(home, variables, from));
        }
        if platform.is_wanted(&settings) {
            all.insert(platform.name, settings);
        }
    }
    (all, problems)
}

/// Where a variable stands.
fn place(home: &ProfileHome, variables: Variables<'_>, name: &str) -> String {
    match variables.is_in_file(name) {
        true => format!("{name} in {}", home.path.join(".env").display()),
        false => format!("{name} in the environment"),
    }
}

#[cfg(test)]
mod tests {
    use crate::hermes::profile::tests::profile;

    #[test]
    fn credentials_come_from_the_file_or_a_file_that_it_names() {
        let found = profile("default", "", "TELEGRAM_BOT_TOKEN=1:FAKE\n", &[]);
        let telegram = &found.push["telegram"];
        assert_eq!(telegram.text("token"), Some("1:FAKE"));
        assert!(telegram.origin().starts_with("TELEGRAM_BOT_TOKEN in "), "{}", telegram.origin());
        assert!(telegram.origin().ends_with(".env, read again when it changes"));
        assert_eq!(
            telegram.place("token"),
            telegram.origin().split_once(',').map(|(place, _)| place)
        );
        assert!(!format!("{found:?}").contains("FAKE"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "2:FAKE\n").unwrap();
        let dotenv = format!("TELEGRAM_BOT_TOKEN_FILE={}\n", path.display());
        let found = profile("default", "", &dotenv, &[]);
        assert_eq!(found.push["telegram"].text("token"), Some("2:FAKE"));
        assert!(found.push["telegram"].origin().ends_with("; restart `run` after changing it"));
        let found = profile("default", "", "TELEGRAM_BOT_TOKEN_FILE=/nowhere/x\n", &[]);
        assert!(found.push.is_empty() && found.problems[0].contains("/nowhere/x"));
        std::fs::write(&path, "2:FAKE\nmore\n").unwrap();
        let found = profile("default", "", &dotenv, &[]);
        let told = format!("TELEGRAM_BOT_TOKEN_FILE: {} line 1: ", path.display());
        assert!(found.push.is_empty() && found.problems[0].starts_with(&told), "{found:?}");
        let found = profile("default", "", "TELEGRAM_BOT_TOKEN_FILE=/dev/zero\n", &[]);
        assert!(found.problems[0].contains("/dev/zero: it is no regular file"), "{found:?}");
    }
}
