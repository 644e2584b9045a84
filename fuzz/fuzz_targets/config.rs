//! Configurations of any text, and any variables: read or refused, without a secret in the words.

#![no_main]

use std::{error::Error as _, fs, sync::LazyLock};

use arbitrary::Arbitrary;
use fuzz::one_of;
use gateway_bin::config::{Env, default_text, load};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Lines of the default file that are put in force, with a value of their own or the default.
    lines: Vec<(u8, Option<String>)>,
    raw: String,
    /// The operator's server; `None` for one that is right.
    server: Option<String>,
    variables: Vec<(u8, String)>,
}

/// Fake, and nowhere else.
const SECRET: &str = "verysecretfakekey0123";

/// Every key with its section and its default, as the default file has them.
static KEYS: LazyLock<Vec<(String, String, String)>> = LazyLock::new(|| {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in default_text().lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((name, value)) = line.strip_prefix('#').and_then(|l| l.split_once(" = "))
            && !name.starts_with(' ')
        {
            keys.push((section.clone(), name.to_owned(), value.to_owned()));
        }
    }
    assert!(keys.len() > 20);
    keys
});

fuzz_target!(|input: Input| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let server = input.server.as_deref().unwrap_or("url = \"http://localhost:1\"");
    let mut text = String::new();
    for (number, value) in &input.lines {
        let (section, name, usual) = one_of(&KEYS, *number);
        let dot = if section.is_empty() { "" } else { "." };
        let value = value.as_ref().unwrap_or(usual);
        text.push_str(&format!("{section}{dot}{name} = {value}\n"));
    }
    text.push_str(&format!("{}\n[[api_server]]\n{server}\nkey = \"{SECRET}\"\n", input.raw));
    fs::write(&path, &text).unwrap();
    let variables = input.variables.into_iter().map(|(number, value)| {
        let (section, name, _) = one_of(&KEYS, number);
        let level = if section.is_empty() { "" } else { "__" };
        (format!("KANBAN_GATEWAY_{section}{level}{name}").to_uppercase(), value)
    });
    let home = ("HOME".to_owned(), folder.path().display().to_string());
    let env: Env = variables.chain([home]).collect();
    let said = match load(Some(&path), &env) {
        Ok(loaded) => format!("{:?} {:?}", loaded, loaded.config.policy(false)),
        Err(error) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            assert!(!error.to_string().is_empty());
            format!("{error} {error:?} {cause}")
        }
    };
    assert!(!said.contains(SECRET), "{said}\n--\n{text}");
    assert!(said.len() < 200_000 + 20 * text.len(), "{} bytes", said.len());
});
