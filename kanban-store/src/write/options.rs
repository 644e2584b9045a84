//! What a new task may say besides: what it waits for, where it is worked on, and how.

use super::{assign::profile_name, text::strip};
use crate::{board::Features, error::StoreError};

/// More about a new task. The default is a task like any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskOptions {
    /// Tasks that must be done first.
    pub parents: Vec<String>,
    /// Where it begins.
    pub start: Start,
    /// What kind of folder it is worked on in.
    pub workspace: Workspace,
    /// That folder. Without one a `Dir` or `Worktree` has the board's own, if it names any.
    pub workspace_path: Option<String>,
    /// The branch of a worktree.
    pub branch: Option<String>,
    /// Whose task it is, where several share a board.
    pub tenant: Option<String>,
    /// How long an attempt may take, in seconds.
    pub max_runtime_seconds: Option<i64>,
    /// Skills that its worker has to load; trimmed, each once.
    pub skills: Option<Vec<String>>,
    /// So many failures in a row, and the dispatcher gives up.
    pub max_retries: Option<i64>,
    /// Whether its worker goes on until a judge finds the goal reached.
    pub goal_mode: bool,
    /// But for at most so many turns.
    pub goal_max_turns: Option<i64>,
}

/// Where a new task begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// `ready`, or `todo` while it waits for a parent.
    #[default]
    Normal,
    /// `triage`: somebody has to say first what is to be done.
    Triage,
    /// `blocked`: somebody has to look at it first.
    Blocked,
}

/// The kind of folder that a task is worked on in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    /// An empty one, removed afterwards.
    #[default]
    Scratch,
    /// A git worktree.
    Worktree,
    /// One that is there.
    Dir,
}

impl Workspace {
    /// The kind's name on a board.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scratch => "scratch",
            Self::Worktree => "worktree",
            Self::Dir => "dir",
        }
    }
}

/// The options after they were looked at.
pub(super) struct Checked {
    pub parents: Vec<String>,
    pub branch: Option<String>,
    pub skills: Option<Vec<String>>,
}

/// Looks at what can be judged without the board.
pub(super) fn check(options: &TaskOptions) -> Result<Checked, StoreError> {
    let branch = options.branch.as_deref().map(strip).filter(|branch| !branch.is_empty());
    if let (Some(branch), false) = (branch, options.workspace == Workspace::Worktree) {
        return Err(StoreError::BadValue {
            what: "branch for this task",
            value: branch.into(),
            advice: "only a worktree has a branch; ask for one, or name none",
        });
    }
    Ok(Checked {
        parents: options.parents.iter().filter(|id| !id.is_empty()).cloned().collect(),
        branch: branch.map(str::to_owned),
        skills: options.skills.as_deref().map(skills).transpose()?,
    })
}

/// Refuses what a Hermes of the board's generation could not have asked for.
pub(super) fn check_board(
    options: &TaskOptions,
    checked: &Checked,
    features: &Features,
) -> Result<(), StoreError> {
    let asked = [
        (checked.branch.is_some() && !features.branch_name, "branches", "0.15"),
        (
            options.start == Start::Blocked && !features.branch_name,
            "tasks blocked at first",
            "0.15",
        ),
        (options.goal_mode && !features.goal_mode, "goals", "0.16"),
        (options.goal_max_turns.is_some() && !features.goal_mode, "goals", "0.16"),
    ];
    match asked.into_iter().find(|(missing, ..)| *missing) {
        Some((_, what, since)) => Err(StoreError::BoardTooOld { what, since }),
        None => Ok(()),
    }
}

/// The assignee as it is stored.
pub(super) fn assignee(name: Option<&str>) -> Result<Option<String>, StoreError> {
    name.map(profile_name).transpose()
}

fn skills(named: &[String]) -> Result<Vec<String>, StoreError> {
    let bad = |name: &str, advice| StoreError::BadValue {
        what: "name of a skill",
        value: name.into(),
        advice,
    };
    let mut all: Vec<String> = Vec::new();
    for name in named.iter().map(|name| strip(name)).filter(|name| !name.is_empty()) {
        if name.contains(',') {
            return Err(bad(name, "give each skill by itself, not joined with commas"));
        }
        if TOOLSETS.contains(&name.to_lowercase().as_str()) {
            return Err(bad(name, "it is a toolset; toolsets belong into the profile's config"));
        }
        if all.iter().all(|known| known != name) {
            all.push(name.to_owned());
        }
    }
    Ok(all)
}

/// The toolsets that Hermes 0.19.0 comes with, which are no skills. Plugins may bring more, and
/// only that Hermes knows of them.
const TOOLSETS: &[&str] = &[
    "browser",
    "clarify",
    "code_execution",
    "coding",
    "computer_use",
    "context_engine",
    "cronjob",
    "debugging",
    "delegation",
    "discord",
    "discord_admin",
    "feishu_doc",
    "feishu_drive",
    "file",
    "hermes-acp",
    "hermes-api-server",
    "hermes-bluebubbles",
    "hermes-cli",
    "hermes-cron",
    "hermes-dingtalk",
    "hermes-discord",
    "hermes-email",
    "hermes-feishu",
    "hermes-gateway",
    "hermes-homeassistant",
    "hermes-matrix",
    "hermes-mattermost",
    "hermes-qqbot",
    "hermes-signal",
    "hermes-slack",
    "hermes-sms",
    "hermes-telegram",
    "hermes-webhook",
    "hermes-wecom",
    "hermes-wecom-callback",
    "hermes-weixin",
    "hermes-whatsapp",
    "hermes-yuanbao",
    "homeassistant",
    "image_gen",
    "kanban",
    "memory",
    "project",
    "safe",
    "search",
    "session_search",
    "skills",
    "spotify",
    "terminal",
    "todo",
    "tts",
    "video",
    "video_gen",
    "vision",
    "web",
    "x_search",
    "yuanbao",
];
