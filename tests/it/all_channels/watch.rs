//! What reaches the stand-ins of all platforms, and whether it comes too fast for a chat.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gateway_adapters::receiver::push::{Platform, PushAnswer};
use tokio::sync::Semaphore;

use super::platforms::Row;

/// A chat on a platform.
pub type Place = (&'static str, String);

/// Sees every message of every platform.
pub struct Watch {
    state: Mutex<State>,
    /// The chat that is slow.
    slow: Place,
    /// It has one answer for so many messages to others of its platform, and all once they have theirs.
    every: usize,
    others: usize,
    /// What it waits for.
    pub gate: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    texts: BTreeMap<Place, Vec<String>>,
    times: BTreeMap<Place, Vec<Instant>>,
    refused: Vec<String>,
    others: usize,
    count: usize,
}

/// In any so long a time there are as many messages as the burst and the periods in it allow.
const WINDOW: Duration = Duration::from_secs(2);

impl Watch {
    pub fn new(slow: Place, every: usize, others: usize) -> Arc<Self> {
        let gate = Arc::new(Semaphore::new(0));
        Arc::new(Self { state: Mutex::default(), slow, every, others, gate })
    }

    /// A platform that is watched, and that refuses what is too much for a chat.
    pub fn over(self: &Arc<Self>, row: &'static Row, platform: Platform) -> Platform {
        let watch = Arc::clone(self);
        Box::new(move |heard| {
            let (answer, message) = platform(heard);
            let Some(message) = message else {
                watch.refuse(format!("{} {} {answer:?}", row.name, heard.path));
                return (answer, None);
            };
            let place = (row.name, message.chat.clone());
            if !watch.sees(row, &place, &message.text) {
                watch.refuse(format!("{place:?}: too many messages in {WINDOW:?}"));
                return (PushAnswer::new(429, "").with("retry-after", "1"), None);
            }
            (answer, Some(message))
        })
    }

    /// Whether the chat may be sent one more message now.
    fn sees(&self, row: &Row, place: &Place, text: &str) -> bool {
        let mut state = self.state.lock().unwrap();
        let now = Instant::now();
        let times = state.times.entry(place.clone()).or_default();
        times.retain(|time| now - *time < WINDOW);
        times.push(now);
        // One more for those that were under way at the beginning of the time.
        let periods = WINDOW.as_millis().checked_div(row.period.as_millis());
        let most = periods.map(|periods| row.burst + usize::try_from(periods).unwrap() + 1);
        if most.is_some_and(|most| times.len() > most) {
            return false;
        }
        state.texts.entry(place.clone()).or_default().push(text.to_owned());
        state.count += 1;
        if place.0 == self.slow.0 && *place != self.slow {
            state.others += 1;
            if state.others == self.others {
                self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
            } else if state.others.is_multiple_of(self.every) {
                self.gate.add_permits(1);
            }
        }
        true
    }

    fn refuse(&self, what: String) {
        self.state.lock().unwrap().refused.push(what);
    }

    /// What was refused, if anything.
    pub fn refused(&self) -> Vec<String> {
        self.state.lock().unwrap().refused.clone()
    }

    /// How many messages all chats show.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap().count
    }

    /// What each chat shows, oldest first.
    pub fn texts(&self) -> BTreeMap<Place, Vec<String>> {
        self.state.lock().unwrap().texts.clone()
    }
}
