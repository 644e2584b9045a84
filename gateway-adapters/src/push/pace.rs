//! How fast a platform may be sent to: static caps for each chat and for the token, and rests it asked for.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kanban_notify::verdict::{Detail, Verdict};
use tokio::time::{Instant, sleep_until};

/// So many at once, and one more after each period.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    /// So many at once.
    pub burst: u32,
    /// The time for one more.
    pub period: Duration,
}

impl Cap {
    /// A cap.
    pub const fn new(burst: u32, period: Duration) -> Self {
        Self { burst, period }
    }
}

/// A limiter for one token.
#[derive(Debug)]
pub struct Pace {
    token: Cap,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Instant>,
    chats: HashMap<String, Instant>,
}

/// A wait that is longer is a verdict: the place of the request is worth more to others.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Chats that are remembered; those that wait for nothing are forgotten.
const CHATS: usize = 1_024;

impl Pace {
    /// A limiter with this cap for all that the token sends.
    pub fn new(token: Cap) -> Self {
        Self { token, state: Mutex::default() }
    }

    /// Waits until a message may be sent to `chat`, for a moment at the most.
    ///
    /// # Errors
    ///
    /// Busy, with the time that is left, where it would take longer; nothing is counted then.
    pub async fn wait(&self, chat: &str, cap: Cap) -> Result<(), Verdict> {
        let at = self.take(chat, cap, Instant::now())?;
        sleep_until(at).await;
        Ok(())
    }

    /// The platform asked to be left alone with this chat for so long: kept for everything that goes there.
    pub fn hold(&self, chat: &str, wait: Duration, cap: Cap) {
        let now = Instant::now();
        // As if all of the burst were used up until then.
        let until = now.checked_add(wait).and_then(|at| at.checked_add(lead(cap)));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = state.chats.entry(chat.to_owned()).or_insert(now);
        *slot = until.unwrap_or(now).max(*slot);
    }

    /// The same for everything that the token sends.
    pub fn hold_all(&self, wait: Duration) {
        let now = Instant::now();
        let until = now.checked_add(wait).and_then(|at| at.checked_add(lead(self.token)));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.token = until.max(state.token);
    }

    fn take(&self, chat: &str, cap: Cap, now: Instant) -> Result<Instant, Verdict> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.chats.len() > CHATS {
            state.chats.retain(|_, at| *at > now);
        }
        let mine = state.chats.get(chat).copied().unwrap_or(now).max(now);
        let all = state.token.unwrap_or(now).max(now);
        let at = start(mine, cap, now).max(start(all, self.token, now));
        let wait = at.saturating_duration_since(now);
        if wait > LONGEST_WAIT {
            let detail = Detail::new("the platform's limit for this chat is used up for now");
            return Err(Verdict::Busy { retry_after: Some(wait), detail });
        }
        state.chats.insert(chat.to_owned(), mine.checked_add(cap.period).unwrap_or(mine));
        state.token = all.checked_add(self.token.period).or(Some(all));
        Ok(at)
    }
}

/// When a request may start whose place in the line is `slot`: so much earlier as the burst allows.
fn start(slot: Instant, cap: Cap, now: Instant) -> Instant {
    slot.checked_sub(lead(cap)).unwrap_or(now).max(now)
}

fn lead(cap: Cap) -> Duration {
    cap.period.saturating_mul(cap.burst.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Cap = Cap::new(3, Duration::from_secs(1));
    const WIDE: Cap = Cap::new(100, Duration::from_millis(10));

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_then_one_each_period() {
        let pace = Pace::new(WIDE);
        let start = Instant::now();
        for _ in 0..5 {
            pace.wait("a", CHAT).await.unwrap();
        }
        assert_eq!(start.elapsed().as_secs(), 2);
        pace.wait("b", CHAT).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 2, "another chat waits for nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn the_token_has_a_cap_of_its_own() {
        let pace = Pace::new(Cap::new(2, Duration::from_secs(1)));
        let start = Instant::now();
        for chat in ["a", "b", "c", "d"] {
            pace.wait(chat, CHAT).await.unwrap();
        }
        assert_eq!(start.elapsed().as_secs(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn report_69_a_rest_that_was_asked_for_is_kept_and_long_waits_are_verdicts() {
        let pace = Pace::new(WIDE);
        pace.hold("a", Duration::from_secs(1_000), CHAT);
        let busy = pace.wait("a", CHAT).await.unwrap_err();
        let Verdict::Busy { retry_after: Some(wait), .. } = busy else { panic!("{busy:?}") };
        assert_eq!(wait.as_secs(), 1_000);
        pace.wait("b", CHAT).await.unwrap();
        tokio::time::advance(wait).await;
        pace.wait("a", CHAT).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_of_everything_is_one_of_each_chat() {
        let pace = Pace::new(WIDE);
        pace.hold_all(Duration::from_secs(3));
        let start = Instant::now();
        pace.wait("a", CHAT).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 3);
        pace.hold_all(Duration::from_secs(100));
        for chat in ["a", "b"] {
            assert_eq!(pace.wait(chat, CHAT).await.unwrap_err().name(), "busy");
        }
    }
}
