//! Time for the driver: the wall clock, waited for in steps that survive suspension and clock jumps.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use kanban_notify::{ports::Clock, time::Timestamp};
use tokio::time::Instant;

/// The longest single wait: after a suspension or a jump the clock is read again within this time.
const RECHECK: Duration = Duration::from_secs(60);

/// The wall clock on tokio's timers.
///
/// It follows the system clock, jumps included, because back-off and ages are wall-clock spans that
/// outlive the process (law D8).
#[derive(Debug, Default)]
pub struct SystemClock {
    simulated: Option<Simulation>,
}

#[derive(Debug)]
struct Simulation {
    base: Timestamp,
    origin: Instant,
    shift_micros: AtomicI64,
}

impl SystemClock {
    /// The clock of this machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that shows `start` now and then runs with tokio's time: for tests on paused time.
    pub fn simulated(start: Timestamp) -> Self {
        Self {
            simulated: Some(Simulation {
                base: start,
                origin: Instant::now(),
                shift_micros: AtomicI64::new(0),
            }),
        }
    }

    /// Sets a simulated clock forward (or back, if negative) by microseconds, as an operator or NTP
    /// would; timers do not notice. Without effect on the real clock.
    pub fn jump(&self, micros: i64) {
        if let Some(simulation) = &self.simulated {
            simulation.shift_micros.fetch_add(micros, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        match &self.simulated {
            None => system_now(),
            Some(simulation) => {
                let shifted = simulation
                    .base
                    .micros()
                    .saturating_add(simulation.shift_micros.load(Ordering::SeqCst));
                Timestamp::from_micros(shifted).after(simulation.origin.elapsed())
            }
        }
    }

    async fn sleep_until(&self, at: Timestamp) {
        loop {
            let rest = at.since(self.now());
            if rest.is_zero() {
                return;
            }
            // A timer counts time awake; the wall clock may have moved meanwhile, in either direction.
            tokio::time::sleep(rest.min(RECHECK)).await;
        }
    }
}

fn system_now() -> Timestamp {
    let now = SystemTime::now();
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => Timestamp::default().after(since),
        Err(before) => Timestamp::default().before(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const NOON: Timestamp = Timestamp::from_secs(1_800_000_000);

    #[tokio::test(start_paused = true)]
    async fn waits_until_the_wall_clock_is_reached() {
        let clock = SystemClock::simulated(NOON);
        clock.sleep_until(NOON.after(Duration::from_secs(200))).await;
        assert!(clock.now() >= NOON.after(Duration::from_secs(200)));
        assert!(clock.now() < NOON.after(Duration::from_secs(201)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_past_is_at_once() {
        let clock = SystemClock::simulated(NOON);
        let before = Instant::now();
        clock.sleep_until(NOON).await;
        clock.sleep_until(Timestamp::default()).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_forward_is_noticed_within_a_minute() {
        let clock = Arc::new(SystemClock::simulated(NOON));
        let sleeper = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move {
                clock.sleep_until(NOON.after(Duration::from_secs(3_600))).await;
            })
        };
        tokio::task::yield_now().await;
        let before = Instant::now();
        clock.jump(3_600_000_000);
        sleeper.await.unwrap();
        assert!(before.elapsed() <= RECHECK + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_back_prolongs_the_wait() {
        let clock = Arc::new(SystemClock::simulated(NOON));
        let sleeper = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move {
                clock.sleep_until(NOON.after(Duration::from_secs(90))).await;
            })
        };
        tokio::task::yield_now().await;
        let before = Instant::now();
        clock.jump(-30_000_000);
        sleeper.await.unwrap();
        assert!(before.elapsed() >= Duration::from_secs(120));
    }

    #[test]
    fn the_real_clock_is_the_systems() {
        let clock = SystemClock::new();
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let shown = Duration::from_micros(u64::try_from(clock.now().micros()).unwrap());
        assert!(shown >= Duration::from_micros(u64::try_from(system.as_micros()).unwrap()));
        assert!(shown < system + Duration::from_secs(60));
    }
}
