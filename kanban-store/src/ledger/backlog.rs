//! Everything open in the ledger, for a start, after a take-over, after an operator's hand.

use std::collections::{BTreeMap, BTreeSet};

use diesel::{connection::DefaultLoadingMode, dsl, prelude::*};

use super::{
    conditions,
    cursor::{self, RaiseRow},
    plan::{self, OwedRows},
    rows::{BoardRow, ClaimRow, PauseRow},
    schema::{aliases, claims, lanes, legs, pauses, subscriptions},
    states,
};

/// A claim with the ids of its legs, oldest event first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaimRows {
    /// The claim.
    pub claim: ClaimRow,
    /// Its legs.
    pub legs: Vec<i64>,
}

/// Everything open.
#[derive(Clone, Debug, Default)]
pub struct WorkRows {
    /// Boards by id.
    pub boards: BTreeMap<i64, BoardRow>,
    /// Copies with an open leg, and those legs, as far as they were asked for.
    pub owed: Vec<OwedRows>,
    /// The other copies with an open leg.
    pub waiting: Waiting,
    /// Cursors to raise.
    pub raises: Vec<RaiseRow>,
    /// Pauses in force.
    pub pauses: Vec<PauseRow>,
    /// Channel, raw session, resolved session.
    pub aliases: Vec<(String, String, String)>,
    /// Wakes that were posted, oldest first.
    pub wakes: Vec<WakeRow>,
    /// When the newest claim was recorded.
    pub newest_claim: Option<i64>,
}

/// A wake that was posted.
#[derive(Clone, Debug, PartialEq, Eq, Queryable)]
pub struct WakeRow {
    /// The channel.
    pub channel: String,
    /// The raw session.
    pub session: String,
    /// When its intent was recorded.
    pub at: i64,
    /// What came of it; empty while it is out.
    pub verdict: String,
    /// Its reference.
    pub reference: String,
}

/// What copies with an open leg have in common: their legs go the same way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The kind of leg.
    pub kind: String,
    /// The platform, as stored.
    pub platform: String,
    /// The profile.
    pub profile: String,
}

/// Copies with an open leg by where it goes, each with its first leg. There may be very many: they are kept
/// as numbers.
pub type Waiting = BTreeMap<Way, Vec<(i64, i64)>>;

/// Gives the open claims of dead instances to `me`, and answers them: each claim, by this, to one
/// instance once (law D9).
pub fn take_over(
    conn: &mut SqliteConnection,
    me: &str,
    is_dead: &dyn Fn(&str) -> bool,
) -> QueryResult<Vec<OpenClaimRows>> {
    let others = lanes::table
        .inner_join(claims::table)
        .filter(claims::instance.ne(me))
        .order(claims::id)
        .select(ClaimRow::as_select())
        .load(conn)?;
    let mut taken = Vec::new();
    for mut claim in others {
        if !is_dead(&claim.instance) {
            continue;
        }
        diesel::update(claims::table.find(claim.id)).set(claims::instance.eq(me)).execute(conn)?;
        claim.instance = me.to_owned();
        let legs = legs::table
            .filter(legs::claim_id.eq(claim.id))
            .filter(conditions::ClaimedLegs)
            .order((legs::event, legs::id))
            .select(legs::id)
            .load(conn)?;
        taken.push(OpenClaimRows { claim, legs });
    }
    Ok(taken)
}

/// Reads what is open now, with the legs of `held` and of what is claimed, and of all where they are few.
/// Wakes are those since `wakes_since`.
pub fn read(
    conn: &mut SqliteConnection,
    held: &[i64],
    now: i64,
    wakes_since: i64,
) -> QueryResult<WorkRows> {
    let (copies, waiting) = open_copies(conn, held)?;
    Ok(WorkRows {
        boards: boards(conn)?,
        owed: owed(conn, &copies)?,
        waiting,
        raises: cursor::raises(conn)?,
        pauses: pauses::table
            .filter(pauses::until.gt(now))
            .order(pauses::channel)
            .select(PauseRow::as_select())
            .load(conn)?,
        aliases: aliases(conn)?,
        wakes: wakes(conn, wakes_since)?,
        newest_claim: claims::table.select(dsl::max(claims::intended_at)).get_result(conn)?,
    })
}

/// Every board by its id.
pub fn boards(conn: &mut SqliteConnection) -> QueryResult<BTreeMap<i64, BoardRow>> {
    Ok(super::boards::all(conn)?.into_iter().map(|board| (board.id, board)).collect())
}

/// Sessions that answer under another name: channel, raw, resolved.
pub fn aliases(conn: &mut SqliteConnection) -> QueryResult<Vec<(String, String, String)>> {
    aliases::table
        .order((aliases::channel, aliases::raw))
        .select((aliases::channel, aliases::raw, aliases::resolved))
        .load(conn)
}

/// Wakes that were posted since then, or may have been, oldest first.
pub fn wakes(conn: &mut SqliteConnection, since: i64) -> QueryResult<Vec<WakeRow>> {
    claims::table
        .filter(claims::intended_at.ge(since))
        .filter(claims::target.eq(SESSION))
        .filter(claims::verdict.eq_any(POSTED))
        .order((claims::intended_at, claims::id))
        .select((
            claims::channel,
            claims::chat,
            claims::intended_at,
            claims::verdict,
            claims::reference,
        ))
        .load(conn)
}

/// What a claim of a wake calls its target.
pub const SESSION: &str = "session";
/// What a claim of a ping calls its target.
pub const CHAT: &str = "chat";

/// Verdicts of wakes that reached their session, or may have; the empty one is still out.
const POSTED: [&str; 5] = ["", "delivered", "failed_turn", "retryable", "unknown"];

/// So many open legs are read at once; others as there is room for them.
const FEW: usize = 512;

/// The copies of which the legs are read now, and the others.
fn open_copies(conn: &mut SqliteConnection, held: &[i64]) -> QueryResult<(Vec<i64>, Waiting)> {
    let open = legs::table
        .inner_join(subscriptions::table)
        .filter(conditions::OpenLegs)
        .order((legs::subscription_id, legs::event, legs::id))
        .select((
            (legs::id, legs::subscription_id, legs::state),
            (legs::kind, subscriptions::platform, subscriptions::profile),
        ))
        .load_iter::<((i64, i64, String), (String, String, String)), DefaultLoadingMode>(conn)?;
    let mut now: BTreeSet<i64> = held.iter().copied().collect();
    let (mut waiting, mut count) = (Waiting::new(), 0_usize);
    for row in open {
        let ((leg, copy, state), (kind, platform, profile)) = row?;
        if now.contains(&copy) || !states::is_unsent(&state) {
            now.insert(copy);
            continue;
        }
        let way = waiting.entry(Way { kind, platform, profile }).or_default();
        count = count.saturating_add(1);
        // A copy's legs come one after the other.
        if way.last().is_none_or(|(_, last)| *last != copy) {
            way.push((leg, copy));
        }
    }
    for way in waiting.values_mut() {
        way.retain(|(_, copy)| !now.contains(copy));
    }
    if count <= FEW {
        now.extend(waiting.values().flatten().map(|(_, copy)| *copy));
        waiting.clear();
    }
    Ok((now.into_iter().collect(), waiting))
}

/// What is open of these copies.
pub fn owed(conn: &mut SqliteConnection, copies: &[i64]) -> QueryResult<Vec<OwedRows>> {
    let mut owed = Vec::new();
    for copy in copies {
        let Some(subscription) = plan::copy(conn, *copy)? else { continue };
        let legs = plan::open_legs(conn, &subscription)?;
        if !legs.is_empty() {
            owed.push(OwedRows { subscription, legs });
        }
    }
    Ok(owed)
}
