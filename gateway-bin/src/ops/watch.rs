//! A board as it changes: what stands where, what runs, what was told to whom.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use kanban_notify::text::clean;
use kanban_store::{
    board::Board,
    ledger::operator::{DeadLeg, Operator},
};

use super::{Context, unix_now};

/// Tasks of a column, and deliveries, that are read.
const MOST: usize = 200;
/// A title is cut to so many characters.
pub(crate) const TITLE: usize = 120;
/// The ledger is asked again at least so often: another process's commits there are not announced.
const LEDGER_EVERY: Duration = Duration::from_secs(1);

/// One look at a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The board's slug.
    pub board: String,
    /// The time of the look, in Unix seconds.
    pub now: i64,
    /// Statuses in the order of a task's life.
    pub columns: Vec<Column>,
    /// Tasks at work, the longest running first.
    pub running: Vec<Running>,
    /// Deliveries, the newest first.
    pub deliveries: Vec<Delivery>,
    /// Why there is nothing newer.
    pub problem: Option<String>,
}

/// The tasks of one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The status.
    pub status: String,
    /// How many tasks have it.
    pub count: i64,
    /// The first of them, one line each.
    pub tasks: Vec<String>,
}

/// A task at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Id and title.
    pub task: String,
    /// Who works on it.
    pub assignee: String,
    /// When it began, in Unix seconds.
    pub since: Option<i64>,
    /// Its last sign of life, in Unix seconds.
    pub heartbeat_at: Option<i64>,
}

/// A delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id in the ledger.
    pub id: i64,
    /// When it was tried last, or planned, in Unix seconds.
    pub at: i64,
    /// The task.
    pub task: String,
    /// What happened to it.
    pub event: String,
    /// Platform and chat.
    pub to: String,
    /// Where it stands, with the reason if there is one.
    pub state: String,
}

/// Looks at one board again and again.
pub struct Watcher {
    slug: String,
    board: Board,
    ledger_path: PathBuf,
    ledger: Option<Operator>,
    seen: Option<i64>,
    ledger_read: Option<Instant>,
    view: View,
}

impl Watcher {
    /// The board that `slug` names, or the current one.
    pub fn open(ctx: &Context, slug: Option<&str>) -> anyhow::Result<Self> {
        let (found, board) = ctx.board(slug)?;
        Ok(Self {
            view: View { board: found.slug.clone(), ..View::default() },
            slug: found.slug,
            board,
            ledger_path: ctx.config.ledger.clone(),
            ledger: None,
            seen: None,
            ledger_read: None,
        })
    }

    /// The latest look. What cannot be read now stays as it was, and says so.
    pub fn look(&mut self) -> &View {
        self.view.now = unix_now();
        self.view.problem = self.refresh().err().map(|error| format!("{error:#}"));
        &self.view
    }

    fn refresh(&mut self) -> anyhow::Result<()> {
        self.board.check_file()?;
        let version = self.board.data_version()?;
        if self.seen != Some(version) {
            self.read_board()?;
            self.seen = Some(version);
        }
        if self.ledger_read.is_none_or(|at| at.elapsed() >= LEDGER_EVERY) {
            self.read_ledger()?;
            self.ledger_read = Some(Instant::now());
        }
        Ok(())
    }

    fn read_board(&mut self) -> anyhow::Result<()> {
        let seen = self.board.overview(MOST)?;
        self.view.columns = seen
            .columns
            .into_iter()
            .map(|column| Column {
                status: clean::one_line(&column.status, TITLE),
                count: column.count,
                tasks: column.tasks.iter().map(|task| named(&task.id, &task.title)).collect(),
            })
            .collect();
        self.view.running = seen
            .running
            .into_iter()
            .map(|task| Running {
                task: named(&task.id, &task.title),
                assignee: clean::one_line(task.assignee.as_deref().unwrap_or("-"), TITLE),
                since: task.since,
                heartbeat_at: task.heartbeat_at,
            })
            .collect();
        Ok(())
    }

    fn read_ledger(&mut self) -> anyhow::Result<()> {
        if self.ledger.is_none() && self.ledger_path.exists() {
            self.ledger = Some(Operator::open(&self.ledger_path)?);
        }
        if let Some(ledger) = &mut self.ledger {
            let most = i64::try_from(MOST).unwrap_or(i64::MAX);
            let latest = ledger.latest(&self.slug, most)?;
            self.view.deliveries = latest.into_iter().map(delivery).collect();
        }
        Ok(())
    }
}

fn named(id: &str, title: &str) -> String {
    format!("{} {}", clean::one_line(id, TITLE), clean::one_line(title, TITLE))
}

fn delivery(leg: DeadLeg) -> Delivery {
    let reason = clean::one_line(&leg.reason, TITLE);
    let thread = if leg.thread.is_empty() { String::new() } else { format!(" #{}", leg.thread) };
    Delivery {
        id: leg.id,
        at: leg.last_attempt_at.unwrap_or(leg.planned_at) / 1_000_000,
        task: clean::one_line(&leg.task, TITLE),
        event: leg.event_kind,
        to: clean::one_line(&format!("{} {}{thread}", leg.platform, leg.chat), TITLE),
        state: if reason.is_empty() { leg.state } else { format!("{}: {reason}", leg.state) },
    }
}
