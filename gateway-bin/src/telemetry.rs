//! The log: human lines or JSON on standard error, filtered as configured.

use anyhow::Context;
use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::{Log, LogFormat};

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

/// Reads a filter like `info` or `info,gateway_bin=debug`.
///
/// # Errors
///
/// When a directive is malformed.
pub fn filter(directives: &str) -> anyhow::Result<EnvFilter> {
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
}
