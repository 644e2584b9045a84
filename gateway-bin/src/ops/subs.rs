//! Subscriptions: new ones, and the operator's word on ownership (law O2).

mod list;

use anyhow::{Context as _, bail};
use kanban_notify::{ownership, session};
use kanban_store::{
    board::{Board, EditOutcome, FoundTask, RowEdit, RowKey, SubscriptionRow},
    ledger::{
        operator::{Adoption, Operator, SubscriptionFilter, SubscriptionInfo},
        plan::CopyKey,
    },
    write::{self, NewSubscription},
};
use serde::Serialize;

pub(super) use list::{Copies, OfTask, domain_row, lines, of_task, outlook, rows};
pub use list::{Listing, Reach, SubLine, list};

use super::{
    Context, Unusable, lacking,
    tasks::{resolve, the_one},
    unix_now,
};
use crate::platforms::PLATFORMS;

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

/// Subscribes a chat or session to a task; the row is born ours (law O1).
pub fn add(ctx: &Context, board: Option<&str>, target: &Target) -> anyhow::Result<Added> {
    let platform = target.platform.trim().to_lowercase();
    check_chat(ctx, &platform, &target.chat)?;
    if platform.is_empty() {
        let text = "the platform is empty; name one, such as `console` or `api_server`";
        bail!(Unusable(text.to_owned()));
    }
    let (found, mut board) = ctx.board(board)?;
    let task = resolve(&mut board, &found.slug, &target.task)?;
    let target = &Target { task, ..target.clone() };
    let same = board.subscriptions_of(&target.task)?.into_iter().find(|row| {
        row.key.platform.trim().to_lowercase() == platform
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

/// Refuses a chat where nobody can ever be reached with these settings.
pub(super) fn check_chat(ctx: &Context, platform: &str, chat: &str) -> anyhow::Result<()> {
    let fault = if platform == kanban_notify::subscription::API_SERVER {
        session::fault(chat)
    } else if let Some(platform) = PLATFORMS.iter().find(|known| known.name == platform) {
        let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
        let settings = crate::wiring::push_settings(&ctx.config, &hermes, platform);
        (platform.check_chat)(&settings, chat).err()
    } else {
        chat.trim().is_empty().then_some("the chat is empty")
    };
    match fault {
        Some(fault) => bail!(Unusable(format!("nobody can be reached there: {fault}"))),
        None => Ok(()),
    }
}

/// What keeps a subscription from being told of anything.
fn warnings(ctx: &Context, board: &mut Board, key: &RowKey) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let has_mode = board.features().delivery_mode;
    let row = board.subscriptions_of(&key.task)?.into_iter().find(|row| row.key == *key);
    if let Some(row) = row {
        let outlook = outlook(ctx)?;
        let (reach, why) = list::reach(&row, false, has_mode, &ctx.config.policy(false), &outlook);
        if reach != Reach::Served {
            let home = &ctx.config.hermes_home;
            let remedy = lacking::remedy(&outlook, home, &row.key.platform);
            let remedy = remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            warnings.push(format!("nobody serves it as things are: {why}{remedy}"));
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
    let (found, mut board) = ctx.board(board)?;
    let task = subscribed_task(&mut board, &found.slug, &target.task)?;
    let row = find(&mut board, &Target { task, ..target.clone() })?;
    Ok(write::unsubscribe(&mut board, &row.key)?)
}

/// Takes rows over: the previous owner goes into the ledger, then the row is stamped (law O2).
pub fn adopt(ctx: &Context, board: Option<&str>, wanted: &Wanted) -> anyhow::Result<usize> {
    let (found, mut board) = ctx.board(board)?;
    let wanted = &Wanted {
        task: match &wanted.task {
            Some(text) => Some(subscribed_task(&mut board, &found.slug, text)?),
            None => None,
        },
        ..wanted.clone()
    };
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
    copies.retain(|copy| copy.adopted && ["live", "offered"].contains(&copy.life.as_str()));
    let mut wanted = wanted.clone();
    if let Some(text) = &mut wanted.task {
        let tasks = copies.iter().map(|copy| copy.task.as_str());
        if let Some(task) = the_one(FoundTask::among(tasks, text), text)? {
            *text = task;
        }
    }
    copies.retain(|copy| wanted.names(&copy.task, &copy.platform));
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

/// The whole id of a task that rows are asked for: they may outlive it.
fn subscribed_task(board: &mut Board, slug: &str, text: &str) -> anyhow::Result<String> {
    if board.subscriptions_of(text)?.is_empty() {
        return resolve(board, slug, text);
    }
    Ok(text.to_owned())
}

/// The row that a target names; without a thread it must be the only one.
fn find(board: &mut Board, target: &Target) -> anyhow::Result<SubscriptionRow> {
    let platform = target.platform.trim().to_lowercase();
    let mut matches: Vec<SubscriptionRow> = board
        .subscriptions_of(&target.task)?
        .into_iter()
        .filter(|row| {
            row.key.platform.trim().to_lowercase() == platform
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
