//! Which subscriptions there are, and who serves each.

use std::{collections::HashMap, path::Path};

use anyhow::Context as _;
use kanban_notify::{
    ids::EventId,
    ownership::{self, Ownership, Why},
    policy::Policy,
    subscription::{Mode, Row, SubKey},
    time::Timestamp,
};
use kanban_store::{
    board::{Board, SubscriptionRow},
    ledger::operator::{SubscriptionFilter, SubscriptionInfo},
};
use serde::Serialize;

use crate::{
    ops::{Context, lacking},
    wiring::Outlook,
};

/// How many rows are read at a time.
const PAGE: usize = 1_000;

/// A subscription in a list.
#[derive(Clone, Debug, Serialize)]
pub struct SubLine {
    /// The board.
    pub board: String,
    /// The task.
    pub task: String,
    /// The platform, as stored.
    pub platform: String,
    /// The chat, or the raw session.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// `notifier_profile` as stored.
    pub owner: Option<String>,
    /// `delivery_mode`; empty where the file has none.
    pub mode: String,
    /// `last_event_id`.
    pub cursor: i64,
    /// Whether we serve it: `ours`, `to be adopted`, or why not.
    pub served: String,
    /// The same, for a decision.
    #[serde(skip)]
    pub reach: Reach,
    /// Deliveries under way or waiting, as the ledger knows.
    pub open: i64,
    /// The ledger's id of its copy, for `replay --subscription`.
    pub id: Option<i64>,
}

/// Who serves a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// We do.
    Served,
    /// Somebody else does, or the operator decided so.
    Elsewhere,
    /// Nobody, as far as can be seen.
    Nobody,
}

/// What `sub list` found.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The subscriptions.
    pub subs: Vec<SubLine>,
    /// Boards that could not be read, and why.
    pub failed: Vec<(String, String)>,
}

/// Every subscription of one board, or of all. Of all boards, those that cannot be read are named.
pub fn list(ctx: &Context, board: Option<&str>) -> anyhow::Result<Listing> {
    let outlook = outlook(ctx)?;
    let policy = ctx.config.policy(false);
    let copies = match ctx.ledger()? {
        Some(mut ledger) => ledger.subscription_list(&SubscriptionFilter::default())?,
        None => Vec::new(),
    };
    let mut listing = Listing::default();
    if let Some(slug) = board {
        let (found, mut board) = ctx.board(Some(slug))?;
        let rows = rows(&mut board)?;
        let copies = Copies::of(&copies, board.path());
        listing.subs = lines(&found.slug, &board, rows, &copies, &policy, &outlook).collect();
        return Ok(listing);
    }
    for (slug, path) in ctx.boards()? {
        let read = Board::open(&path).map_err(anyhow::Error::from).and_then(|mut board| {
            let rows = rows(&mut board)?;
            Ok((board, rows))
        });
        match read {
            Ok((board, rows)) => {
                let copies = Copies::of(&copies, board.path());
                listing.subs.extend(lines(&slug, &board, rows, &copies, &policy, &outlook));
            }
            Err(error) => listing.failed.push((slug, format!("{error:#}"))),
        }
    }
    Ok(listing)
}

/// The subscriptions of one task.
pub(in crate::ops) struct OfTask {
    /// Those that are on the board, each with when it was made, in Unix seconds.
    pub(in crate::ops) there: Vec<(SubLine, i64)>,
    /// Copies of those that are there no more.
    pub(in crate::ops) ended: Vec<SubscriptionInfo>,
}

/// The subscriptions of one task, as the board and the ledger know them.
pub(in crate::ops) fn of_task(
    ctx: &Context,
    slug: &str,
    board: &mut Board,
    task: &str,
) -> anyhow::Result<OfTask> {
    let rows = board.subscriptions_of(task)?;
    let (outlook, policy) = (outlook(ctx)?, ctx.config.policy(false));
    let filter =
        SubscriptionFilter { task: Some(task.to_owned()), ..SubscriptionFilter::default() };
    let mut known = match ctx.ledger()? {
        Some(mut ledger) => ledger.subscription_list(&filter)?,
        None => Vec::new(),
    };
    let made: Vec<i64> = rows.iter().map(|row| row.created_at).collect();
    let copies = Copies::of(&known, board.path());
    let there: Vec<_> = lines(slug, board, rows, &copies, &policy, &outlook).zip(made).collect();
    known.retain(|copy| {
        Path::new(&copy.path) == board.path()
            && !there.iter().any(|(sub, _)| sub.id == Some(copy.id))
    });
    Ok(OfTask { there, ended: known })
}

/// Every row of a board.
pub(in crate::ops) fn rows(board: &mut Board) -> anyhow::Result<Vec<SubscriptionRow>> {
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let (page, _) = board.subscriptions(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.rowid;
        all.extend(page);
    }
}

/// What there is at this moment, for one look.
pub(in crate::ops) fn outlook(ctx: &Context) -> anyhow::Result<Outlook> {
    let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
    crate::wiring::outlook(&ctx.config, &ctx.env, &hermes).context("the channels cannot be made")
}

/// The ledger's copies of the rows of one board, by key: there may be a hundred thousand.
pub(in crate::ops) struct Copies<'a>(HashMap<Key<'a>, &'a SubscriptionInfo>);

/// Task, platform, chat, thread, and when the row was made.
type Key<'a> = (&'a str, &'a str, &'a str, &'a str, i64);

impl<'a> Copies<'a> {
    /// Those of the board behind `path`.
    pub(in crate::ops) fn of(copies: &'a [SubscriptionInfo], path: &Path) -> Self {
        let here = copies.iter().filter(|copy| Path::new(&copy.path) == path);
        Self(
            here.map(|copy| {
                let SubscriptionInfo { task, platform, chat, thread, created_at, .. } = copy;
                ((&**task, &**platform, &**chat, &**thread, *created_at), copy)
            })
            .collect(),
        )
    }

    /// The copy of a row.
    pub(in crate::ops) fn get(&self, row: &SubscriptionRow) -> Option<&'a SubscriptionInfo> {
        let (key, made) = (&row.key, row.created_at.saturating_mul(1_000_000));
        self.0.get(&(&*key.task, &*key.platform, &*key.chat, &*key.thread, made)).copied()
    }
}

/// A row as the domain sees it.
pub(in crate::ops) fn domain_row(row: &SubscriptionRow) -> Row {
    Row {
        key: SubKey {
            task: row.key.task.clone(),
            platform: row.key.platform.clone(),
            chat: row.key.chat.clone(),
            thread: row.key.thread.clone(),
        },
        created_at: Timestamp::from_secs(row.created_at),
        cursor: EventId(row.cursor),
        owner: row.owner.clone(),
        user: row.user.clone(),
        mode: Mode::parse(row.mode.as_deref()),
        rowid: row.rowid,
    }
}

/// Rows of a board as lines of a list.
pub(in crate::ops) fn lines<'a>(
    slug: &'a str,
    board: &Board,
    rows: Vec<SubscriptionRow>,
    copies: &'a Copies<'a>,
    policy: &'a Policy,
    outlook: &'a Outlook,
) -> impl Iterator<Item = SubLine> + 'a {
    let has_mode = board.features().delivery_mode;
    rows.into_iter().map(move |row| {
        let copy = copies.get(&row);
        line(slug, row, copy, has_mode, policy, outlook)
    })
}

/// Who serves a row, in one word and in words for people.
pub(in crate::ops) fn reach(
    row: &SubscriptionRow,
    released: bool,
    has_mode: bool,
    policy: &Policy,
    outlook: &Outlook,
) -> (Reach, String) {
    let world = &outlook.world;
    if released {
        return (Reach::Elsewhere, Why::Released.text().to_owned());
    }
    let row = domain_row(row);
    match ownership::decide(&row, None, has_mode, policy, world) {
        Ownership::Ours { .. } => (Reach::Served, "ours".to_owned()),
        Ownership::Adopt { profile, .. } => {
            let platform = row.key.platform_name();
            let api = row.key.is_api_server();
            let why = || match api {
                true => Why::NoServer.text().to_owned(),
                false => lacking::why(outlook, &platform),
            };
            match world.channels.contains_key(&ownership::channel(&platform, api, &profile)) {
                true => (Reach::Served, "to be adopted".to_owned()),
                false => (Reach::Nobody, format!("to be adopted, but {}", why())),
            }
        }
        Ownership::ReadOnly(why) => {
            let reach = match why {
                Why::HermesServes | Why::Released => Reach::Elsewhere,
                Why::NoChannel | Why::NoServer | Why::NothingToSend => Reach::Nobody,
            };
            let words = match why {
                Why::NoChannel => lacking::why(outlook, &row.key.platform),
                why => why.text().to_owned(),
            };
            (reach, words)
        }
    }
}

fn line(
    slug: &str,
    row: SubscriptionRow,
    copy: Option<&SubscriptionInfo>,
    has_mode: bool,
    policy: &Policy,
    outlook: &Outlook,
) -> SubLine {
    let released = copy.is_some_and(|copy| copy.life == "released");
    let (reach, served) = reach(&row, released, has_mode, policy, outlook);
    SubLine {
        board: slug.to_owned(),
        task: row.key.task,
        platform: row.key.platform,
        chat: row.key.chat,
        thread: row.key.thread,
        owner: row.owner,
        mode: row.mode.unwrap_or_default(),
        cursor: row.cursor,
        served,
        reach,
        open: copy.map_or(0, |copy| copy.open_legs),
        id: copy.map(|copy| copy.id),
    }
}
