//! What the ledger knows of a pass's rows, by key: there may be many of both.

use std::collections::HashMap;

use crate::{
    leg::Leg,
    subscription::{SubKey, Subscription},
    time::Timestamp,
};

/// Copies and open legs by the key of their row.
pub(super) struct Known<'a> {
    copies: HashMap<&'a SubKey, Vec<&'a Subscription>>,
    open: HashMap<&'a SubKey, Vec<&'a Leg>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(copies: &'a [Subscription], open: &'a [(SubKey, &'a Leg)]) -> Self {
        let mut known = Self { copies: HashMap::new(), open: HashMap::new() };
        for copy in copies {
            known.copies.entry(&copy.key).or_default().push(copy);
        }
        for (key, leg) in open {
            known.open.entry(key).or_default().push(leg);
        }
        known
    }

    /// The copy of one row.
    pub(super) fn copy(&self, key: &SubKey, created_at: Timestamp) -> Option<&'a Subscription> {
        self.copies(key).iter().find(|copy| copy.created_at == created_at).copied()
    }

    /// The copies of a row and of those that had its key before.
    pub(super) fn copies(&self, key: &SubKey) -> &[&'a Subscription] {
        self.copies.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Their open legs.
    pub(super) fn open(&self, key: &SubKey) -> &[&'a Leg] {
        self.open.get(key).map(Vec::as_slice).unwrap_or_default()
    }
}
