//! Between the ledger's rows and the domain.

use std::collections::BTreeMap;

use kanban_notify::{
    event::Kind,
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId, SubscriptionId},
    leg::{Leg, LegKind, LegState, Tally},
    message::Destination,
    ownership::channel_of_leg,
    record::{
        EventPrint, Facts, Intent, IntentResult, LegOutcome, NewLeg, OpenClaim, Owed, OwedLeg,
        Pause, Plan, Planned, Position, Raise, RecentWake, Settlement, SubscriptionPlan, Work,
    },
    session::Aliases,
    subscription::{Life, Mode, PreviousOwner, SubKey, Subscription},
    time::Timestamp,
    verdict::Detail,
};

use crate::{
    error::StoreError,
    ledger::{
        backlog::{CHAT, OpenClaimRows, SESSION, Waiting, Way, WorkRows},
        boards::PositionRow,
        claims::{Intended, IntentRow, TallyRow},
        cursor::RaiseRow,
        outcomes::{OutcomeRow, SettlementRow},
        plan::{CopyKey, CopyPlan, LegPlan, OwedRows, PlanRows, PlannedRows},
        rows::{BoardRow, ClaimRow, EventRow, LegRow, PauseRow, SubscriptionRow},
    },
};

pub(super) fn position(row: PositionRow) -> Position {
    let id = EventId(row.event);
    Position {
        event: id,
        event_print: row.event_hash.map(|hash| EventPrint { id, hash }),
        rowid: row.rowid,
        row_print: row.row_print,
    }
}

pub(super) fn plan_rows(plan: Plan, at: i64) -> PlanRows {
    let (board, incarnation) = (plan.board.0, plan.incarnation.0);
    PlanRows {
        board,
        incarnation,
        position: PositionRow {
            event: plan.position.event.0,
            event_hash: plan.position.event_print.map(|print| print.hash),
            rowid: plan.position.rowid,
            row_print: plan.position.row_print,
        },
        subscriptions: plan
            .subscriptions
            .into_iter()
            .map(|copy| copy_plan(copy, board, incarnation))
            .collect(),
        closes: plan
            .closes
            .into_iter()
            .map(|(leg, state, reason)| (leg.0, state.name().to_owned(), text(&reason)))
            .collect(),
        at,
    }
}

pub(super) fn planned(rows: PlannedRows) -> Result<Planned, StoreError> {
    let owed: Result<_, _> = rows.owed.into_iter().map(|row| owed(&rows.board, row)).collect();
    Ok(Planned { owed: owed?, raises: rows.raises.into_iter().map(raise).collect() })
}

pub(super) fn subscription(row: SubscriptionRow) -> Result<Subscription, StoreError> {
    let life = Life::parse(&row.life).ok_or_else(|| unreadable("life", &row.life))?;
    Ok(Subscription {
        id: SubscriptionId(row.id),
        key: SubKey { task: row.task, platform: row.platform, chat: row.chat, thread: row.thread },
        created_at: Timestamp::from_micros(row.created_at),
        profile: row.profile,
        adopted: (row.adopted == 1).then_some(PreviousOwner(row.previous_owner)),
        mode: Mode::parse(Some(&row.mode)),
        baseline: EventId(row.baseline),
        seen: EventId(row.seen),
        settled: EventId(row.settled),
        life,
    })
}

pub(super) fn intended(intended: Intended) -> IntentResult {
    match intended {
        Intended::Won(id) => IntentResult::Won(ClaimId(id)),
        Intended::Held => IntentResult::Held,
        Intended::Paused(until) => IntentResult::Paused(Timestamp::from_micros(until)),
        Intended::Taken => IntentResult::Taken,
    }
}

pub(super) fn raise(row: RaiseRow) -> Raise {
    let copy = row.subscription;
    Raise {
        board: BoardId(copy.board_id),
        subscription: SubscriptionId(copy.id),
        key: SubKey {
            task: copy.task,
            platform: copy.platform,
            chat: copy.chat,
            thread: copy.thread,
        },
        created_at: Timestamp::from_micros(copy.created_at),
        to: EventId(copy.settled),
        archived: row.archived,
    }
}

pub(super) fn intent_row(intent: Intent) -> IntentRow {
    let (target, channel, chat, thread) = match intent.destination {
        Destination::Chat { channel, chat, thread } => (CHAT, channel, chat, thread),
        Destination::Session { channel, session } => (SESSION, channel, session, String::new()),
    };
    IntentRow {
        lane: intent.lane,
        target: target.to_owned(),
        channel: channel.0,
        chat,
        thread,
        legs: intent.legs.into_iter().map(|leg| leg.0).collect(),
        tallies: intent.tallies.into_iter().map(tally_row).collect(),
        key: intent.key,
        reference: intent.reference,
        body: intent.body,
        at: intent.at.micros(),
    }
}

pub(super) fn settlement_row(settlement: Settlement) -> SettlementRow {
    SettlementRow {
        claim: settlement.claim.0,
        verdict: settlement.verdict.to_owned(),
        detail: text(&settlement.detail),
        legs: settlement.legs.into_iter().map(outcome_row).collect(),
        over: settlement.over,
        alias: settlement.alias,
        pause: settlement.pause.map(|pause| pause_row(pause, settlement.at.micros())),
        at: settlement.at.micros(),
    }
}

pub(super) fn pause_row(pause: Pause, now: i64) -> PauseRow {
    PauseRow {
        channel: pause.channel.0,
        until: pause.until.micros(),
        reason: text(&pause.reason),
        credential: i32::from(pause.credential),
        updated_at: now,
    }
}

pub(super) fn work(rows: WorkRows, claims: Vec<OpenClaimRows>) -> Result<Work, StoreError> {
    let mut aliases = Aliases::default();
    let mut known = Vec::new();
    for (channel, raw, resolved) in rows.aliases {
        let channel = ChannelName(channel);
        aliases.learn(&channel, &raw, &resolved);
        known.push((channel, raw, resolved));
    }
    Ok(Work {
        owed: all_owed(rows.owed, &rows.boards)?,
        waiting: waiting(rows.waiting)?,
        claims: claims.into_iter().map(open_claim).collect::<Result<_, _>>()?,
        raises: rows.raises.into_iter().map(raise).collect(),
        pauses: rows.pauses.into_iter().map(pause).collect(),
        recent_wakes: rows
            .wakes
            .into_iter()
            .map(|wake| {
                let channel = ChannelName(wake.channel);
                let failed = matches!(wake.verdict.as_str(), "failed_turn" | "retryable");
                RecentWake {
                    session: aliases.resolve(&channel, &wake.session),
                    at: Timestamp::from_micros(wake.at),
                    failed: failed.then_some(wake.reference),
                    channel,
                }
            })
            .collect(),
        aliases: known,
        newest_claim: Timestamp::from_micros(rows.newest_claim.unwrap_or_default()),
        older: None,
    })
}

fn copy_plan(copy: SubscriptionPlan, board: i64, incarnation: i64) -> CopyPlan {
    CopyPlan {
        key: CopyKey {
            task: copy.key.task,
            platform: copy.key.platform,
            chat: copy.key.chat,
            thread: copy.key.thread,
            created_at: copy.created_at.micros(),
        },
        profile: copy.profile,
        adopted: copy.adopted.map(|previous| previous.0),
        mode: copy.mode.name().to_owned(),
        baseline: copy.baseline.0,
        seen: copy.seen.0,
        cursor: copy.cursor.0,
        archived: copy.archived.map(|event| event.0),
        life: copy.life.name().to_owned(),
        legs: copy.legs.into_iter().map(|leg| leg_plan(leg, board, incarnation)).collect(),
    }
}

fn leg_plan(leg: NewLeg, board: i64, incarnation: i64) -> LegPlan {
    LegPlan {
        kind: leg.kind.name().to_owned(),
        state: leg.state.name().to_owned(),
        reason: text(&leg.reason),
        planned_at: leg.planned_at.micros(),
        event: event_row(leg.facts, board, incarnation),
    }
}

fn event_row(facts: Facts, board_id: i64, incarnation: i64) -> EventRow {
    EventRow {
        board_id,
        incarnation,
        event: facts.event.0,
        kind: facts.kind.name().to_owned(),
        task: facts.task,
        title: facts.title,
        assignee: facts.assignee,
        handoff: facts.handoff,
        session: facts.session,
        // Pairs of texts always have a JSON form.
        notes: serde_json::to_string(&facts.notes).unwrap_or_else(|_| "[]".to_owned()),
        written_at: facts.at.micros(),
        print: facts.print,
    }
}

fn facts(row: EventRow) -> Facts {
    Facts {
        event: EventId(row.event),
        kind: Kind::parse(&row.kind),
        task: row.task,
        title: row.title,
        assignee: row.assignee,
        handoff: row.handoff,
        session: row.session,
        // Small print: not worth holding an event back for.
        notes: serde_json::from_str(&row.notes).unwrap_or_default(),
        at: Timestamp::from_micros(row.written_at),
        print: row.print,
    }
}

pub(super) fn all_owed(
    rows: Vec<OwedRows>,
    boards: &BTreeMap<i64, BoardRow>,
) -> Result<Vec<Owed>, StoreError> {
    let on_board = |rows: OwedRows| Some((boards.get(&rows.subscription.board_id)?, rows));
    rows.into_iter().filter_map(on_board).map(|(board, rows)| owed(board, rows)).collect()
}

/// By channel, in the order of the legs.
fn waiting(rows: Waiting) -> Result<BTreeMap<ChannelName, Vec<SubscriptionId>>, StoreError> {
    let mut all: BTreeMap<ChannelName, Vec<(i64, i64)>> = BTreeMap::new();
    for (Way { kind, platform, profile }, mut copies) in rows {
        let kind = LegKind::parse(&kind).ok_or_else(|| unreadable("kind of leg", &kind))?;
        let channel = channel_of_leg(kind, &platform, &profile);
        all.entry(channel).or_default().append(&mut copies);
    }
    let ids = |mut copies: Vec<(i64, i64)>| {
        copies.sort_unstable();
        copies.into_iter().map(|(_, copy)| SubscriptionId(copy)).collect()
    };
    Ok(all.into_iter().map(|(channel, copies)| (channel, ids(copies))).collect())
}

fn owed(board: &BoardRow, rows: OwedRows) -> Result<Owed, StoreError> {
    Ok(Owed {
        board: BoardId(board.id),
        slug: board.slug.clone(),
        incarnation: Incarnation(rows.subscription.incarnation),
        subscription: subscription(rows.subscription)?,
        legs: rows
            .legs
            .into_iter()
            .map(|(row, event, begun)| {
                let (leg, facts) = (leg(row)?, facts(event));
                Ok(OwedLeg { leg, facts, begun })
            })
            .collect::<Result<_, StoreError>>()?,
    })
}

fn leg(row: LegRow) -> Result<Leg, StoreError> {
    let state = LegState::parse(&row.state).ok_or_else(|| unreadable("state", &row.state))?;
    let claimed = matches!(state, LegState::Intended | LegState::Unknown);
    Ok(Leg {
        id: LegId(row.id),
        subscription: SubscriptionId(row.subscription_id),
        event: EventId(row.event),
        kind: LegKind::parse(&row.kind).ok_or_else(|| unreadable("kind of leg", &row.kind))?,
        state,
        claim: row.claim_id.filter(|_| claimed).map(ClaimId),
        due_at: Timestamp::from_micros(row.due_at),
        planned_at: Timestamp::from_micros(row.planned_at),
        tally: Tally {
            failures: count(row.failures),
            failed_turns: count(row.failed_turns),
            epoch: count(row.epoch),
            alone: row.alone == 1,
            repeat: row.repeat == 1,
            replay: row.replay == 1,
            part: count(row.part),
            plain: row.plain == 1,
            parent: row.parent == 1,
        },
    })
}

fn tally_row(tally: Tally) -> TallyRow {
    let stored = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    TallyRow {
        failures: stored(tally.failures),
        failed_turns: stored(tally.failed_turns),
        epoch: stored(tally.epoch),
        alone: i32::from(tally.alone),
        repeat: i32::from(tally.repeat),
        replay: i32::from(tally.replay),
        part: stored(tally.part),
        plain: i32::from(tally.plain),
        parent: i32::from(tally.parent),
    }
}

fn outcome_row(outcome: LegOutcome) -> OutcomeRow {
    OutcomeRow {
        leg: outcome.leg.0,
        state: outcome.state.name().to_owned(),
        tally: tally_row(outcome.tally),
        due_at: outcome.due_at.micros(),
        reason: text(&outcome.reason),
    }
}

fn open_claim(rows: OpenClaimRows) -> Result<OpenClaim, StoreError> {
    let claim = rows.claim;
    Ok(OpenClaim {
        id: ClaimId(claim.id),
        destination: destination(&claim)?,
        lane: claim.lane,
        legs: rows.legs.into_iter().map(LegId).collect(),
        key: claim.key,
        reference: claim.reference,
        body: claim.body,
        at: Timestamp::from_micros(claim.intended_at),
    })
}

fn destination(claim: &ClaimRow) -> Result<Destination, StoreError> {
    let channel = ChannelName(claim.channel.clone());
    match claim.target.as_str() {
        CHAT => Ok(Destination::Chat {
            channel,
            chat: claim.chat.clone(),
            thread: claim.thread.clone(),
        }),
        SESSION => Ok(Destination::Session { channel, session: claim.chat.clone() }),
        other => Err(unreadable("target", other)),
    }
}

fn pause(row: PauseRow) -> Pause {
    Pause {
        channel: ChannelName(row.channel),
        until: Timestamp::from_micros(row.until),
        reason: Detail::new(&row.reason),
        credential: row.credential == 1,
    }
}

fn count(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}

fn text(detail: &Detail) -> String {
    detail.as_str().to_owned()
}

fn unreadable(what: &'static str, value: &str) -> StoreError {
    StoreError::LedgerValue { what, value: value.to_owned() }
}
