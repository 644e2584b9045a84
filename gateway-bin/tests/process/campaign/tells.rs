//! What sessions and chats heard, and whether it is what they must have heard (laws D1, D4, D7, W6).

use std::collections::{BTreeMap, BTreeSet};

use gateway_adapters::receiver::Receiver;
use serde_json::Value;

use super::work::{Leg, marks};

/// One effect: a turn that ran, or a line that was printed.
#[derive(Clone, Debug)]
pub struct Tell {
    pub key: String,
    pub marked: bool,
    pub legs: Vec<Leg>,
}

/// The turns that ran, in their order.
pub fn turns(receiver: &Receiver, ran: &BTreeSet<u64>) -> Vec<Tell> {
    let wakes = receiver.wakes().into_iter().filter(|wake| ran.contains(&wake.number));
    let tells = wakes.map(|wake| {
        let (text, chat) = (wake.text(), wake.session().unwrap().to_owned());
        let leg = |mark| Leg { platform: "api_server".to_owned(), chat: chat.clone(), mark };
        Tell {
            key: wake.key().unwrap().to_owned(),
            marked: text.contains("may be a repeat"),
            legs: marks(&text).into_iter().map(leg).collect(),
        }
    });
    tells.collect()
}

/// A printed line; nothing if a kill tore it. What a torn line left in front of another is skipped.
pub fn line(line: &str) -> Option<Tell> {
    let line = line.get(line.rfind(r#"{"platform":"#)?..)?;
    let line: Value = serde_json::from_str(line).ok()?;
    let chat = line["chat"].as_str()?;
    let leg = |mark| Leg { platform: "console".to_owned(), chat: chat.to_owned(), mark };
    Some(Tell {
        key: line["key"].as_str()?.to_owned(),
        marked: line["possible_repeat"].as_bool()?,
        legs: marks(line["text"].as_str()?).into_iter().map(leg).collect(),
    })
}

/// What may explain that something was told more than once.
#[derive(Debug, Default)]
pub struct Excuses {
    /// Under how many keys the outcome for a leg could not be known: in flight at a kill, or cut off.
    pub unknown: BTreeMap<Leg, usize>,
    /// What an operator asked for again.
    pub asked: BTreeSet<Leg>,
    /// Whether a wake needs no excuse, because there is none.
    pub wakes_are_known: bool,
}

/// Everything that is not as it must be, with the leg that it is about.
pub fn faults(
    legs: &BTreeMap<Leg, String>,
    tells: &[Tell],
    excuses: &Excuses,
) -> Vec<(Leg, String)> {
    let mut heard: BTreeMap<&Leg, Vec<bool>> = BTreeMap::new();
    let mut last: BTreeMap<_, &Leg> = BTreeMap::new();
    let mut faults = Vec::new();
    for tell in tells {
        for leg in &tell.legs {
            let marks = heard.entry(leg).or_default();
            marks.push(tell.marked);
            if marks.len() > 1 {
                continue;
            }
            let before = last.insert(leg.subscription(), leg);
            let late = before.is_some_and(|before| before.mark > leg.mark);
            if late && !excuses.asked.contains(leg) {
                faults.push((leg.clone(), "told behind a later one".to_owned()));
            }
        }
    }
    for leg in heard.keys().filter(|leg| !legs.contains_key(**leg)) {
        faults.push(((*leg).clone(), "nobody asked for it".to_owned()));
    }
    for leg in legs.keys() {
        let marks = heard.get(leg).map(Vec::as_slice).unwrap_or_default();
        let unknown = excuses.unknown.get(leg).copied().unwrap_or_default();
        let repeats = marks.iter().filter(|marked| **marked).count();
        let most = if excuses.asked.contains(leg) { usize::MAX } else { 2 };
        let fault = if marks.is_empty() {
            "lost"
        } else if leg.is_wake() && excuses.wakes_are_known && marks != [false] {
            "not told exactly once"
        } else if marks.iter().skip(1).any(|marked| !marked) {
            "repeated without a mark"
        } else if repeats > unknown {
            "more repeats than unknown outcomes"
        } else if marks.len() > most {
            "more than one repeat"
        } else {
            continue;
        };
        faults.push((leg.clone(), format!("{fault}: marked {marks:?}, unknown {unknown}")));
    }
    faults
}

/// How many effects brought something that was told before.
pub fn repeats(tells: &[Tell]) -> usize {
    let mut heard = BTreeSet::new();
    let mut repeats = 0;
    for tell in tells {
        let known = tell.legs.iter().filter(|leg| !heard.insert(*leg)).count();
        repeats += usize::from(known > 0);
    }
    repeats
}
