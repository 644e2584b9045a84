//! The end of life: the first signal asks for a drain, the second one ends it at once.

use std::{future::Future, io, time::Duration};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT and SIGHUP, as one stream.
#[derive(Debug)]
pub struct Signals {
    term: Signal,
    int: Signal,
    /// None where whoever started us had it ignored, as `nohup` does: that stays so.
    hup: Option<Signal>,
}

impl Signals {
    /// Takes over these signals for the rest of the process's life.
    ///
    /// # Errors
    ///
    /// When the handlers cannot be registered, or outside a tokio runtime with its I/O driver on.
    pub fn install() -> io::Result<Self> {
        let hup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup,
        })
    }

    /// Waits for the next signal and names it.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
            () = received(self.hup.as_mut()) => "SIGHUP",
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // A mask in hexadecimal digits; signal number 1 is its lowest bit.
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained<T> {
    /// Everything in flight was settled.
    Done(T),
    /// The grace ran out.
    Expired,
    /// A second signal asked for an immediate end.
    Forced,
}

/// Runs `drain` for at most `grace`, and no longer than until `again` (the second signal) completes.
///
/// Whatever is cut off stays in the ledger as an intent and is reconciled at the next start (law D1).
pub async fn drain<T>(
    drain: impl Future<Output = T>,
    grace: Duration,
    again: impl Future,
) -> Drained<T> {
    tokio::select! {
        // A drain that is ready counts as done, whatever else happened meanwhile.
        biased;
        done = drain => Drained::Done(done),
        _ = again => Drained::Forced,
        () = tokio::time::sleep(grace) => Drained::Expired,
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, process::Command};

    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_drain_that_ends_in_time_is_done() {
        let work = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            7
        };
        assert_eq!(drain(work, GRACE, pending::<()>()).await, Drained::Done(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_drain_that_hangs_expires() {
        let before = tokio::time::Instant::now();
        let ended = drain(pending::<()>(), GRACE, pending::<()>()).await;
        assert_eq!(ended, Drained::Expired);
        assert!(before.elapsed() >= GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_ends_it_at_once() {
        let before = tokio::time::Instant::now();
        let ended = drain(pending::<()>(), GRACE, async {}).await;
        assert_eq!(ended, Drained::Forced);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn signals_are_heard_one_by_one() {
        let mut signals = Signals::install().unwrap();
        let pid = std::process::id().to_string();
        let all = [("-TERM", "SIGTERM"), ("-INT", "SIGINT"), ("-HUP", "SIGHUP")];
        // What whoever started the tests has ignored stays ignored, here too.
        let heard = if ignores_hangup() { all.len() - 1 } else { all.len() };
        for (flag, name) in all.into_iter().take(heard) {
            assert!(Command::new("kill").args([flag, &pid]).status().unwrap().success());
            assert_eq!(signals.next().await, name);
        }
    }
}
