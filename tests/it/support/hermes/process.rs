//! Ports, bounded waiting and signals.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A port that is free now, below the range the kernel hands to outgoing connections, so that it
/// is still free after a restart.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..2_000 {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let offset = (std::process::id().wrapping_mul(97).wrapping_add(step)) % 12_000;
        let port = u16::try_from(20_000 + offset).expect("below 32 000");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between 20000 and 32000");
}

/// Asks every 20 ms until the answer is there.
///
/// For things another process does without telling us; everything else waits on a signal.
///
/// # Panics
/// When `within` has passed, with `what`.
#[track_caller]
pub fn eventually<T, F, Fut>(
    what: &str,
    within: Duration,
    mut look: F,
) -> impl Future<Output = T> + use<'_, T, F, Fut>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Option<T>>,
{
    let caller = std::panic::Location::caller();
    async move {
        let end = tokio::time::Instant::now() + within;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(tokio::time::Instant::now() < end, "{caller}: not within {within:?}: {what}");
            // sleep: another process gives no signal.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Sends a signal (`TERM`, `KILL`, `STOP`, `CONT`) to one process that we started.
pub(super) fn signal(name: &str, pid: u32) -> bool {
    Command::new("kill")
        .args([&format!("-{name}"), "--", &pid.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Processes whose `HERMES_HOME` is `home` or a profile in it: workers that a dispatcher of ours
/// spawned into sessions of their own.
pub(super) fn living_in(home: &Path) -> Vec<u32> {
    let wanted = format!("HERMES_HOME={}", home.display());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|byte| *byte == 0).any(|item| {
                    item.strip_prefix(wanted.as_bytes())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/profiles/"))
                })
            })
        })
        .collect()
}
