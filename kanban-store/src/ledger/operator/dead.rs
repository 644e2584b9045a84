//! Dead letters and replays (law D11).

use diesel::{prelude::*, sqlite::Sqlite};

use super::reopen::{Reopened, UNKNOWN_VERDICT, reopen};
use crate::ledger::{
    attempts::{self, Attempt},
    conditions,
    rows::{BoardRow, ClaimRow, EventRow, LegRow, SubscriptionRow},
    schema::{boards, claims, events, legs, subscriptions},
    states,
};

/// A leg as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeadLeg {
    /// The leg's id.
    pub id: i64,
    /// The subscription's id.
    pub subscription: i64,
    /// The board's name.
    pub board: String,
    /// The task.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// The event's id.
    pub event: i64,
    /// What happened.
    pub event_kind: String,
    /// When the event was written, in UTC microseconds.
    pub event_at: i64,
    /// `ping` or `wake`.
    pub kind: String,
    /// The platform.
    pub platform: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// The Hermes profile of the subscription.
    pub profile: String,
    /// Where it stands.
    pub state: String,
    /// Why.
    pub reason: String,
    /// The last verdict; empty when nothing was sent.
    pub verdict: String,
    /// Attempts that failed.
    pub failures: i32,
    /// Which repetition on purpose this is.
    pub epoch: i32,
    /// Whether an operator dropped it.
    pub dropped: bool,
    /// When it was planned, in UTC microseconds.
    pub planned_at: i64,
    /// When it may be sent, in UTC microseconds.
    pub due_at: i64,
    /// When it was first in a claim, in UTC microseconds.
    pub first_attempt_at: Option<i64>,
    /// When it was last in a claim, in UTC microseconds.
    pub last_attempt_at: Option<i64>,
}

/// A leg with what is told of its event, and its last claim.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeadDetail {
    /// The leg.
    pub leg: DeadLeg,
    /// Who worked on the task.
    pub assignee: Option<String>,
    /// The worker's hand-off.
    pub handoff: Option<String>,
    /// Small facts, as a JSON list of pairs.
    pub notes: String,
    /// The life of the subscription.
    pub life: String,
    /// The last claim that carried it, unless that is pruned.
    pub claim: Option<ClaimInfo>,
    /// What came of requests before, oldest first; also of the last one if it delivered nothing.
    pub attempts: Vec<Attempt>,
}

/// A claim as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ClaimInfo {
    /// The claim's id.
    pub id: i64,
    /// The channel.
    pub channel: String,
    /// The lane.
    pub lane: String,
    /// The idempotency key.
    pub key: String,
    /// The reference in the text.
    pub reference: String,
    /// `open` or `over`.
    pub state: String,
    /// The last verdict.
    pub verdict: String,
    /// Its detail.
    pub detail: String,
    /// How many legs it carried.
    pub legs: i32,
    /// When it was recorded, in UTC microseconds.
    pub intended_at: i64,
    /// When it was over, in UTC microseconds.
    pub settled_at: Option<i64>,
}

impl From<ClaimRow> for ClaimInfo {
    fn from(row: ClaimRow) -> Self {
        Self {
            id: row.id,
            channel: row.channel,
            lane: row.lane,
            key: row.key,
            reference: row.reference,
            state: row.state,
            verdict: row.verdict,
            detail: row.detail,
            legs: row.legs,
            intended_at: row.intended_at,
            settled_at: row.settled_at,
        }
    }
}

/// Which legs to replay; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayFilter {
    /// Of this board, by name.
    pub board: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// Of this subscription.
    pub subscription: Option<i64>,
    /// Of events written at or after this time, in UTC microseconds.
    pub since: Option<i64>,
}

/// What became of one leg that an operator decided on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Decision {
    /// The leg.
    pub leg: i64,
    /// Whether it was done.
    pub done: bool,
    /// Why not; empty when it was done.
    pub reason: String,
    /// Whether there is such a leg at all.
    #[serde(skip)]
    pub found: bool,
}

/// Parked and expired legs, oldest first.
pub fn list(conn: &mut SqliteConnection, with_dropped: bool) -> QueryResult<Vec<DeadLeg>> {
    let mut query = joined().filter(conditions::DeadLegs);
    if !with_dropped {
        query = query.filter(legs::dropped.eq(0));
    }
    let rows = query.order(legs::id).load::<Joined>(conn)?;
    Ok(rows.iter().map(dead_leg).collect())
}

/// Legs that are still to be sent, oldest first.
pub fn waiting(conn: &mut SqliteConnection) -> QueryResult<Vec<DeadLeg>> {
    let rows = joined().filter(conditions::UnsentLegs).order(legs::id).load::<Joined>(conn)?;
    Ok(rows.iter().map(dead_leg).collect())
}

/// One leg, whatever its state.
pub fn show(conn: &mut SqliteConnection, id: i64) -> QueryResult<Option<DeadDetail>> {
    let Some(row) = joined().filter(legs::id.eq(id)).first::<Joined>(conn).optional()? else {
        return Ok(None);
    };
    let claim = match row.0.claim_id {
        Some(claim) => {
            claims::table.find(claim).select(ClaimRow::as_select()).first(conn).optional()?
        }
        None => None,
    };
    let leg = dead_leg(&row);
    let (_, subscription, _, event) = row;
    Ok(Some(DeadDetail {
        leg,
        assignee: event.assignee,
        handoff: event.handoff,
        notes: event.notes,
        life: subscription.life,
        claim: claim.map(ClaimInfo::from),
        attempts: attempts::of_leg(conn, id)?,
    }))
}

/// Plans ended, undelivered legs anew.
pub fn retry(conn: &mut SqliteConnection, ids: &[i64], now: i64) -> QueryResult<Vec<Decision>> {
    let retry = |conn: &mut SqliteConnection, row: &Joined| {
        if row.0.state == states::DELIVERED {
            return Ok(Err("it is delivered; use replay to send it again"));
        }
        again(conn, row, now)
    };
    decide(conn, ids, retry)
}

/// Hides ended legs from the list.
pub fn discard(conn: &mut SqliteConnection, ids: &[i64], now: i64) -> QueryResult<Vec<Decision>> {
    decide(conn, ids, |conn, row| {
        if ![states::PARKED, states::EXPIRED].contains(&row.0.state.as_str()) {
            return Ok(Err(
                "it is no dead letter; what waits ends with its row: `kanban-gateway sub remove`",
            ));
        }
        diesel::update(legs::table.find(row.0.id))
            .set((legs::dropped.eq(1), legs::updated_at.eq(now)))
            .execute(conn)?;
        Ok(Ok(()))
    })
}

/// The legs that a filter names, oldest first, but those that an operator dropped.
pub fn matching(conn: &mut SqliteConnection, filter: &ReplayFilter) -> QueryResult<Vec<DeadLeg>> {
    let rows = filtered(filter).load::<Joined>(conn)?;
    Ok(rows.iter().map(dead_leg).collect())
}

/// Plans the ended legs that a filter names anew.
pub fn replay(
    conn: &mut SqliteConnection,
    filter: &ReplayFilter,
    now: i64,
) -> QueryResult<Vec<Decision>> {
    let rows = filtered(filter).load::<Joined>(conn)?;
    rows.iter()
        .map(|row| again(conn, row, now).map(|outcome| decision(row.0.id, outcome)))
        .collect()
}

pub(super) type Joined = (LegRow, SubscriptionRow, BoardRow, EventRow);

#[diesel::dsl::auto_type]
fn source() -> _ {
    legs::table.inner_join(subscriptions::table.inner_join(boards::table)).inner_join(
        events::table.on(events::board_id
            .eq(subscriptions::board_id)
            .and(events::incarnation.eq(subscriptions::incarnation))
            .and(events::event.eq(legs::event))),
    )
}

pub(super) type Query = diesel::helper_types::IntoBoxed<
    'static,
    diesel::dsl::Select<
        source,
        (
            diesel::dsl::AsSelect<LegRow, Sqlite>,
            diesel::dsl::AsSelect<SubscriptionRow, Sqlite>,
            diesel::dsl::AsSelect<BoardRow, Sqlite>,
            diesel::dsl::AsSelect<EventRow, Sqlite>,
        ),
    >,
    Sqlite,
>;

pub(super) fn joined() -> Query {
    source()
        .select((
            LegRow::as_select(),
            SubscriptionRow::as_select(),
            BoardRow::as_select(),
            EventRow::as_select(),
        ))
        .into_boxed()
}

fn filtered(filter: &ReplayFilter) -> Query {
    let mut query = joined().filter(legs::dropped.eq(0)).order(legs::id);
    if let Some(board) = &filter.board {
        query = query.filter(boards::slug.eq(board.clone()));
    }
    if let Some(task) = &filter.task {
        query = query.filter(subscriptions::task.eq(task.clone()));
    }
    if let Some(subscription) = filter.subscription {
        query = query.filter(subscriptions::id.eq(subscription));
    }
    if let Some(since) = filter.since {
        query = query.filter(events::written_at.ge(since));
    }
    query
}

pub(super) fn dead_leg((leg, subscription, board, event): &Joined) -> DeadLeg {
    DeadLeg {
        id: leg.id,
        subscription: subscription.id,
        board: board.slug.clone(),
        task: subscription.task.clone(),
        title: event.title.clone(),
        event: leg.event,
        event_kind: event.kind.clone(),
        event_at: event.written_at,
        kind: leg.kind.clone(),
        platform: subscription.platform.clone(),
        chat: subscription.chat.clone(),
        thread: subscription.thread.clone(),
        profile: subscription.profile.clone(),
        state: leg.state.clone(),
        reason: leg.reason.clone(),
        verdict: leg.verdict.clone(),
        failures: leg.failures,
        epoch: leg.epoch,
        dropped: leg.dropped == 1,
        planned_at: leg.planned_at,
        due_at: leg.due_at,
        first_attempt_at: leg.first_attempt_at,
        last_attempt_at: leg.last_attempt_at,
    }
}

/// Done, or why not.
type Outcome = Result<(), &'static str>;

fn decide(
    conn: &mut SqliteConnection,
    ids: &[i64],
    mut work: impl FnMut(&mut SqliteConnection, &Joined) -> QueryResult<Outcome>,
) -> QueryResult<Vec<Decision>> {
    ids.iter()
        .map(|id| {
            let row = joined().filter(legs::id.eq(*id)).first::<Joined>(conn).optional()?;
            let outcome = match &row {
                Some(row) => work(conn, row)?,
                None => Err("there is no such delivery"),
            };
            Ok(Decision { found: row.is_some(), ..decision(*id, outcome) })
        })
        .collect()
}

fn decision(leg: i64, outcome: Outcome) -> Decision {
    let reason = outcome.err().unwrap_or_default().to_owned();
    Decision { leg, done: reason.is_empty(), reason, found: true }
}

/// Planned again, as if for the first time, under a new epoch; the cursor stays where it is (law D10).
/// What may have arrived is looked for first (law D11).
fn again(conn: &mut SqliteConnection, row: &Joined, now: i64) -> QueryResult<Outcome> {
    let (leg, subscription, board, _) = row;
    if [states::INTENDED, states::UNKNOWN].contains(&leg.state.as_str()) {
        return Ok(Err("its outcome is not known yet; it is looked into first"));
    }
    if !states::is_final(&leg.state) {
        return Ok(Err("it is still to be sent"));
    }
    if subscription.incarnation != board.incarnation {
        return Ok(Err("the board was replaced since"));
    }
    if subscription.life == states::RELEASED {
        return Ok(Err("its subscription is released; adopt it first"));
    }
    match reopen(conn, leg, now)? {
        Reopened::Done => return Ok(Ok(())),
        Reopened::Refused(reason) => return Ok(Err(reason)),
        Reopened::Nothing => {}
    }
    attempts::keep(conn, leg.id, leg.claim_id)?;
    // An earlier attempt has had its effect, or may have had: then the text says so (law D7).
    let repeat = leg.repeat == 1 || ["delivered", UNKNOWN_VERDICT].contains(&leg.verdict.as_str());
    diesel::update(legs::table.find(leg.id))
        .set((
            legs::state.eq(states::PLANNED),
            // The parts that were accepted stay so; the bytes of the others are the claim's (law D5).
            legs::claim_id.eq(leg.claim_id.filter(|_| leg.part > 0)),
            legs::epoch.eq(legs::epoch + 1),
            legs::replay.eq(1),
            legs::repeat.eq(i32::from(repeat)),
            legs::dropped.eq(0),
            legs::failures.eq(0),
            legs::failed_turns.eq(0),
            legs::plain.eq(0),
            legs::parent.eq(0),
            legs::due_at.eq(now),
            legs::planned_at.eq(now),
            legs::reason.eq(""),
            legs::updated_at.eq(now),
        ))
        .execute(conn)?;
    Ok(Ok(()))
}
