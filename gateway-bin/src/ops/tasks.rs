//! Tasks: what Hermes' own commands would write.

use std::{fs, os::unix::process::parent_id, time::Duration};

use kanban_store::{
    StoreError,
    board::{Board, Fields, FoundTask, TaskDetails},
    write::{
        self, Blocked, CLAIM_SECONDS, Claimant, Completion, Handover, Metadata, Promotion, Review,
        Start, Stop, Workspace,
    },
};
use serde::Serialize;

pub use kanban_store::write::{BlockKind, NewTask, TaskOptions};

use super::{Context, Unusable, on_board, time::Moment, unix_now};

/// What a change came to.
#[derive(Clone, Debug, Serialize)]
pub struct Done {
    /// The board.
    pub board: String,
    /// The task.
    pub task: String,
    /// The event that says so, where there is one.
    pub event: Option<i64>,
    /// What became of it: a status, or what was done.
    pub what: String,
    /// The attempt that was begun.
    pub run: Option<i64>,
    /// Until when the attempt holds the task without a heartbeat.
    pub until: Option<Moment>,
}

/// A new task with all that can be said of it.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// What it is called, who works on it, and so on.
    pub new: NewTask,
    /// The rest. Parents may be abbreviated.
    pub options: TaskOptions,
}

/// What a worker hands over, as it is said on a command line.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// What is told of it.
    pub summary: Option<String>,
    /// Facts, as a JSON object.
    pub metadata: Option<String>,
    /// Files that came of it.
    pub artifacts: Vec<String>,
}

/// One open board, and a task on it.
pub struct Card {
    slug: String,
    board: Board,
    task: String,
}

impl Context {
    /// The task that `text` leads to on a board.
    pub fn card(&self, slug: Option<&str>, text: &str) -> anyhow::Result<Card> {
        let (found, mut board) = self.board(slug)?;
        let task = resolve(&mut board, &found.slug, text)?;
        Ok(Card { slug: found.slug, board, task })
    }

    /// Who acts: the Hermes profile that this is called in, else `user`, as in Hermes.
    pub fn actor(&self) -> String {
        let profile = self.env.get("HERMES_PROFILE").map(str::trim).unwrap_or_default();
        if profile.is_empty() { "user".to_owned() } else { profile.to_owned() }
    }
}

/// The whole id of a task.
pub(super) fn resolve(board: &mut Board, slug: &str, text: &str) -> anyhow::Result<String> {
    the_one(board.find_task(text)?, text)?
        .ok_or_else(|| on_board(StoreError::UnknownTask { task: text.to_owned() }, slug))
}

/// The task that was found, if any was; several are an error.
pub(super) fn the_one(found: FoundTask, text: &str) -> anyhow::Result<Option<String>> {
    match found {
        FoundTask::One(task) => Ok(Some(task)),
        FoundTask::None => Ok(None),
        FoundTask::Several(tasks) => {
            let more = if tasks.len() > 5 { " and others" } else { "" };
            let some: Vec<&str> = tasks.iter().take(5).map(String::as_str).collect();
            let text = format!("{text} may be {}{more}: write more of it", some.join(", "));
            Err(Unusable(text).into())
        }
    }
}

/// Makes a task.
pub fn create(ctx: &Context, slug: Option<&str>, wish: Wish) -> anyhow::Result<Done> {
    let (found, mut board) = ctx.board(slug)?;
    let Wish { mut new, mut options } = wish;
    new.created_by.get_or_insert_with(|| ctx.actor());
    for parent in &mut options.parents {
        *parent = resolve(&mut board, &found.slug, parent)?;
    }
    let task = write::create_task_with(&mut board, &new, &options, unix_now())
        .map_err(|error| on_board(error, &found.slug))?;
    let what = board.task(&task)?.map(|task| task.status).unwrap_or_default();
    Ok(Done { board: found.slug, task, event: None, what, run: None, until: None })
}

/// The folder that a task is worked on in: `scratch`, `worktree`, `worktree:PATH`, `dir:PATH`.
pub fn workspace(text: &str) -> Result<(Workspace, Option<String>), Unusable> {
    let (kind, path) = match text.split_once(':') {
        Some((kind, path)) => (kind, Some(path.trim()).filter(|path| !path.is_empty())),
        None => (text, None),
    };
    let kind = match (kind.trim(), path) {
        ("scratch", None) => Workspace::Scratch,
        ("worktree", _) => Workspace::Worktree,
        ("dir", Some(path)) if path.starts_with('/') => Workspace::Dir,
        _ => {
            let text = format!(
                "`{text}` is no workspace: take `scratch`, `worktree`, `worktree:PATH` or `dir:/PATH`"
            );
            return Err(Unusable(text));
        }
    };
    Ok((kind, path.map(str::to_owned)))
}

/// Where a new task begins.
pub fn start(triage: bool, blocked: bool) -> Start {
    match (triage, blocked) {
        (true, _) => Start::Triage,
        (false, true) => Start::Blocked,
        (false, false) => Start::Normal,
    }
}

impl Said {
    fn metadata(&self) -> Result<Metadata, StoreError> {
        self.metadata.as_deref().map_or_else(|| Ok(Metadata::default()), Metadata::parse)
    }
}

impl Card {
    /// Takes the task to work on it.
    pub fn claim(
        mut self,
        lock: Option<String>,
        ttl: Duration,
        review: bool,
    ) -> anyhow::Result<Done> {
        let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
        if seconds < 1 {
            return Err(Unusable("a claim has to hold for a second at least".to_owned()).into());
        }
        let claimant = Claimant { lock: lock.unwrap_or_else(lock_of_the_caller), seconds };
        let claim = if review { write::claim_review } else { write::claim };
        let won = claim(&mut self.board, &self.task, &claimant, unix_now());
        let won = won.map_err(|error| on_board(error, &self.slug))?;
        let mut done = self.done(Some(won.event), "running");
        done.run = Some(won.run);
        done.until = Some(Moment::from_secs(won.expires));
        Ok(done)
    }

    /// Says that the work goes on, and keeps the claim for as long again as it was to hold.
    pub fn heartbeat(mut self, note: Option<&str>, run: Option<i64>) -> anyhow::Result<Done> {
        let now = unix_now();
        let held = self.board.task_details(&self.task)?.and_then(|details| claim_of(&details));
        let event = write::heartbeat(&mut self.board, &self.task, note, run, now)
            .map_err(|error| on_board(error, &self.slug))?;
        let Some(claimant) = held else {
            return Ok(self.done(Some(event), "alive"));
        };
        let until = write::extend_claim(&mut self.board, &self.task, &claimant, now)
            .map_err(|error| on_board(error, &self.slug))?;
        let mut done = self.done(Some(event), "alive");
        done.until = Some(Moment::from_secs(until));
        Ok(done)
    }

    /// Completes the task.
    pub fn complete(
        mut self,
        result: Option<String>,
        said: Said,
        created: Vec<String>,
        run: Option<i64>,
    ) -> anyhow::Result<Done> {
        let metadata = said.metadata().map_err(|error| on_board(error, &self.slug))?;
        // What cannot be resolved is left to the completion, which says so on the board.
        let created = created
            .into_iter()
            .map(|text| match self.board.find_task(&text) {
                Ok(FoundTask::One(task)) => task,
                _ => text,
            })
            .collect();
        let completion = Completion { result, summary: said.summary };
        let handover = Handover { metadata, artifacts: said.artifacts, created, run };
        let (board, task) = (&mut self.board, &self.task);
        let event = write::complete_with(board, task, &completion, &handover, unix_now());
        self.told(event, "done")
    }

    /// Blocks the task; with `dependency` it waits for its parents instead.
    pub fn block(
        mut self,
        reason: Option<String>,
        kind: Option<BlockKind>,
        dependency: bool,
        run: Option<i64>,
    ) -> anyhow::Result<Done> {
        let stop = Stop { reason, run };
        if dependency {
            let event = write::depend(&mut self.board, &self.task, &stop, unix_now());
            return self.told(event, "todo");
        }
        let blocked = write::block_with(&mut self.board, &self.task, &stop, kind, unix_now());
        match blocked.map_err(|error| on_board(error, &self.slug))? {
            Blocked::Blocked(event) => Ok(self.done(Some(event), "blocked")),
            // Blocked for the same reason again.
            Blocked::Loop(event) => Ok(self.done(Some(event), "triage")),
        }
    }

    /// Lets a blocked or scheduled task go on.
    pub fn unblock(mut self) -> anyhow::Result<Done> {
        let unblocked = write::unblock(&mut self.board, &self.task, unix_now());
        let unblocked = unblocked.map_err(|error| on_board(error, &self.slug))?;
        Ok(self.done(Some(unblocked.event), unblocked.status))
    }

    /// Hands the task over for review. Secrets of common shapes are taken out of the summary first.
    pub fn review(
        mut self,
        said: Said,
        reviewer: Option<String>,
        force: bool,
        run: Option<i64>,
    ) -> anyhow::Result<Done> {
        let mut metadata = said.metadata().map_err(|error| on_board(error, &self.slug))?;
        metadata.add_artifacts(&said.artifacts);
        let summary = said.summary.map(|summary| masked(&summary));
        let review = Review { summary, metadata, reviewer, run, force };
        let event = write::request_review(&mut self.board, &self.task, &review, unix_now());
        self.told(event, "review")
    }

    /// Hands the task back for changes.
    pub fn changes(mut self, reason: &str, run: Option<i64>) -> anyhow::Result<Done> {
        let (board, task) = (&mut self.board, &self.task);
        let back = write::request_changes(board, task, &masked(reason), run, unix_now());
        let back = back.map_err(|error| on_board(error, &self.slug))?;
        Ok(self.done(Some(back.event), back.status))
    }

    /// Puts the task aside.
    pub fn schedule(mut self, reason: Option<String>, run: Option<i64>) -> anyhow::Result<Done> {
        let stop = Stop { reason, run };
        let event = write::schedule(&mut self.board, &self.task, &stop, unix_now());
        self.told(event, "scheduled")
    }

    /// Makes the task ready by hand.
    pub fn promote(
        mut self,
        actor: String,
        reason: Option<String>,
        force: bool,
    ) -> anyhow::Result<Done> {
        let promotion = Promotion { actor, reason, force };
        let event = write::promote(&mut self.board, &self.task, &promotion, unix_now());
        self.told(event, "ready")
    }

    /// Puts the task away.
    pub fn archive(mut self) -> anyhow::Result<Done> {
        let event = write::archive(&mut self.board, &self.task, unix_now());
        self.told(event, "archived")
    }

    /// Comments on the task.
    pub fn comment(mut self, author: &str, text: &str) -> anyhow::Result<Done> {
        write::comment(&mut self.board, &self.task, author, text, unix_now())
            .map_err(|error| on_board(error, &self.slug))?;
        Ok(self.done(None, "commented"))
    }

    /// Lets the task `child` wait for this one, or wait no more.
    pub fn link(mut self, child: &str, wait: bool) -> anyhow::Result<Done> {
        let child = resolve(&mut self.board, &self.slug, child)?;
        let change = if wait { write::link } else { write::unlink };
        let event = change(&mut self.board, &self.task, &child, unix_now())
            .map_err(|error| on_board(error, &self.slug))?;
        let what = if wait { "waits for" } else { "waits no more for" };
        let what = format!("{what} {}", self.task);
        self.task = child;
        Ok(self.done(Some(event), &what))
    }

    /// Gives the task to a profile, or takes it from everybody.
    pub fn assign(mut self, profile: Option<&str>) -> anyhow::Result<Done> {
        let event = write::assign(&mut self.board, &self.task, profile, unix_now());
        let what = profile.map_or_else(
            || "assigned to nobody".to_owned(),
            |profile| format!("assigned to {}", profile.trim().to_lowercase()),
        );
        self.told(event, &what)
    }

    fn told(self, event: Result<i64, StoreError>, what: &str) -> anyhow::Result<Done> {
        let event = event.map_err(|error| on_board(error, &self.slug))?;
        Ok(self.done(Some(event), what))
    }

    fn done(self, event: Option<i64>, what: &str) -> Done {
        let Self { slug: board, task, .. } = self;
        Done { board, task, event, what: what.to_owned(), run: None, until: None }
    }

    pub(super) fn parts(self) -> (String, Board, String) {
        (self.slug, self.board, self.task)
    }
}

/// Who holds a task, and for how long each time: from the last sign of life to the claim's end.
fn claim_of(details: &TaskDetails) -> Option<Claimant> {
    let number = |fields: &Fields, name: &str| fields.get(name).and_then(serde_json::Value::as_i64);
    let lock = details.task.get("claim_lock")?.as_str()?.to_owned();
    let expires = number(&details.task, "claim_expires");
    let begun = details.runs.last().and_then(|run| number(run, "started_at"));
    let since = number(&details.task, "last_heartbeat_at").max(begun);
    let seconds = expires.zip(since).map(|(expires, since)| expires.saturating_sub(since));
    let seconds = seconds.filter(|seconds| *seconds > 0).unwrap_or(CLAIM_SECONDS);
    Some(Claimant { lock, seconds })
}

fn masked(text: &str) -> String {
    kanban_notify::text::mask::secrets(text).to_string()
}

/// This host, and the process that called: a name for the holder that people can trace.
fn lock_of_the_caller() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    format!("{}:{}", if host.is_empty() { "localhost" } else { host }, parent_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_read_as_hermes_writes_them() {
        let read = |text: &str| workspace(text).ok();
        assert_eq!(read("scratch"), Some((Workspace::Scratch, None)));
        assert_eq!(read("worktree"), Some((Workspace::Worktree, None)));
        assert_eq!(read("dir:/srv/a:b"), Some((Workspace::Dir, Some("/srv/a:b".to_owned()))));
        for nonsense in ["dir", "dir:", "dir:rel/path", "scratch:/x", "tmp", ""] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
