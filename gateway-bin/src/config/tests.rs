//! Tests of the whole configuration: defaults, every key, every fault at once, secrets.

use kanban_notify::artifacts::{Artifacts, Take};
use secrecy::ExposeSecret;

use super::*;
use crate::platforms::{Field, FieldKind, PLATFORMS};

pub(super) struct Place {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

impl Place {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().display().to_string();
        Self { dir, vars: vec![("HOME".to_owned(), home)] }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    fn home(&self, rest: &str) -> PathBuf {
        self.dir.path().join(rest)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn env(&self) -> Env {
        self.vars.iter().cloned().collect()
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        load(None, &self.env())
    }

    pub(super) fn faults(&self) -> String {
        self.load().unwrap_err().to_string()
    }

    pub(super) fn with_file(self, text: &str) -> Self {
        self.write(".config/kanban-gateway/config.toml", text);
        self
    }
}

#[test]
fn without_a_file_everything_has_the_domains_defaults() {
    let place = Place::new();
    let loaded = place.load().unwrap();
    assert_eq!(loaded.file, None);
    let config = loaded.config;
    assert_eq!(config.policy(false), Policy::default());
    assert!(config.policy(true).accept);
    assert_eq!(config.hermes_home, place.home(".hermes"));
    assert_eq!(config.ledger, place.home(".local/state/kanban-gateway/ledger.db"));
    assert_eq!(config.poll, Duration::from_secs(1));
    assert_eq!(config.grace, Duration::from_secs(10));
    assert!(config.console && config.api_servers.is_empty());
    assert!(loaded.shown.iter().all(|shown| shown.origin == Origin::Default));
}

#[test]
fn the_default_file_means_the_defaults_as_written_and_uncommented() {
    let text = default_text();
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let defaults = Place::new().load().unwrap();
    for text in [text.as_str(), uncommented.as_str()] {
        let place = Place::new().with_file(text);
        let loaded = place.load().unwrap();
        assert_eq!(loaded.config.policy(false), defaults.config.policy(false));
        assert_eq!(loaded.config.log, defaults.config.log);
        assert_eq!(loaded.config.wake_timeout, defaults.config.wake_timeout);
        assert_eq!(loaded.config.hermes_home, place.home(".hermes"));
        let values = |loaded: &Loaded, place: &Place| {
            let home = place.dir.path().display().to_string();
            let shown = loaded.shown.iter();
            shown
                .map(|shown| format!("{} = {}", shown.key, shown.value.replace(&home, "~")))
                .collect::<Vec<_>>()
        };
        let has_value = |key: &&keys::Key| {
            !key.default.is_empty() || ["hermes_home", "ledger"].contains(&key.name)
        };
        assert_eq!(loaded.shown.len(), keys::KEYS.iter().filter(has_value).count());
        let place_of_defaults = Place::new();
        let expected = values(&place_of_defaults.load().unwrap(), &place_of_defaults);
        assert_eq!(values(&loaded, &place), expected);
    }
    assert!(uncommented.contains("\nowner = \"kanban-gateway\"\n"));
}

/// A table with every field of every push platform.
fn every_platform() -> String {
    let mut text = String::new();
    for platform in PLATFORMS {
        text.push_str(&format!("[{}]\n", platform.name));
        for field in platform.fields {
            let value = match field.kind {
                FieldKind::Text | FieldKind::Secret | FieldKind::Secrets => {
                    format!("{:?}", value_of(field))
                }
                FieldKind::Switch | FieldKind::Count => value_of(field).to_owned(),
            };
            text.push_str(&format!("{} = {value}\n", field.name));
        }
    }
    text
}

fn value_of(field: &Field) -> &'static str {
    match (field.kind, field.name) {
        (FieldKind::Text, "url") => "http://127.0.0.1:9001",
        (FieldKind::Text, _) => "words",
        (FieldKind::Secret | FieldKind::Secrets, _) => "1:FAKE-token",
        (FieldKind::Switch, _) => "true",
        (FieldKind::Count, _) => "1000",
    }
}

#[test]
fn report_16_every_key_has_an_effect() {
    let text = r#"
        owner = "gw2"
        adopt = ["Telegram", "slack"]
        hermes_home = "~/h"
        boards = ["b/kanban.db", "/abs/kanban.db"]
        ledger = "l.db"
        max_age = "1d"
        give_up_after = "2h"
        retention_days = 9
        keep_outcomes = "12h"
        expire_without_asking = 7
        on_unknown = "park"
        thread_fallback = false
        poll = "500ms"
        grace = "1m"
        alongside = ["Discord"]
        artifacts = "listed+found"
        artifact_files = 3
        artifact_bytes = 1000
        artifact_roots = ["out", "~/out"]
        artifact_strict = true
        [backoff]
        first = "1s"
        longest = "2m"
        [concurrency]
        per_channel = 2
        total = 8
        [wake]
        kinds = ["blocked", "status"]
        task_session = true
        unknown_session = "park"
        busy_wait = "1m"
        longest_turn = "2m"
        settle = "3s"
        min_interval = "4s"
        max_per_hour = 5
        max_failed_turns = 6
        max_bytes = 2048
        timeout = "7m"
        [console]
        enabled = false
        [log]
        format = "json"
        level = "debug"
        [[api_server]]
        profile = "work"
        url = "http://127.0.0.1:9000/v1/"
        key = "0123456789abcdef"
        model = "m"
        "#
    .to_owned()
        + &every_platform();
    let place = Place::new().with_file(&text);
    let loaded = place.load().unwrap();
    let config = &loaded.config;
    let secs = Duration::from_secs;
    let folder = place.home(".config/kanban-gateway");
    let expected = Policy {
        owner: "gw2".to_owned(),
        adopt: Adopt::Platforms(["slack", "telegram"].map(String::from).into()),
        max_age: secs(86_400),
        give_up_after: secs(7_200),
        retention: Some(secs(9 * 86_400)),
        expire_without_asking: 7,
        accept: false,
        on_unknown: OnUnknown::Park,
        thread_fallback: false,
        backoff: (secs(1), secs(120)),
        concurrency: 2,
        concurrency_total: 8,
        artifacts: Artifacts { take: Take::ListedAndFound, files: 3, bytes: 1_000 },
        wake: WakePolicy {
            kinds: [Kind::Blocked, Kind::Status].into(),
            task_session: true,
            create_unknown_session: false,
            busy_wait: secs(60),
            longest_turn: secs(120),
            settle: secs(3),
            min_interval: secs(4),
            max_per_hour: 5,
            max_failed_turns: 6,
            max_bytes: 2_048,
        },
    };
    assert_eq!(config.policy(false), expected);
    assert_eq!(config.hermes_home, place.home("h"));
    assert_eq!(config.files.roots, [folder.join("out"), place.home("out")]);
    assert!(config.files.strict);
    assert_eq!(config.files.kept, [folder.join("config.toml")]);
    assert_eq!(config.boards, [folder.join("b/kanban.db"), "/abs/kanban.db".into()]);
    assert_eq!(config.ledger, folder.join("l.db"));
    assert_eq!(config.keep_outcomes, secs(12 * 3_600));
    assert_eq!(config.poll, Duration::from_millis(500));
    assert_eq!(config.grace, secs(60));
    assert_eq!(config.alongside, BTreeSet::from(["discord".to_owned()]));
    assert_eq!(config.wake_timeout, secs(420));
    assert!(!config.console);
    assert_eq!((config.log.format, config.log.level.as_str()), (LogFormat::Json, "debug"));
    let server = &config.api_servers[0];
    assert_eq!(server.url, "http://127.0.0.1:9000");
    assert_eq!(server.key.expose_secret(), "0123456789abcdef");
    assert_eq!((server.profile.as_str(), server.model.as_deref()), ("work", Some("m")));
    for platform in PLATFORMS {
        for field in platform.fields {
            assert_eq!(config.push[platform.name].text(field.name), Some(value_of(field)));
        }
    }
    assert!(!format!("{loaded:?}").contains("FAKE"));
    // No key was left out above.
    let defaults = loaded.shown.iter().filter(|s| s.origin == Origin::Default);
    assert_eq!(defaults.count(), 0);
}

#[test]
fn variables_go_before_the_file_and_lists_may_use_commas() {
    let loaded = Place::new()
        .with_file("owner = \"a\"\n[wake]\nbusy_wait = \"1m\"\n")
        .set("KANBAN_GATEWAY_WAKE__BUSY_WAIT", "5m")
        .set("KANBAN_GATEWAY_OWNER", "42")
        .set("KANBAN_GATEWAY_ALONGSIDE", "slack, telegram")
        .set("KANBAN_GATEWAY_BOARDS", "[\"/a.db\", \"~/b.db\"]")
        .set("KANBAN_GATEWAY_ADOPT", "off")
        .set("KANBAN_GATEWAY_MAX_AGE", "")
        .set("HERMES_HOME", "/opt/data")
        .load()
        .unwrap();
    let config = loaded.config;
    assert_eq!(config.wake.busy_wait, Duration::from_secs(300));
    assert_eq!(config.owner, "42");
    assert_eq!(config.alongside.len(), 2);
    assert_eq!(config.boards.len(), 2);
    assert!(config.boards.iter().all(|board| board.is_absolute()));
    assert_eq!(config.adopt, Adopt::Off);
    assert_eq!(config.max_age, Policy::default().max_age);
    assert_eq!(config.hermes_home, PathBuf::from("/opt/data"));
    let home = loaded.shown.iter().find(|s| s.key == "hermes_home").unwrap();
    assert_eq!(home.origin.to_string(), "environment (HERMES_HOME)");
}

#[test]
fn all_faults_are_told_at_once() {
    let faults = Place::new()
        .with_file(
            "ownr = \"x\"\nadopt = \"some\"\nmax_age = 7\npoll = \"1ms\"\nexpire_without_asking = 2000000\n\
             on_unknown = \"ask\"\n[backoff]\nfirst = \"10m\"\nlongest = \"1m\"\n\
             [wake]\nkinds = [\"complete\", \"archived\"]\ntask_session = \"yes\"\n",
        )
        .set("KANBAN_GATEWAY_OWNER", "My.Owner")
        .set("KANBAN_GATEWAY_LOG__LEVEL", "a=loud")
        .set("KANBAN_GATEWAY_CONCURRENCY__TOTAL", "2")
        .faults();
    for expected in [
        "config.toml line 1: there is no key `ownr`; did you mean `owner`?",
        "config.toml line 2: `adopt` must be \"auto\", \"off\" or a list of platforms, not \"some\"",
        "config.toml line 3: `max_age` must be a span of time such as \"72h\"",
        "config.toml line 4: `poll` must be 20ms to 60s, not 1ms",
        "config.toml line 5: `expire_without_asking` must be 0 to 1000000, not 2000000",
        "config.toml line 6: `on_unknown` must be \"resend\" or \"park\", not \"ask\"",
        "config.toml line 9: `backoff.longest` must not be below `backoff.first`",
        "config.toml line 11: `wake.kinds` holds `complete`, which nobody is told of; did you mean `completed`?",
        "config.toml line 11: `wake.kinds` holds `archived`, which nobody is told of",
        "config.toml line 12: `wake.task_session` must be true or false",
        "KANBAN_GATEWAY_OWNER: `owner` must be 1 to 64 of",
        "KANBAN_GATEWAY_LOG__LEVEL: `log.level` cannot be used: `",
        "KANBAN_GATEWAY_CONCURRENCY__TOTAL: `concurrency.total` must not be below",
        "the configuration has 13 problems:",
    ] {
        assert!(faults.contains(expected), "missing {expected} in {faults}");
    }
}

#[test]
fn a_named_file_must_be_there_and_the_default_one_must_be_readable() {
    let place = Place::new();
    let missing = place.home("none.toml");
    assert!(load(Some(&missing), &place.env()).is_err());
    let named = place.write("named.toml", "owner = \"named\"");
    let loaded = load(Some(&named), &place.env()).unwrap();
    assert_eq!((loaded.config.owner.as_str(), loaded.file), ("named", Some(named.clone())));
    let place = place.set("KANBAN_GATEWAY_CONFIG", &named.display().to_string());
    assert_eq!(place.load().unwrap().config.owner, "named");
    let place = Place::new();
    fs::create_dir_all(place.home(".config/kanban-gateway/config.toml")).unwrap();
    assert!(place.load().is_err());
}

#[test]
fn without_any_home_the_two_paths_must_be_named() {
    let faults = load(None, &Env::default()).unwrap_err().to_string();
    assert!(faults.contains("hermes_home") && faults.contains("ledger"));
    let env = Env::from_iter([("KANBAN_GATEWAY_LEDGER", "/l.db"), ("HERMES_HOME", "/opt/data")]);
    assert!(load(None, &env).is_ok());
}

#[test]
fn keys_come_from_file_or_environment_and_are_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new()
        .with_file(
            "[[api_server]]\nurl = \"http://a:1\"\nkey_file = \"key\"\n\
             [[api_server]]\nprofile = \"b\"\nurl = \"https://b\"\nkey_env = \"B_KEY\"\n\
             [[api_server]]\nprofile = \"c\"\nurl = \"https://c\"\nkey = \"c-secret-in-file\"\n",
        )
        .set("B_KEY", "b-secret-of-environment");
    let key = place.write(".config/kanban-gateway/key", "a-secret-of-key-file\n");
    let loaded = place.load().unwrap();
    let keys: Vec<&str> =
        loaded.config.api_servers.iter().map(|server| server.key.expose_secret()).collect();
    assert_eq!(keys, ["a-secret-of-key-file", "b-secret-of-environment", "c-secret-in-file"]);
    let from: Vec<&str> =
        loaded.config.api_servers.iter().map(|server| server.key_from.as_str()).collect();
    assert!(from[0].ends_with("/kanban-gateway/key") && from[0].starts_with("`key_file` /"));
    assert_eq!(from[1], "the environment variable B_KEY");
    assert!(from[2].contains("`key` in ") && from[2].contains("config.toml"), "{from:?}");
    let everything = format!("{loaded:?}") + &serde_json::to_string(&loaded.shown).unwrap();
    assert!(!everything.contains("secret-"), "{everything}");
    let masked = loaded.shown.iter().find(|s| s.key == "api_server[2].key");
    assert_eq!(masked.unwrap().value, "\"***\"");
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    for path in [&key, loaded.file.as_ref().unwrap()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert!(place.load().unwrap().warnings.is_empty());
}

#[test]
fn servers_can_be_set_by_one_variable() {
    let loaded = Place::new()
        .set("KANBAN_GATEWAY_API_SERVER", "[{ url = \"http://127.0.0.1:1\", key_env = \"K\" }]")
        .set("K", "0123456789abcdef")
        .load()
        .unwrap();
    assert_eq!(loaded.config.api_servers[0].profile, "default");
}
