//! The configuration: one TOML file, then `KANBAN_GATEWAY_*` variables; read once, validated whole.
//!
//! [`default_text`] documents every key with its unit, range and default.

mod artifacts;
mod env;
mod keys;
mod lines;
mod names;
mod problem;
mod push;
mod read;
mod secret;
mod server;
mod show;
mod source;
mod templates;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use kanban_notify::{
    event::Kind,
    policy::{Adopt, OnUnknown, Policy, WakePolicy},
};

pub use artifacts::FileSettings;
pub use env::Env;
pub use problem::{ConfigError, Problem};
pub use push::PushSettings;
pub(crate) use secret::read_secret;
pub use server::ApiServerConfig;
pub use show::{Shown, default_text, mask_url, with_found};
pub use source::Origin;

use crate::platforms::{TemplateSources, read_whole_text};
use problem::Problems;
pub(crate) use problem::nearest;
use read::Reader;
use source::{FILE_VARIABLE, PREFIX, Settings};

/// Everything the operator decides, checked. Secrets are typed, so `Debug` shows none.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our name in `notifier_profile` (law O1).
    pub owner: String,
    /// Which rows of others are taken over (law O2).
    pub adopt: Adopt,
    /// Where Hermes lives; need not exist.
    pub hermes_home: PathBuf,
    /// Boards besides those found there.
    pub boards: Vec<PathBuf>,
    /// Our own database.
    pub ledger: PathBuf,
    /// Oldest event that is still delivered (law F4).
    pub max_age: Duration,
    /// How long a delivery is tried (law F4).
    pub give_up_after: Duration,
    /// How long a row is kept to which nothing happens; `None` for ever (law S3).
    pub retention: Option<Duration>,
    /// How long outcomes are kept once their cursor is raised (law D10).
    pub keep_outcomes: Duration,
    /// How many events a pass may expire without asking (law F4).
    pub expire_without_asking: usize,
    /// What to do with an outcome that stays unknown (law D7).
    pub on_unknown: OnUnknown,
    /// Whether a message whose thread is gone goes once to the chat above (law D8).
    pub thread_fallback: bool,
    /// First and longest pause between attempts (law D8).
    pub backoff: (Duration, Duration),
    /// Claims in flight on one channel, and in all (law D6).
    pub concurrency: (usize, usize),
    /// How often boards are looked at without a hint (law F1).
    pub poll: Duration,
    /// How long a drain may take at shutdown.
    pub grace: Duration,
    /// Platforms served although a live Hermes notifier serves them too (law O4).
    pub alongside: BTreeSet<String>,
    /// Files of completed tasks.
    pub files: FileSettings,
    /// Wakes, as the domain wants them.
    pub wake: WakePolicy,
    /// How long the answer to a wake is waited for.
    pub wake_timeout: Duration,
    /// API servers that the operator names; each takes the place of its profile's own.
    pub api_servers: Vec<ApiServerConfig>,
    /// Push platforms that the operator sets up; what is left open there may be in Hermes' `.env`.
    pub push: PushSettings,
    /// The operator's own words for messages to people, checked.
    pub templates: TemplateSources,
    /// Whether the platform `console` is served.
    pub console: bool,
    /// The log.
    pub log: Log,
}

/// How to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Lines for people or for machines.
    pub format: LogFormat,
    /// A filter such as `info` or `info,kanban_notify=debug`.
    pub level: String,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// A configuration and how it came about.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What is in force.
    pub config: Config,
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// The same values for `config show`.
    pub shown: Vec<Shown>,
    /// What works but should be mended.
    pub warnings: Vec<String>,
}

impl Config {
    /// The operator's decisions for the domain; `accept` is the flag of the same name (law F4).
    pub fn policy(&self, accept: bool) -> Policy {
        Policy {
            owner: self.owner.clone(),
            adopt: self.adopt.clone(),
            max_age: self.max_age,
            give_up_after: self.give_up_after,
            retention: self.retention,
            expire_without_asking: self.expire_without_asking,
            accept,
            on_unknown: self.on_unknown,
            thread_fallback: self.thread_fallback,
            backoff: self.backoff,
            concurrency: self.concurrency.0,
            concurrency_total: self.concurrency.1,
            artifacts: self.files.artifacts,
            wake: self.wake.clone(),
        }
    }
}

/// Where the file is looked for if nobody names one.
pub fn default_path(env: &Env) -> Option<PathBuf> {
    env.config_dir().map(|dir| dir.join("config.toml"))
}

/// Reads the file (`named`, else `KANBAN_GATEWAY_CONFIG`, else the default one, which may be missing)
/// and the variables.
///
/// # Errors
///
/// All faults at once, if there is any.
pub fn load(named: Option<&Path>, env: &Env) -> Result<Loaded, ConfigError> {
    let mut problems = Problems::default();
    let (file, text) = match read_file(named, env) {
        Ok(Some((path, text))) => (Some(path), text),
        Ok(None) => (None, String::new()),
        Err((path, error)) => {
            problems.add(path.display().to_string(), unread(&path, &error));
            (None, String::new())
        }
    };
    let source = file.as_deref().map(|path| (path, text.as_str()));
    let settings = Settings::gather(source, env, &mut problems);
    let mut reader = Reader { settings: &settings, env, problems: &mut problems };
    let (hermes_home, home_origin) = hermes_home(&mut reader);
    let mut config = read_config(&mut reader, hermes_home);
    artifacts::keep(&mut config.files, file.as_deref());
    let mut warnings = loose_permissions(file.as_deref(), &reader);
    warnings.extend(names::unknown_platforms(&config));
    let shown = show::effective(&config, &settings, &home_origin);
    problems.unless_any(Loaded { config, file, shown, warnings })
}

fn read_file(
    named: Option<&Path>,
    env: &Env,
) -> Result<Option<(PathBuf, String)>, (PathBuf, io::Error)> {
    let variable = env.os(&format!("{PREFIX}{FILE_VARIABLE}"));
    let named = named.map_or_else(|| variable.map(PathBuf::from), |path| Some(path.to_owned()));
    let optional = named.is_none();
    let Some(path) = named.or_else(|| default_path(env)) else {
        return Ok(None);
    };
    match read_whole_text(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if optional && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err((path, error)),
    }
}

/// Why a file cannot be read, and what to do.
fn unread(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no such file; `kanban-gateway config init {}` makes it",
            path.display()
        ),
        _ => error.to_string(),
    }
}

fn hermes_home(reader: &mut Reader<'_>) -> (PathBuf, Origin) {
    if let Some(path) = reader.path("hermes_home") {
        let origin = reader.settings.get("hermes_home").map(|s| s.origin.clone());
        return (path, origin.unwrap_or(Origin::Default));
    }
    if let Some(path) = reader.env.os("HERMES_HOME") {
        return (path.into(), Origin::Environment("HERMES_HOME".to_owned()));
    }
    let home = reader.env.home().map(|home| home.join(".hermes"));
    if home.is_none() {
        reader.wrong("hermes_home", "must be set where neither HERMES_HOME nor HOME is");
    }
    (home.unwrap_or_default(), Origin::Default)
}

fn read_config(reader: &mut Reader<'_>, hermes_home: PathBuf) -> Config {
    let config = Config {
        owner: owner(reader),
        adopt: names::adopt(reader),
        hermes_home,
        boards: reader.paths("boards"),
        ledger: ledger(reader),
        max_age: reader.span("max_age", "1m", "10y"),
        give_up_after: reader.span("give_up_after", "1m", "10y"),
        retention: retention(reader.count("retention_days", 0..=3_650)),
        keep_outcomes: reader.span("keep_outcomes", "1m", "10y"),
        expire_without_asking: reader.count("expire_without_asking", 0..=1_000_000),
        on_unknown: reader
            .choice("on_unknown", &[("resend", OnUnknown::Resend), ("park", OnUnknown::Park)])
            .unwrap_or(OnUnknown::Park),
        thread_fallback: reader.switch("thread_fallback"),
        backoff: (
            reader.span("backoff.first", "100ms", "1h"),
            reader.span("backoff.longest", "1s", "24h"),
        ),
        concurrency: (
            reader.count("concurrency.per_channel", 1..=256),
            reader.count("concurrency.total", 1..=1_024),
        ),
        poll: reader.span("poll", "20ms", "60s"),
        grace: reader.span("grace", "0s", "10m"),
        alongside: names::platforms(reader, "alongside"),
        files: artifacts::files(reader),
        wake: wake(reader),
        wake_timeout: reader.span("wake.timeout", "1s", "24h"),
        api_servers: server::servers(reader),
        push: push::push(reader),
        templates: templates::templates(reader),
        console: reader.switch("console.enabled"),
        log: log(reader),
    };
    if config.backoff.0 > config.backoff.1 {
        reader.wrong("backoff.longest", "must not be below `backoff.first`");
    }
    if config.concurrency.0 > config.concurrency.1 {
        reader.wrong("concurrency.total", "must not be below `concurrency.per_channel`");
    }
    config
}

fn owner(reader: &mut Reader<'_>) -> String {
    let owner = reader.text("owner");
    // No dot: `<owner>.<profile>` is how adopted rows are stamped. Hermes' own names mean its own rows.
    if !crate::hermes::is_profile_name(&owner) || ["default", "custom"].contains(&owner.as_str()) {
        reader.wrong(
            "owner",
            "must be 1 to 64 of a-z, 0-9, _ and -, start with a letter or digit, and be neither \
             `default` nor `custom`",
        );
    }
    owner
}

fn retention(days: u64) -> Option<Duration> {
    (days > 0).then(|| Duration::from_secs(days.saturating_mul(86_400)))
}

fn ledger(reader: &mut Reader<'_>) -> PathBuf {
    let ledger =
        reader.path("ledger").or_else(|| reader.env.state_dir().map(|dir| dir.join("ledger.db")));
    if ledger.is_none() {
        reader.wrong("ledger", "must be set where neither XDG_STATE_HOME nor HOME is");
    }
    ledger.unwrap_or_default()
}

fn wake(reader: &mut Reader<'_>) -> WakePolicy {
    WakePolicy {
        kinds: kinds(reader),
        task_session: reader.switch("wake.task_session"),
        create_unknown_session: reader
            .choice("wake.unknown_session", &[("create", true), ("park", false)])
            .unwrap_or_default(),
        busy_wait: reader.span("wake.busy_wait", "0s", "24h"),
        longest_turn: reader.span("wake.longest_turn", "1s", "24h"),
        settle: reader.span("wake.settle", "0s", "1h"),
        min_interval: reader.span("wake.min_interval", "0s", "24h"),
        max_per_hour: reader.count("wake.max_per_hour", 1..=3_600),
        max_failed_turns: reader.count("wake.max_failed_turns", 1..=100),
        max_bytes: reader.count("wake.max_bytes", 1_024..=262_144),
    }
}

fn kinds(reader: &mut Reader<'_>) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::new();
    for name in reader.names("wake.kinds") {
        match Kind::parse(&name) {
            kind if kind.pings() => {
                kinds.insert(kind);
            }
            _ => {
                let known = || Kind::READ.into_iter().filter(|(kind, _)| kind.pings());
                let hint = problem::nearest(&name, known().map(|(_, name)| name))
                    .map(|meant| format!("; did you mean `{meant}`?"))
                    .unwrap_or_default();
                reader
                    .wrong("wake.kinds", format!("holds `{name}`, which nobody is told of{hint}"));
            }
        }
    }
    kinds
}

fn log(reader: &mut Reader<'_>) -> Log {
    let formats = [("human", LogFormat::Human), ("json", LogFormat::Json)];
    let format = reader.choice("log.format", &formats);
    let level = reader.text("log.level");
    if let Err(error) = crate::telemetry::filter(&level) {
        reader.wrong("log.level", format!("cannot be used: {error:#}"));
    }
    Log { format: format.unwrap_or(LogFormat::Human), level }
}

/// Files that hold keys and that others may read.
fn loose_permissions(file: Option<&Path>, reader: &Reader<'_>) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let inline = reader
        .settings
        .get("api_server")
        .is_some_and(|setting| setting.origin == Origin::File && server::holds_key(setting))
        || push::holds_secret(reader);
    let own = file.filter(|_| inline).map(Path::to_owned);
    own.into_iter()
        .chain(server::key_files(reader))
        .chain(push::secret_files(reader))
        .filter(|path| fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0))
        .map(|path| {
            let path = path.display();
            format!("{path} holds a key and others may read it; run: chmod 600 {path}")
        })
        .collect()
}
