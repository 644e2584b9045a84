//! Every key of the configuration, once: its type, default, and words for users.

use std::sync::LazyLock;

use super::{push::PUSH_KEYS, templates::TEMPLATE_KEYS};

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Plain text.
    Text,
    /// Text that is never shown.
    Secret,
    /// A path; `~` is the home folder, relative paths start at the folder of the file that names them.
    Path,
    /// A list of paths.
    Paths,
    /// A list of names.
    Names,
    /// Text, or a list of names.
    TextOrNames,
    /// A whole number.
    Count,
    /// A span of time such as `72h` or `500ms`.
    Span,
    /// `true` or `false`.
    Switch,
    /// A template of a message.
    Template,
    /// A list of tables.
    Tables,
}

impl Shape {
    /// The shape in words that fit "must be …".
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Text | Self::Secret | Self::Template => "text",
            Self::Path => "a path",
            Self::Paths => "a list of paths",
            Self::Names => "a list of names",
            Self::TextOrNames => "text or a list of names",
            Self::Count => "a whole number",
            Self::Span => "a span of time such as \"72h\" or \"500ms\"",
            Self::Switch => "true or false",
            Self::Tables => "a list of tables",
        }
    }
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// Name, levels separated by dots.
    pub name: &'static str,
    /// What it must look like.
    pub shape: Shape,
    /// The default as TOML; empty where it depends on the machine or there is none.
    pub default: &'static str,
    /// What it does, with unit and range, in lines for the default file; empty where it is not in there.
    pub about: &'static str,
}

const fn key(name: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Key {
    Key { name, shape, default, about }
}

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether `name` is a level that holds keys.
pub(super) fn is_level(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// The names of all levels.
pub(super) fn levels() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|key| Some(key.name.split_once('.')?.0))
}

/// All keys: first those without a level, then level by level, as a TOML file needs them.
pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let (servers, ours): (Vec<Key>, Vec<Key>) =
        OURS.iter().copied().partition(|key| key.shape == Shape::Tables);
    let below = TEMPLATE_KEYS.iter().chain(PUSH_KEYS.iter()).copied();
    ours.into_iter().chain(below).chain(servers).collect()
});

/// The keys that no platform has.
#[rustfmt::skip]
const OURS: &[Key] = &[
    key("owner", Shape::Text, r#""kanban-gateway""#,
        "Our name in `notifier_profile`: rows that carry it are ours.\n1 to 64 of a-z, 0-9, _ and -; not the name of a Hermes profile."),
    key("adopt", Shape::TextOrNames, r#""auto""#,
        "Rows of others that we take over: \"auto\" (api_server rows that no Hermes serves), \"off\",\nor a list of platforms to take over besides, such as [\"telegram\"]."),
    key("hermes_home", Shape::Path, "",
        "Where Hermes lives. Default: HERMES_HOME, else ~/.hermes."),
    key("boards", Shape::Paths, "[]",
        "Board files to serve besides those found in Hermes' home."),
    key("ledger", Shape::Path, "",
        "Our own database, on a local disk.\nDefault: $XDG_STATE_HOME/kanban-gateway/ledger.db, else ~/.local/state/kanban-gateway/ledger.db."),
    key("max_age", Shape::Span, r#""7d""#,
        "Events older than this when first seen are not delivered, but listed. 1m to 10y."),
    key("give_up_after", Shape::Span, r#""72h""#,
        "What could not be delivered for so long goes to the dead letters. 1m to 10y."),
    key("retention_days", Shape::Count, "30",
        "A subscription of ours goes when its task is done or blocked and nothing happened for so many days;\n0 keeps it for ever. 0 to 3650."),
    key("keep_outcomes", Shape::Span, r#""30d""#,
        "How long the ledger keeps what was delivered or ended otherwise, for `status`, `dead` and `replay`.\nDead letters stay until somebody decides on them. 1m to 10y."),
    key("expire_without_asking", Shape::Count, "100",
        "A pass that would expire more events than this waits for `run --accept`. 0 to 1000000."),
    key("on_unknown", Shape::Text, r#""resend""#,
        "When nobody can find out whether a message arrived: \"resend\" (marked as a possible repeat)\nor \"park\" (to the dead letters)."),
    key("thread_fallback", Shape::Switch, "true",
        "Whether a message whose thread or topic is gone or closed goes to the chat above it, once.\nfalse sends it to the dead letters instead."),
    key("artifacts", Shape::Text, r#""listed""#,
        "Files of completed tasks that go with a message: \"off\", \"listed\" (those that the worker listed),\nor \"listed+found\" (also those whose paths stand in the summary or result)."),
    key("artifact_files", Shape::Count, "10",
        "The most files of one message; a platform may take less. 1 to 32."),
    key("artifact_bytes", Shape::Count, "20971520",
        "The most bytes of one file; a platform may take less. 1 to 2000000000."),
    key("artifact_roots", Shape::Paths, "[]",
        "Folders that files are taken from wherever they lie, also below a Hermes home or /var/lib;\nnever keys, boards or our own files."),
    key("artifact_strict", Shape::Switch, "false",
        "Whether files are taken from `artifact_roots`, HERMES_MEDIA_ALLOW_DIRS and Hermes' caches only."),
    key("poll", Shape::Span, r#""1s""#,
        "How often boards are looked at without a hint from the kernel. 20ms to 60s."),
    key("grace", Shape::Span, r#""10s""#,
        "How long messages in flight may take to finish at shutdown. 0s to 10m."),
    key("alongside", Shape::Names, "[]",
        "Platforms that we serve although a live Hermes notifier serves them too."),
    key("backoff.first", Shape::Span, r#""2s""#,
        "The pause after the first failed attempt; it doubles from there. 100ms to 1h."),
    key("backoff.longest", Shape::Span, r#""15m""#,
        "The longest pause between two attempts. 1s to 24h, and not below `first`."),
    key("concurrency.per_channel", Shape::Count, "4",
        "Messages in flight on one channel. 1 to 256."),
    key("concurrency.total", Shape::Count, "64",
        "Messages in flight in all. 1 to 1024, and not below `per_channel`."),
    key("wake.kinds", Shape::Names, r#"["completed", "blocked", "gave_up", "crashed", "timed_out", "review_requested", "changes_requested", "block_loop_detected"]"#,
        "Events that may wake an agent session; others are told to people only. [] wakes nobody."),
    key("wake.task_session", Shape::Switch, "false",
        "Whether the session noted on the task itself is woken for rows of push platforms.\nHermes notes the wrong session when turns run at the same time."),
    key("wake.unknown_session", Shape::Text, r#""create""#,
        "A session that the server does not know: \"create\" it, or \"park\" the wake."),
    key("wake.busy_wait", Shape::Span, r#""10m""#,
        "How long a session with a running turn is waited for. 0s to 24h."),
    key("wake.longest_turn", Shape::Span, r#""30m""#,
        "The longest a turn can take; an unanswered message older than this is no running turn. 1s to 24h."),
    key("wake.settle", Shape::Span, r#""5s""#,
        "How long an unknown outcome rests before the session is searched for it. 0s to 1h."),
    key("wake.min_interval", Shape::Span, r#""0s""#,
        "The least time between two wakes of one session. 0s to 24h."),
    key("wake.max_per_hour", Shape::Count, "60",
        "The most wakes of one session within an hour. 1 to 3600."),
    key("wake.max_failed_turns", Shape::Count, "3",
        "Turns that may fail before a wake goes to the dead letters. 1 to 100."),
    key("wake.max_bytes", Shape::Count, "16384",
        "The longest text of a wake, in bytes. 1024 to 262144."),
    key("wake.timeout", Shape::Span, r#""30m""#,
        "How long the answer to a wake, a whole turn, is waited for. 1s to 24h."),
    key("console.enabled", Shape::Switch, "true",
        "Whether rows of the platform `console` are printed to the standard output of `run`."),
    key("log.format", Shape::Text, r#""human""#,
        "\"human\" or \"json\"."),
    key("log.level", Shape::Text, r#""info""#,
        "off, error, warn, info, debug or trace; or directives such as \"info,kanban_notify=debug\"."),
    key("api_server", Shape::Tables, "[]",
        "API servers besides those found in Hermes' profiles; one here takes the place of the profile's own."),
];

/// The keys of one `[[api_server]]` table, with words for the default file.
#[rustfmt::skip]
pub(super) const SERVER_KEYS: &[(&str, &str)] = &[
    ("profile", "The Hermes profile whose sessions it holds. Default: \"default\"."),
    ("url", "Where it listens, without /v1."),
    ("key", "Its API key, here in the file; or"),
    ("key_file", "a file that holds the key; or"),
    ("key_env", "the environment variable that holds the key."),
    ("model", "The model name to send. Default: \"hermes-agent\", or the profile's name."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_toml() {
        for (index, key) in KEYS.iter().enumerate() {
            assert!(KEYS[index + 1..].iter().all(|other| other.name != key.name));
            if !key.default.is_empty() {
                let table: toml::Table = toml::from_str(&format!("v = {}", key.default)).unwrap();
                assert_eq!(table.len(), 1, "{}", key.name);
            }
        }
    }

    #[test]
    fn levels_are_known() {
        assert!(is_level("wake") && is_level("backoff"));
        assert!(!is_level("wak") && !is_level("owner") && !is_level("wake.kinds"));
        assert!(find("wake.kinds").is_some() && find("kinds").is_none());
    }
}
