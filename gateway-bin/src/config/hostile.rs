//! Configurations of any text, and any variables: read or refused, without a secret in the words.

use proptest::prelude::*;

use super::*;
use crate::config::keys::KEYS;

/// How many cases are tried: so many, or as many as `KANBAN_GATEWAY_TEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("KANBAN_GATEWAY_TEST_CASES").ok();
    let cases = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual);
    println!("{cases} cases");
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Fake, and nowhere else.
const SECRET: &str = "verysecretfakekey0123";

/// A file that is right, with a secret in it.
fn right() -> String {
    let mut text = String::new();
    for key in KEYS.iter().filter(|key| !key.name.contains('.') && key.name != "api_server") {
        if !key.default.is_empty() {
            text.push_str(&format!("{} = {}\n", key.name, key.default));
        }
    }
    text + &format!(
        "[wake]\nsettle = \"1s\"\n[[api_server]]\nprofile = \"a\"\nurl = \"http://localhost:1\"\nkey = \"{SECRET}\"\n"
    )
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        prop::sample::select(vec![
            "true",
            "[]",
            "[[",
            "{ }",
            "1h",
            "9999999999999999999h",
            "\"",
            "'''",
            "http://u:x@h/",
            "[{ url = \"http://h\", key = \"k\", x = 1 }]",
            "nan",
            "1e999",
            "0x",
            "\u{0}",
            "\n",
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| text.replace('\u{0}', "")),
    ]
}

/// The file, with lines and characters changed, but never within the secret.
fn file() -> impl Strategy<Value = String> {
    let line = (any::<prop::sample::Index>(), "[a-z_.]{1,12}", value());
    let cut = (
        any::<prop::sample::Index>(),
        prop::sample::select(vec!["", "\"", "[", "]", "=", "\n", "'", "#"]),
    );
    (prop::collection::vec(line, 0..4), prop::collection::vec(cut, 0..4)).prop_map(
        |(lines, cuts)| {
            let mut text = right();
            for (at, name, value) in lines {
                let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
                let at = at.index(all.len());
                all[at] = format!("{name} = {value}");
                text = all.join("\n");
            }
            for (at, with) in cuts {
                let at = at.index(text.len() + 1);
                let within = text
                    .match_indices(SECRET)
                    .any(|(from, _)| (from..from + SECRET.len() + 1).contains(&at));
                if text.is_char_boundary(at) && !within {
                    text.insert_str(at, with);
                }
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_configuration_of_any_text_is_read_or_refused_without_its_secrets(
        file in file(),
        variables in prop::collection::vec((prop::sample::select(KEYS.to_vec()), value()), 0..4),
        dotenv in prop::collection::vec(("[A-Z_]{1,10}", value()), 0..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(&path, &file).unwrap();
        let home = dir.path().join("hermes");
        fs::create_dir_all(&home).unwrap();
        let dotenv: String = dotenv.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        fs::write(home.join(".env"), &dotenv).unwrap();
        fs::write(home.join("config.yaml"), &file).unwrap();
        let mut vars = vec![
            ("HOME".to_owned(), dir.path().display().to_string()),
            ("HERMES_HOME".to_owned(), home.display().to_string()),
        ];
        for (key, value) in variables {
            vars.push((format!("KANBAN_GATEWAY_{}", key.name.to_uppercase().replace('.', "__")), value));
        }
        let env: Env = vars.into_iter().collect();
        let said = match load(Some(&path), &env) {
            Ok(loaded) => format!("{:?} {:?}", loaded.config, loaded.config.policy(false)),
            Err(error) => {
                let mut said = format!("{error} {error:?}");
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    said.push_str(&cause.to_string());
                    source = cause.source();
                }
                prop_assert!(!error.to_string().is_empty());
                said
            }
        };
        prop_assert!(!said.contains(SECRET), "{said}\n--\n{file}");
        prop_assert!(said.len() < 200_000, "{} bytes", said.len());
    }
}
