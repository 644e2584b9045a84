//! A receiver in memory: fails on purpose, remembers keys or not, shows its history or not.

use std::collections::HashMap;

use kanban_notify::{
    history::{HistoryFold, HistoryRow, Role, SessionView},
    message::{Destination, Parcel},
    ports::LookError,
    time::Timestamp,
    verdict::{Detail, Fault, Receipt, Verdict},
};

#[derive(Default)]
pub struct Receiver {
    pub deduplicates: bool,
    pub readable: bool,
    pub answered: HashMap<String, ()>,
    pub rows: HashMap<String, Vec<(Timestamp, String)>>,
    /// What took effect: destination and body.
    pub effects: Vec<(Destination, String)>,
}

/// How one request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ok,
    /// It takes effect, and nobody hears of it.
    Silent,
    /// It has no effect, and nobody hears of it.
    Lost,
    Refused,
    Busy,
    Error,
    FailedTurn,
    BadKey,
}

impl Fate {
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Silent,
        Self::Lost,
        Self::Refused,
        Self::Busy,
        Self::Error,
        Self::FailedTurn,
        Self::BadKey,
    ];
}

impl Receiver {
    pub fn take(&mut self, parcel: &Parcel, fate: Fate, now: Timestamp) -> Verdict {
        let detail = Detail::new("as told");
        // A key that was answered is answered the same again, once the request gets that far.
        let known = self.deduplicates && self.answered.contains_key(&parcel.key);
        match fate {
            Fate::Error | Fate::FailedTurn if known => Verdict::Delivered(Receipt::default()),
            Fate::Ok => {
                self.effect(parcel, now);
                Verdict::Delivered(Receipt::default())
            }
            Fate::Silent => {
                self.effect(parcel, now);
                Verdict::Unknown { detail }
            }
            Fate::Lost => Verdict::Unknown { detail },
            Fate::Refused => Verdict::Unreachable { detail },
            Fate::Busy => Verdict::Busy { retry_after: None, detail },
            Fate::Error => Verdict::Retryable { retry_after: None, detail },
            Fate::FailedTurn => Verdict::FailedTurn { detail },
            Fate::BadKey => Verdict::Permanent { fault: Fault::Credential, detail },
        }
    }

    fn effect(&mut self, parcel: &Parcel, now: Timestamp) {
        if self.deduplicates && self.answered.insert(parcel.key.clone(), ()).is_some() {
            return;
        }
        self.effects.push((parcel.destination.clone(), parcel.body.clone()));
        if let Destination::Session { session, .. } = &parcel.destination {
            self.rows.entry(session.clone()).or_default().push((now, parcel.body.clone()));
        }
    }

    pub fn look(
        &self,
        session: &str,
        reference: Option<&str>,
        fails: bool,
    ) -> Result<SessionView, LookError> {
        if !self.readable {
            return Err(LookError::Unsupported);
        }
        if fails {
            return Err(LookError::Failed(Detail::new("as told")));
        }
        let Some(rows) = self.rows.get(session) else {
            return Ok(SessionView::default());
        };
        let mut fold = HistoryFold::new(reference);
        for (at, text) in rows {
            let at = Some(*at);
            fold.push(&HistoryRow { role: Role::User, text, calls_tools: false, at });
            fold.push(&HistoryRow { role: Role::Assistant, text: "done", calls_tools: false, at });
        }
        Ok(fold.finish(Some(session.to_owned())))
    }
}
