//! The log: human lines or JSON on standard error, filtered as configured.

use anyhow::{Context, bail};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::{Log, LogFormat, nearest};

/// Starts logging to standard error for the whole process.
///
/// `colour` is for the human format on a terminal; the caller knows whether there is one.
///
/// # Errors
///
/// When the filter is malformed, or a subscriber was installed before.
pub fn init(log: &Log, colour: bool) -> anyhow::Result<()> {
    let subscriber = subscriber(log, colour, std::io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).context("logging was started twice")
}

/// The subscriber itself, writing to `writer`.
///
/// # Errors
///
/// When the filter is malformed.
pub fn subscriber<W>(
    log: &Log,
    colour: bool,
    writer: W,
) -> anyhow::Result<Box<dyn Subscriber + Send + Sync>>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let filter = filter(&log.level)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    Ok(match log.format {
        LogFormat::Human => Box::new(lines.with_ansi(colour).finish()),
        // Fields beside the message, so that a log pipeline finds them without digging.
        LogFormat::Json => Box::new(lines.json().flatten_event(true).finish()),
    })
}

/// The levels by name.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads a filter like `info` or `info,gateway_bin=debug`.
///
/// # Errors
///
/// When a directive is malformed, or a word that stands alone is no level: it would be taken for the name
/// of a part of the program, and silence all the others.
pub fn filter(directives: &str) -> anyhow::Result<EnvFilter> {
    for directive in directives.split(',').map(str::trim) {
        let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level);
        if directive.is_empty() && !directives.trim().is_empty() {
            continue;
        }
        // A span's fields may hold an equals sign too; those are for the parser to judge.
        if !level.contains(['[', ']', '{', '}'])
            && (level.is_empty() || level.parse::<LevelFilter>().is_err())
        {
            let hint = nearest(&level.to_lowercase(), LEVELS.into_iter())
                .map(|meant| format!("; did you mean `{meant}`?"))
                .unwrap_or_default();
            bail!("`{level}` is no level: {}{hint}", LEVELS.join(", "));
        }
    }
    EnvFilter::builder()
        .parse(directives)
        .with_context(|| format!("`{directives}` is not a log filter"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Buffer {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    fn logged(format: LogFormat, level: &str, colour: bool) -> String {
        let buffer = Buffer::default();
        let log = Log { format, level: level.to_owned() };
        let subscriber = subscriber(&log, colour, buffer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(board.id = 7, "board opened");
            tracing::debug!("detail");
        });
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn human_lines_carry_message_and_fields() {
        let text = logged(LogFormat::Human, "info", false);
        assert!(text.contains("board opened") && text.contains("board.id=7"));
        assert!(!text.contains("detail") && !text.contains('\u{1b}'));
        assert!(logged(LogFormat::Human, "info", true).contains('\u{1b}'));
    }

    #[test]
    fn json_lines_are_objects_with_flat_fields() {
        let text = logged(LogFormat::Json, "debug", true);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["message"], "board opened");
        assert_eq!(lines[0]["board.id"], 7);
    }

    #[test]
    fn filters_select_by_target_and_malformed_ones_are_refused() {
        assert!(logged(LogFormat::Human, "off", false).is_empty());
        assert!(!logged(LogFormat::Human, "warn,gateway_bin=debug", false).is_empty());
        assert!(filter("gateway_bin=loud").is_err());
    }

    #[test]
    fn a_mistyped_level_is_refused_with_the_one_that_was_meant() {
        for (wrong, meant) in [
            ("wran", Some("warn")),
            ("Info,kanban_notify=debg", Some("debug")),
            ("info,tarce", Some("trace")),
            ("kanban_notify", None),
            ("", None),
        ] {
            let error = filter(wrong).unwrap_err().to_string();
            assert!(error.contains("off, error, warn, info, debug, trace"), "{wrong}: {error}");
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            assert_eq!(error.contains("did you mean"), hint.is_some(), "{wrong}: {error}");
            assert!(hint.is_none_or(|hint| error.contains(&hint)), "{wrong}: {error}");
        }
        for right in
            ["off", "INFO", "info,", "info,kanban_notify=debug", "info,[claim.send{lane=x}]=debug"]
        {
            assert!(filter(right).is_ok(), "{right}");
        }
    }
}
