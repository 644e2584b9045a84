//! The names of states in the ledger.

/// Owed; nothing was sent.
pub const PLANNED: &str = "planned";
/// In a recorded claim.
pub const INTENDED: &str = "intended";
/// Owed again.
pub const RETRYING: &str = "retrying";
/// In a claim of unknown outcome.
pub const UNKNOWN: &str = "unknown";
/// Accepted.
pub const DELIVERED: &str = "delivered";
/// In the dead letters.
pub const PARKED: &str = "parked";
/// Too old.
pub const EXPIRED: &str = "expired";
/// Ended unsent.
pub const CANCELLED: &str = "cancelled";
/// Settled by somebody else.
pub const TAKEN: &str = "taken";

/// Every state of a leg.
pub const OF_LEGS: [&str; 9] =
    [PLANNED, INTENDED, RETRYING, UNKNOWN, DELIVERED, PARKED, EXPIRED, CANCELLED, TAKEN];

/// A claim without a last word.
pub const OPEN: &str = "open";
/// A claim that is done with.
pub const OVER: &str = "over";

/// The row is ours and on the board.
pub const LIVE: &str = "live";
/// The row is to be ours; our stamp is not confirmed.
pub const OFFERED: &str = "offered";
/// A running Hermes serves the row now.
pub const THEIRS: &str = "theirs";
/// The row vanished.
pub const GONE: &str = "gone";
/// The row was given back.
pub const RELEASED: &str = "released";

/// Whether a leg in this state lets the cursor pass (law D1).
pub fn is_final(state: &str) -> bool {
    [DELIVERED, PARKED, EXPIRED, CANCELLED, TAKEN].contains(&state)
}

/// Whether a claim may take a leg in this state, and an end may come to it unsent.
pub fn is_unsent(state: &str) -> bool {
    [PLANNED, RETRYING].contains(&state)
}
