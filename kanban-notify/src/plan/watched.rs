//! What the present state of a row with something open says, beside its events.

use super::{Basis, Decision, Known, push_row, stand_in};
use crate::{
    ownership::{self, Ownership, Why},
    subscription::{Life, Row, SubKey, Subscription},
};

/// That a row has ended, which counts for requests in flight too (law S2); and a cursor that an older copy
/// of the ledger has not seen raised (law D10).
pub(super) fn note_unseen(
    basis: &Basis<'_>,
    key: &SubKey,
    row: Option<&Row>,
    known: &Known<'_>,
    decision: &mut Decision,
) {
    for copy in known.copies(key) {
        if decision.named.get(key).is_some_and(|named| named.contains(&copy.created_at)) {
            continue;
        }
        let on_board = matches!(copy.life, Life::Live | Life::Offered | Life::Theirs);
        let (cursor, life) = match row.filter(|row| row.created_at == copy.created_at) {
            Some(row) if basis.older.is_some() && row.cursor > copy.settled => {
                (row.cursor, copy.life)
            }
            // Its task is read bit by bit: it has ended only once all of that was shown (law O3).
            None if is_still_owed(copy) && basis.is_behind(&key.task, decision) => continue,
            None if on_board => (copy.settled, Life::Gone),
            _ => continue,
        };
        let (profile, adopted) = (copy.profile.clone(), copy.adopted.clone());
        let (row, range) = (stand_in(copy, cursor), (copy.baseline, copy.seen));
        push_row(decision, &row, profile, adopted, life, range, (Vec::new(), None));
    }
}

/// Whether what happened to the task of a copy is owed to it although its row is gone: it was only offered to
/// us, and a notifier of Hermes had listed it before (law O3).
pub(super) fn is_still_owed(copy: &Subscription) -> bool {
    copy.life == Life::Offered && copy.key.is_api_server()
}

impl Basis<'_> {
    /// Whether a task has events that are not read yet.
    fn is_behind(&self, task: &str, decision: &Decision) -> bool {
        self.apart.contains_key(task) || decision.behind.contains_key(task)
    }
}

/// A Hermes that was started meanwhile tells what is open by itself, and we only watch; when it is gone
/// and has not, it is ours again (law O1).
pub(super) fn decide_server(
    basis: &Basis<'_>,
    row: &Row,
    known: &Known<'_>,
    decision: &mut Decision,
) {
    let Basis { board, policy, world, .. } = basis;
    let copy = known.copy(&row.key, row.created_at);
    let Some(copy) = copy.filter(|_| !decision.named.contains_key(&row.key)) else { return };
    let owner = ownership::decide(row, Some(copy), board.has_delivery_mode, policy, world);
    let life = match (copy.life, owner) {
        (Life::Live | Life::Offered, Ownership::ReadOnly(Why::HermesServes)) => Life::Theirs,
        (Life::Theirs, Ownership::Ours { .. }) => Life::Live,
        _ => return,
    };
    let (profile, adopted) = (copy.profile.clone(), copy.adopted.clone());
    let range = (copy.baseline, copy.seen);
    push_row(decision, row, profile, adopted, life, range, (Vec::new(), None));
}
