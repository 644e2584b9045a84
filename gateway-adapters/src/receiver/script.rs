//! Scripted answers: each wake takes the next one, the last one stays.

use std::{collections::VecDeque, str::FromStr};

use crate::AdapterError;

/// What becomes of one wake that passed authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// The turn runs and is answered: 200.
    Answer,
    /// The turn runs, has text and did not complete: 200, `completed: false`, `failed: false`.
    Incomplete,
    /// The turn runs and fails, as without a reachable model: 200, `hermes.failed`.
    Failed,
    /// The turn runs and ends without text: 502 `agent_incomplete`, replayed for its key.
    NoText,
    /// The turn raises: 500, not kept for its key.
    Raise,
    /// The turn runs, and a proxy in front has given up: 504 at once.
    GaveUp,
    /// The turn runs, and the connection is closed at once, without a reply.
    Drop,
    /// The connection is closed without a reply, and no turn runs.
    Lose,
    /// This status, and no turn. 429 and 503 carry `Retry-After`, redirects a `Location`.
    Refuse(u16),
}

/// A list of answers.
///
/// Written as items separated by commas. An item is a status from 200 to 599, or `incomplete`,
/// `failed`, `drop` or `lose`; with `:N` behind it, it is taken by N wakes (at least 1). The last
/// item is taken by all further wakes. `500:2,200` is: fail twice, then work. Of the statuses, 200
/// is [`Scripted::Answer`], 500 [`Scripted::Raise`], 502 [`Scripted::NoText`], 504
/// [`Scripted::GaveUp`], every other one [`Scripted::Refuse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    items: VecDeque<(Scripted, u32)>,
}

impl Default for Script {
    fn default() -> Self {
        Self::of([Scripted::Answer])
    }
}

impl Script {
    /// One wake for each answer; the last one stays. Nothing means [`Scripted::Answer`].
    pub fn of(answers: impl IntoIterator<Item = Scripted>) -> Self {
        Self { items: answers.into_iter().map(|answer| (answer, 1)).collect() }
    }

    /// The answer to the next wake.
    pub(super) fn next(&mut self) -> Scripted {
        let is_last = self.items.len() <= 1;
        let Some((answer, times)) = self.items.front_mut() else {
            return Scripted::Answer;
        };
        let answer = *answer;
        if !is_last {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.items.pop_front();
            }
        }
        answer
    }
}

impl FromStr for Script {
    type Err = AdapterError;

    fn from_str(text: &str) -> Result<Self, AdapterError> {
        let items = text.split(',').map(|item| parse(item.trim()));
        Ok(Self { items: items.collect::<Result<_, _>>()? })
    }
}

fn parse(item: &str) -> Result<(Scripted, u32), AdapterError> {
    let refuse = |reason| AdapterError::Script { item: item.to_owned(), reason };
    let (answer, times) = match item.split_once(':') {
        None => (item, 1),
        Some((answer, times)) => {
            let times = times.parse().ok().filter(|times| *times > 0);
            let needed = "a number above 0 is needed after the colon";
            (answer, times.ok_or_else(|| refuse(needed))?)
        }
    };
    let answer = match answer {
        "200" => Scripted::Answer,
        "500" => Scripted::Raise,
        "502" => Scripted::NoText,
        "504" => Scripted::GaveUp,
        "incomplete" => Scripted::Incomplete,
        "failed" => Scripted::Failed,
        "drop" => Scripted::Drop,
        "lose" => Scripted::Lose,
        status => {
            let known = "a status from 200 to 599, incomplete, failed, drop or lose is needed";
            let status = status.parse().ok();
            let status = status.filter(|status| (200..600).contains(status));
            Scripted::Refuse(status.ok_or_else(|| refuse(known))?)
        }
    };
    Ok((answer, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_in_order_and_the_last_one_stays() {
        let mut script: Script = "500, 429:2,drop,200".parse().unwrap();
        let taken: Vec<Scripted> = (0..6).map(|_| script.next()).collect();
        assert_eq!(
            taken,
            [
                Scripted::Raise,
                Scripted::Refuse(429),
                Scripted::Refuse(429),
                Scripted::Drop,
                Scripted::Answer,
                Scripted::Answer,
            ]
        );
        assert_eq!(Script::of([]).next(), Scripted::Answer);
    }

    #[test]
    fn a_wrong_item_is_named() {
        for bad in ["", "20", "600", "x", "200:0", "200:", "200,,200", "-1"] {
            let error = bad.parse::<Script>().unwrap_err();
            assert!(matches!(error, AdapterError::Script { .. }), "{bad}");
        }
    }
}
