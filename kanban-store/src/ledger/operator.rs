//! What an operator asks and decides, for commands: each call is a transaction of its own.

mod dead;
mod lag;
mod latest;
mod list;
mod release;
mod reopen;

use std::collections::BTreeMap;
use std::path::Path;

use diesel::{QueryResult, SqliteConnection};

pub use self::{
    dead::{ClaimInfo, DeadDetail, DeadLeg, Decision, ReplayFilter},
    lag::LagInfo,
    list::{BoardInfo, Counts, InstanceInfo, LaneInfo, SubscriptionFilter, SubscriptionInfo},
    release::{Adoption, Released},
};
use super::{Ledger, backlog, during, instance, now, prune, rests, rows::PauseRow};
pub use super::{attempts::Attempt, backlog::WakeRow};
use crate::error::StoreError;

/// An operator's hand on a ledger. A running daemon sees what it changed and reads anew.
pub struct Operator {
    ledger: Ledger,
}

impl Operator {
    /// Opens the ledger as the daemon does; see [`open`](super::open).
    pub fn open(ledger: &Path) -> Result<Self, StoreError> {
        super::open(ledger).map(Self::over)
    }

    /// An operator over a ledger that is open.
    pub fn over(ledger: Ledger) -> Self {
        Self { ledger }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The dead letters: parked and expired legs, oldest first; dropped ones only if asked for.
    pub fn dead_list(&mut self, with_dropped: bool) -> Result<Vec<DeadLeg>, StoreError> {
        self.read("listing the dead letters", |conn| dead::list(conn, with_dropped))
    }

    /// Legs that are still to be sent, oldest first.
    pub fn waiting_list(&mut self) -> Result<Vec<DeadLeg>, StoreError> {
        self.read("listing what waits", dead::waiting)
    }

    /// The newest deliveries of a board, whatever came of them; the last to be planned first.
    pub fn latest(&mut self, board: &str, most: i64) -> Result<Vec<DeadLeg>, StoreError> {
        self.read("listing the newest deliveries", |conn| latest::latest(conn, board, most))
    }

    /// Every delivery for a task of a board, with its last request, in the order of planning.
    pub fn of_task(&mut self, board: &str, task: &str) -> Result<Vec<DeadDetail>, StoreError> {
        self.read("listing a task's deliveries", |conn| {
            let ids = latest::of_task(conn, board, task)?;
            let found: QueryResult<Vec<_>> = ids.iter().map(|id| dead::show(conn, *id)).collect();
            Ok(found?.into_iter().flatten().collect())
        })
    }

    /// Everything about one leg, dead or not.
    pub fn dead_show(&mut self, leg: i64) -> Result<Option<DeadDetail>, StoreError> {
        self.read("reading a leg", |conn| dead::show(conn, leg))
    }

    /// Plans ended legs anew, due at once, under a new epoch (law D11).
    ///
    /// Delivered ones are refused here: those are for [`Operator::replay`].
    pub fn dead_retry(&mut self, legs: &[i64]) -> Result<Vec<Decision>, StoreError> {
        self.write("retrying dead letters", |conn, now| dead::retry(conn, legs, now))
    }

    /// Hides dead letters from the list. They stay ended.
    pub fn dead_drop(&mut self, legs: &[i64]) -> Result<Vec<Decision>, StoreError> {
        self.write("dropping dead letters", |conn, now| dead::discard(conn, legs, now))
    }

    /// The ended and open legs that a replay would take: what [`Operator::replay`] is about to do.
    pub fn replay_preview(&mut self, filter: &ReplayFilter) -> Result<Vec<DeadLeg>, StoreError> {
        self.read("finding legs", |conn| dead::matching(conn, filter))
    }

    /// Plans every ended leg that the filter names anew, also delivered ones, marked as a repeat.
    /// Open ones are refused: what is unknown is looked into first (law D11).
    pub fn replay(&mut self, filter: &ReplayFilter) -> Result<Vec<Decision>, StoreError> {
        self.write("replaying", |conn, now| dead::replay(conn, filter, now))
    }

    /// Gives rows back (law O2): nothing is sent for them any more, their unsent legs are cancelled.
    /// Answers what has to be written on the boards.
    pub fn release(&mut self, subscriptions: &[i64]) -> Result<Vec<Released>, StoreError> {
        self.write("releasing subscriptions", |conn, now| {
            release::release(conn, subscriptions, now)
        })
    }

    /// Records that a row is about to be stamped as ours, with its previous owner (law O2). Answers the
    /// copy's id, or nothing when the ledger does not know the board.
    pub fn adopt(&mut self, adoption: &Adoption) -> Result<Option<i64>, StoreError> {
        self.write("adopting a subscription", |conn, now| release::adopt(conn, adoption, now))
    }

    /// Takes released rows back. Answers how many there were.
    pub fn unrelease(&mut self, subscriptions: &[i64]) -> Result<usize, StoreError> {
        self.write("taking subscriptions back", |conn, now| {
            release::unrelease(conn, subscriptions, now)
        })
    }

    /// Copies of subscriptions, by id.
    pub fn subscription_list(
        &mut self,
        filter: &SubscriptionFilter,
    ) -> Result<Vec<SubscriptionInfo>, StoreError> {
        self.read("listing subscriptions", |conn| list::subscriptions(conn, filter))
    }

    /// How many legs are in which state, and so on.
    pub fn counts(&mut self) -> Result<Counts, StoreError> {
        self.read("counting", list::counts)
    }

    /// How many legs were delivered, parked or expired since a time, in UTC microseconds.
    pub fn ended_since(&mut self, since: i64) -> Result<BTreeMap<String, i64>, StoreError> {
        self.read("counting", |conn| list::ended_since(conn, since))
    }

    /// What each subscription is owed that is owed anything.
    pub fn lags(&mut self) -> Result<Vec<LagInfo>, StoreError> {
        self.read("listing what is owed", lag::lags)
    }

    /// Wakes that were posted since then, oldest first: those that count against budgets (law W5).
    pub fn wakes(&mut self, since: i64) -> Result<Vec<WakeRow>, StoreError> {
        self.read("listing wakes", |conn| backlog::wakes(conn, since))
    }

    /// Sessions that answer under another name: channel, raw, resolved.
    pub fn aliases(&mut self) -> Result<Vec<(String, String, String)>, StoreError> {
        self.read("listing names of sessions", backlog::aliases)
    }

    /// The boards that the ledger knows.
    pub fn boards_list(&mut self) -> Result<Vec<BoardInfo>, StoreError> {
        self.read("listing boards", list::boards)
    }

    /// The lanes that are held, with their claims.
    pub fn lanes(&mut self) -> Result<Vec<LaneInfo>, StoreError> {
        self.read("listing lanes", list::lanes)
    }

    /// Pauses, also those whose time is past.
    pub fn pauses(&mut self) -> Result<Vec<PauseRow>, StoreError> {
        self.read("listing pauses", list::pauses)
    }

    /// Ends a pause. Answers whether there was one.
    pub fn lift_pause(&mut self, channel: &str) -> Result<bool, StoreError> {
        self.write("lifting a pause", |conn, _| rests::lift(conn, channel))
    }

    /// The processes that use the ledger, as far as they are listed.
    pub fn instances(&mut self) -> Result<Vec<InstanceInfo>, StoreError> {
        self.read("listing instances", list::instances)
    }

    /// The listed processes that are alive: whose own locks are held (law D9).
    pub fn living(&mut self) -> Result<Vec<InstanceInfo>, StoreError> {
        let mut living = Vec::new();
        for listed in self.instances()? {
            if instance::is_alive(&self.ledger.path, &listed.id)? {
                living.push(listed);
            }
        }
        Ok(living)
    }

    /// Forgets what is long over, slice by slice.
    pub fn prune(&mut self, limits: prune::Limits) -> Result<prune::Pruned, StoreError> {
        let mut total = prune::Pruned::default();
        let mut mark = Some(prune::Mark::default());
        while let Some(from) = mark {
            let (pruned, next) =
                self.write("pruning", |conn, _| prune::slice(conn, limits, from))?;
            total = total.and(pruned);
            mark = next;
        }
        Ok(total)
    }

    fn read<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T>,
    ) -> Result<T, StoreError> {
        let done = work(&mut self.ledger.conn).map_err(during(operation));
        done.map_err(|error| error.of_ledger(&self.ledger.path))
    }

    fn write<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&mut SqliteConnection, i64) -> QueryResult<T>,
    ) -> Result<T, StoreError> {
        let done = self.ledger.conn.immediate_transaction(|conn| work(conn, now()));
        done.map_err(during(operation)).map_err(|error| error.of_ledger(&self.ledger.path))
    }
}
