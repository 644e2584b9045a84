//! Subscriptions: which there are and whose, new ones, and the operator's word on ownership (law O2).

use std::path::Path;

use anyhow::{Context as _, bail};
use kanban_notify::{
    ids::EventId,
    ownership::{self, Ownership, Why},
    policy::{Policy, World},
    session,
    subscription::{Mode, Row, SubKey},
    time::Timestamp,
};
use kanban_store::{
    board::{Board, EditOutcome, RowEdit, RowKey, SubscriptionRow},
    ledger::{
        operator::{Adoption, Operator, SubscriptionFilter, SubscriptionInfo},
        plan::CopyKey,
    },
    write::{self, NewSubscription},
};
use serde::Serialize;

use super::{Context, Unusable, unix_now};
use crate::config::nearest;

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

/// A row named on the command line.
#[derive(Clone, Debug)]
pub struct Target {
    /// The task.
    pub task: String,
    /// The platform.
    pub platform: String,
    /// The chat, or the raw session.
    pub chat: String,
    /// The thread; `None` when it was not given.
    pub thread: Option<String>,
}

/// What became of `sub add`.
#[derive(Clone, Debug, Serialize)]
pub struct Added {
    /// Whether the row is new.
    pub new: bool,
    /// The thread that the row has.
    pub thread: String,
    /// Whether the thread was taken from another row of the same task and chat (field report 27).
    pub inherited: bool,
    /// Why nothing may come of it, in words for people.
    pub warnings: Vec<String>,
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

/// Which rows an operator means; what is `None` does not matter.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Of this platform.
    pub platform: Option<String>,
    /// Of this task.
    pub task: Option<String>,
}

impl Wanted {
    /// Whether every row is meant.
    pub fn is_all(&self) -> bool {
        self.platform.is_none() && self.task.is_none()
    }

    fn names(&self, task: &str, platform: &str) -> bool {
        self.platform.as_ref().is_none_or(|wanted| platform.trim().eq_ignore_ascii_case(wanted))
            && self.task.as_ref().is_none_or(|wanted| task == wanted)
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let platform = self.platform.iter().map(|name| format!("of platform `{name}`"));
        let task = self.task.iter().map(|name| format!("of task `{name}`"));
        f.write_str(&platform.chain(task).collect::<Vec<_>>().join(" "))
    }
}

/// Every subscription of one board, or of all. Of all boards, those that cannot be read are named.
pub fn list(ctx: &Context, board: Option<&str>) -> anyhow::Result<Listing> {
    let world = world(ctx)?;
    let policy = ctx.config.policy(false);
    let copies = match ctx.ledger()? {
        Some(mut ledger) => ledger.subscription_list(&SubscriptionFilter::default())?,
        None => Vec::new(),
    };
    let mut listing = Listing::default();
    if let Some(slug) = board {
        let (found, mut board) = ctx.board(Some(slug))?;
        let rows = rows(&mut board)?;
        listing.subs = lines(&found.slug, &board, rows, &copies, &policy, &world).collect();
        return Ok(listing);
    }
    for (slug, path) in ctx.boards()? {
        let read = Board::open(&path).map_err(anyhow::Error::from).and_then(|mut board| {
            let rows = rows(&mut board)?;
            Ok((board, rows))
        });
        match read {
            Ok((board, rows)) => {
                listing.subs.extend(lines(&slug, &board, rows, &copies, &policy, &world));
            }
            Err(error) => listing.failed.push((slug, format!("{error:#}"))),
        }
    }
    Ok(listing)
}

/// Subscribes a chat or session to a task; the row is born ours (law O1).
pub fn add(ctx: &Context, board: Option<&str>, target: &Target) -> anyhow::Result<Added> {
    let platform = target.platform.trim().to_lowercase();
    let fault = if platform == kanban_notify::subscription::API_SERVER {
        session::fault(&target.chat)
    } else {
        target.chat.trim().is_empty().then_some("the chat is empty")
    };
    if let Some(fault) = fault {
        bail!(Unusable(format!("nobody can be reached there: {fault}")));
    }
    if platform.is_empty() {
        let text = "the platform is empty; name one, such as `console` or `api_server`";
        bail!(Unusable(text.to_owned()));
    }
    let (found, mut board) = ctx.board(board)?;
    let same = rows(&mut board)?.into_iter().find(|row| {
        row.key.task == target.task
            && row.key.platform.trim().to_lowercase() == platform
            && row.key.chat == target.chat
            && !row.key.thread.is_empty()
    });
    let inherited = target.thread.is_none() && same.is_some();
    let thread = match (&target.thread, same) {
        (Some(thread), _) => thread.clone(),
        (None, Some(row)) => row.key.thread,
        (None, None) => String::new(),
    };
    let new = NewSubscription {
        key: RowKey {
            task: target.task.clone(),
            platform,
            chat: target.chat.clone(),
            thread: thread.clone(),
        },
        user: None,
        owner: Some(ctx.config.owner.clone()),
        mode: None,
    };
    let key = new.key.clone();
    let new = write::subscribe(&mut board, &new, unix_now())
        .map_err(|error| super::on_board(error, &found.slug))?;
    let warnings = warnings(ctx, &mut board, &key)?;
    Ok(Added { new, thread, inherited, warnings })
}

/// What keeps a subscription from being told of anything.
fn warnings(ctx: &Context, board: &mut Board, key: &RowKey) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let has_mode = board.features().delivery_mode;
    let row = rows(board)?.into_iter().find(|row| row.key == *key);
    if let Some(row) = row {
        let (reach, why) = reach(&row, false, has_mode, &ctx.config.policy(false), &world(ctx)?);
        if reach != Reach::Served {
            let platform = row.key.platform.trim().to_lowercase();
            let built = crate::wiring::PLATFORMS;
            let known = || built.into_iter().chain(crate::hermes::platform_names());
            let hint = nearest(&platform, known())
                .filter(|meant| *meant != platform)
                .map(|meant| format!("; did you mean `{meant}`?"))
                .unwrap_or_default();
            let built = built.map(|name| format!("`{name}`")).join(" and ");
            warnings.push(format!(
                "nobody serves it as things are: {why} (this build serves {built}){hint}"
            ));
        }
    }
    let status = board.task(&key.task)?.map(|task| task.status).unwrap_or_default();
    if ["done", "archived"].contains(&status.as_str()) {
        warnings
            .push(format!("task {} is {status}: only what happens from now on is told", key.task));
    }
    Ok(warnings)
}

/// Removes a row; false when there was none.
pub fn remove(ctx: &Context, board: Option<&str>, target: &Target) -> anyhow::Result<bool> {
    let (_, mut board) = ctx.board(board)?;
    let row = find(&mut board, target)?;
    Ok(write::unsubscribe(&mut board, &row.key)?)
}

/// Takes rows over: the previous owner goes into the ledger, then the row is stamped (law O2).
pub fn adopt(ctx: &Context, board: Option<&str>, wanted: &Wanted) -> anyhow::Result<usize> {
    let (found, mut board) = ctx.board(board)?;
    let all = rows(&mut board)?;
    let named = |row: &&SubscriptionRow| wanted.names(&row.key.task, &row.key.platform);
    if !all.iter().any(|row| named(&row)) {
        bail!(
            "nothing matches: board `{}` has no row {wanted}; see `kanban-gateway sub list`",
            found.slug
        );
    }
    let mut ledger = Operator::open(&ctx.config.ledger).context("the ledger cannot be opened")?;
    let path = found.path.display().to_string();
    let known = ledger.boards_list()?.into_iter().find(|known| known.path == path);
    let board_id = known
        .with_context(|| {
            format!(
                "the ledger does not know board `{}` yet; let `run` or `once` see it first",
                found.slug
            )
        })?
        .id;
    let ours = &ctx.config.owner;
    let mut count = 0;
    for row in all.into_iter().filter(|row| named(&row)) {
        let owner = row.owner.clone().unwrap_or_default();
        if ownership::our_profile(owner.trim(), ours).is_some() {
            continue;
        }
        let profile = if owner.trim().is_empty() { "default" } else { owner.trim() }.to_owned();
        let old = board
            .events(Some(&row.key.task), 0, usize::MAX)?
            .into_iter()
            .filter(|event| event.created_at < row.created_at)
            .map(|event| event.id)
            .max();
        let baseline = if row.cursor > 0 { row.cursor } else { old.unwrap_or(0) };
        ledger.adopt(&Adoption {
            board_id,
            key: CopyKey {
                task: row.key.task.clone(),
                platform: row.key.platform.clone(),
                chat: row.key.chat.clone(),
                thread: row.key.thread.clone(),
                created_at: row.created_at.saturating_mul(1_000_000),
            },
            profile: profile.clone(),
            previous_owner: row.owner.clone(),
            mode: row.mode.clone().unwrap_or_default(),
            cursor: row.cursor,
            baseline,
        })?;
        let stamp =
            RowEdit::Stamp { key: row.key, from: row.owner, to: Some(format!("{ours}.{profile}")) };
        let outcomes = board.change(&[stamp], super::LOCK_PATIENCE)?;
        count += outcomes.iter().filter(|outcome| **outcome == EditOutcome::Won).count();
    }
    Ok(count)
}

/// Gives rows back to their previous owners (law O2).
pub fn release(ctx: &Context, wanted: &Wanted) -> anyhow::Result<Vec<(SubscriptionInfo, bool)>> {
    let mut ledger = ctx.ledger()?;
    let mut copies = match &mut ledger {
        Some(ledger) => ledger.subscription_list(&SubscriptionFilter::default())?,
        None => Vec::new(),
    };
    copies.retain(|copy| {
        copy.adopted
            && ["live", "offered"].contains(&copy.life.as_str())
            && wanted.names(&copy.task, &copy.platform)
    });
    let Some(mut ledger) = ledger.filter(|_| !copies.is_empty()) else {
        if wanted.is_all() {
            return Ok(Vec::new());
        }
        bail!(
            "nothing matches: no row {wanted} is adopted; `kanban-gateway sub list` shows owners"
        );
    };
    let mut done = Vec::new();
    for copy in copies {
        // The ledger first: from here on the daemon leaves the row alone, whatever its owner says.
        ledger.release(&[copy.id])?;
        let mut board = Board::open(std::path::Path::new(&copy.path))?;
        let key = RowKey {
            task: copy.task.clone(),
            platform: copy.platform.clone(),
            chat: copy.chat.clone(),
            thread: copy.thread.clone(),
        };
        let stamp = RowEdit::Stamp {
            key,
            from: Some(format!("{}.{}", ctx.config.owner, copy.profile)),
            to: copy.previous_owner.clone(),
        };
        let outcomes = board.change(&[stamp], super::LOCK_PATIENCE)?;
        let won = outcomes.iter().all(|outcome| *outcome == EditOutcome::Won);
        done.push((copy, won));
    }
    Ok(done)
}

/// The row that a target names; without a thread it must be the only one.
fn find(board: &mut Board, target: &Target) -> anyhow::Result<SubscriptionRow> {
    let platform = target.platform.trim().to_lowercase();
    let mut matches: Vec<SubscriptionRow> = rows(board)?
        .into_iter()
        .filter(|row| {
            row.key.task == target.task
                && row.key.platform.trim().to_lowercase() == platform
                && row.key.chat == target.chat
                && target.thread.as_ref().is_none_or(|thread| *thread == row.key.thread)
        })
        .collect();
    match (matches.pop(), matches.len()) {
        (Some(row), 0) => Ok(row),
        (Some(_), _) => {
            bail!("several threads of that chat are subscribed; name one with --thread")
        }
        (None, _) => bail!("there is no such subscription; see `kanban-gateway sub list`"),
    }
}

pub(super) fn rows(board: &mut Board) -> anyhow::Result<Vec<SubscriptionRow>> {
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let (page, _) = board.subscriptions(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.rowid;
        all.extend(page);
    }
}

/// The world as it is at this moment, for one look.
pub(super) fn world(ctx: &Context) -> anyhow::Result<World> {
    crate::wiring::world_now(&ctx.config, &ctx.env).context("the channels cannot be made")
}

/// Whether a copy of the ledger is that of a row.
pub(super) fn is_copy(copy: &SubscriptionInfo, row: &SubscriptionRow) -> bool {
    copy.task == row.key.task
        && copy.platform == row.key.platform
        && copy.chat == row.key.chat
        && copy.thread == row.key.thread
        && copy.created_at == row.created_at.saturating_mul(1_000_000)
}

/// A row as the domain sees it.
pub(super) fn domain_row(row: &SubscriptionRow) -> Row {
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
pub(super) fn lines<'a>(
    slug: &'a str,
    board: &Board,
    rows: Vec<SubscriptionRow>,
    copies: &'a [SubscriptionInfo],
    policy: &'a Policy,
    world: &'a World,
) -> impl Iterator<Item = SubLine> + 'a {
    let has_mode = board.features().delivery_mode;
    let path = board.path().to_owned();
    rows.into_iter().map(move |row| {
        let copy = copies.iter().find(|copy| Path::new(&copy.path) == path && is_copy(copy, &row));
        line(slug, row, copy, has_mode, policy, world)
    })
}

/// Who serves a row, in one word and in words for people.
pub(super) fn reach(
    row: &SubscriptionRow,
    released: bool,
    has_mode: bool,
    policy: &Policy,
    world: &World,
) -> (Reach, String) {
    if released {
        return (Reach::Elsewhere, Why::Released.text().to_owned());
    }
    let row = domain_row(row);
    match ownership::decide(&row, None, has_mode, policy, world) {
        Ownership::Ours { .. } => (Reach::Served, "ours".to_owned()),
        Ownership::Adopt { profile, .. } => {
            let platform = row.key.platform_name();
            let api = row.key.is_api_server();
            let why = if api { Why::NoServer } else { Why::NoChannel };
            match world.channels.contains_key(&ownership::channel(&platform, api, &profile)) {
                true => (Reach::Served, "to be adopted".to_owned()),
                false => (Reach::Nobody, format!("to be adopted, but {}", why.text())),
            }
        }
        Ownership::ReadOnly(why) => {
            let reach = match why {
                Why::HermesServes | Why::Released => Reach::Elsewhere,
                Why::NoChannel | Why::NoServer | Why::NothingToSend => Reach::Nobody,
            };
            (reach, why.text().to_owned())
        }
    }
}

fn line(
    slug: &str,
    row: SubscriptionRow,
    copy: Option<&SubscriptionInfo>,
    has_mode: bool,
    policy: &Policy,
    world: &World,
) -> SubLine {
    let released = copy.is_some_and(|copy| copy.life == "released");
    let (reach, served) = reach(&row, released, has_mode, policy, world);
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
