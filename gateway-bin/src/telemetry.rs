//! The log: human lines or JSON on standard error, filtered as configured.

use std::io;

use anyhow::{Context, bail};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{
    config::{Log, LogFormat, nearest},
    ops::is_wild,
};

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
        LogFormat::Json => {
            let lines = lines.map_writer(Escaped);
            Box::new(lines.json().flatten_event(true).finish())
        }
    })
}

/// Lines of JSON for somebody who may look at them on a terminal: JSON itself escapes only a part of what a
/// terminal acts on.
struct Escaped<W>(W);

impl<'writer, W: MakeWriter<'writer>> MakeWriter<'writer> for Escaped<W> {
    type Writer = EscapedLine<W::Writer>;

    fn make_writer(&'writer self) -> Self::Writer {
        EscapedLine(self.0.make_writer())
    }
}

/// Takes whole lines.
struct EscapedLine<W>(W);

impl<W: io::Write> io::Write for EscapedLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wild = |c: char| is_wild(c) && c != '\n';
        match std::str::from_utf8(bytes) {
            Ok(line) if line.contains(wild) => {
                let mut tame = String::with_capacity(line.len().saturating_mul(2));
                for c in line.chars() {
                    if wild(c) {
                        // Such a character stands in a string: nowhere else does JSON have it.
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            tame.push_str(&format!("\\u{unit:04x}"));
                        }
                    } else {
                        tame.push(c);
                    }
                }
                self.0.write_all(tame.as_bytes())?;
            }
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
    fn w9_json_lines_hold_nothing_that_a_terminal_acts_on() {
        let buffer = Buffer::default();
        let log = Log { format: LogFormat::Json, level: "info".into() };
        let wild = "a\u{9b}2J\u{202e}\u{e0041}\u{1b}[2J\nend";
        tracing::subscriber::with_default(subscriber(&log, false, buffer.clone()).unwrap(), || {
            tracing::info!(lane = wild, "sent");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert!(!text.trim_end().contains(is_wild), "{}", text.escape_debug());
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["lane"], wild);
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
