//! Random operations on a board, the same ones for the same seed.

use super::Dice;

/// Which task a step is about: a number in the order of creation, or one that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Made(usize),
    Unknown,
}

/// Which attempt a worker says it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Unsaid,
    Current,
    Over,
}

/// What is created. Tasks in texts are written as `#<number>#`.
#[derive(Clone, Debug)]
pub(super) struct New {
    pub title: &'static str,
    pub body: Option<&'static str>,
    pub assignee: Option<&'static str>,
    pub created_by: Option<&'static str>,
    /// `scratch`, `worktree` or `dir`.
    pub workspace: &'static str,
    pub workspace_path: Option<&'static str>,
    pub branch: Option<&'static str>,
    pub tenant: Option<&'static str>,
    pub priority: i64,
    pub parents: Vec<Task>,
    pub triage: bool,
    pub blocked: bool,
    pub key: Option<&'static str>,
    pub max_runtime_seconds: Option<i64>,
    pub skills: Option<Vec<&'static str>>,
    pub max_retries: Option<i64>,
    pub goal_mode: bool,
    pub goal_max_turns: Option<i64>,
    pub session: Option<&'static str>,
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create(Box<New>),
    Claim {
        task: Task,
        lock: &'static str,
        seconds: i64,
    },
    ClaimReview {
        task: Task,
        lock: &'static str,
        seconds: i64,
    },
    Extend {
        task: Task,
        lock: &'static str,
        seconds: i64,
    },
    Heartbeat {
        task: Task,
        note: Option<&'static str>,
        run: Run,
    },
    Complete {
        task: Task,
        result: Option<String>,
        summary: Option<String>,
        metadata: Option<&'static str>,
        created: Vec<Task>,
        run: Run,
    },
    Block {
        task: Task,
        reason: Option<&'static str>,
        kind: Option<&'static str>,
        run: Run,
    },
    Unblock {
        task: Task,
    },
    Schedule {
        task: Task,
        reason: Option<&'static str>,
        run: Run,
    },
    Promote {
        task: Task,
        actor: &'static str,
        reason: Option<&'static str>,
        force: bool,
    },
    Archive {
        task: Task,
    },
    Comment {
        task: Task,
        author: &'static str,
        body: &'static str,
    },
    Link {
        parent: Task,
        child: Task,
    },
    Unlink {
        parent: Task,
        child: Task,
    },
    Assign {
        task: Task,
        profile: Option<&'static str>,
    },
    Subscribe {
        task: Task,
        platform: &'static str,
        chat: &'static str,
        thread: &'static str,
        user: Option<&'static str>,
        owner: Option<&'static str>,
    },
    Unsubscribe {
        task: Task,
        platform: &'static str,
        chat: &'static str,
        thread: &'static str,
    },
    RecomputeReady,
    /// What a dashboard or a dispatcher writes: an UPDATE of tasks, to be followed by `WHERE id =`.
    Foreign {
        task: Task,
        update: &'static str,
    },
    /// The same to many tasks at once.
    Upheaval,
}

impl Dice {
    /// Any task, mostly a new one.
    fn task(&mut self, made: usize) -> Task {
        if self.often(40) {
            return Task::Unknown;
        }
        let back = if self.often(4) { made } else { made.min(10) };
        Task::Made(made - 1 - self.below(back))
    }

    /// A task, mostly one in one of these states.
    fn task_in(&mut self, statuses: &[String], wanted: &[&str]) -> Task {
        let fits: Vec<usize> =
            (0..statuses.len()).filter(|at| wanted.contains(&statuses[*at].as_str())).collect();
        if fits.is_empty() || self.often(4) {
            return self.task(statuses.len());
        }
        Task::Made(fits[self.below(fits.len())])
    }

    /// Two tasks that may be linked: mostly the one after the other.
    fn neighbours(&mut self, made: usize) -> (Task, Task) {
        let parent = self.task(made);
        match parent {
            Task::Made(number) if !self.often(4) => {
                (parent, Task::Made((number + 1).min(made - 1)))
            }
            _ => (parent, self.task(made)),
        }
    }

    fn run(&mut self) -> Run {
        self.pick(&[Run::Unsaid, Run::Unsaid, Run::Unsaid, Run::Current, Run::Current, Run::Over])
    }
}

const TEXTS: [&str; 9] = [
    "plain",
    "é 𝄞 \"quoted\" \\ and\ttab",
    " \u{1f} padded \u{a0}",
    "first\u{2028}second",
    "one\r\ntwo",
    "\u{c}\n\nafter blanks\u{1c}x",
    "",
    "   ",
    "\u{7f}\u{1}",
];
const LOCKS: [&str; 2] = ["host:1", "other:22"];
const PROFILES: [&str; 6] = ["ada", " Ada ", "Grace", "ΣΊΣΥΦΟΣ", "", "Default"];
const KINDS: [&str; 7] = [
    "needs_input",
    "needs_input",
    "needs_input",
    "capability",
    "transient",
    "dependency",
    "nonsense",
];
const METADATA: [&str; 6] = [
    r#"{"f": [1e16, 1e-5, 2.50, -0.0, 1e15, 123456789.125], "i": 18446744073709551615, "a": 1, "a": 2}"#,
    r#"{"z": 1, "a": [1, 2.5, null, {"q": "é\n"}], "artifacts": ["/a/b.png", " /c ", "", 7]}"#,
    r#"{"artifacts": "not a list"}"#,
    "{}",
    r#"{"artifacts": []}"#,
    r#"{"n": -3, "t": true, "o": {}}"#,
];
const UPDATES: [&str; 8] = [
    "status = 'review'",
    "status = 'todo', claim_lock = NULL",
    "status = 'blocked', consecutive_failures = 1, last_failure_error = 'crashed'",
    "status = 'blocked', consecutive_failures = 2, last_failure_error = 'crashed'",
    // An attempt that leaked.
    "status = 'ready', claim_lock = NULL",
    "status = 'blocked', claim_lock = NULL",
    "current_step_key = 'build', worker_pid = 4711",
    "status = 'ready'",
];

/// The next step on a board with tasks in these states.
pub(super) fn next(dice: &mut Dice, statuses: &[String]) -> Step {
    let made = statuses.len();
    if made < 4 {
        return Step::Create(Box::new(plain(dice)));
    }
    let going = ["running", "ready"];
    match dice.below(47) {
        0..=5 => Step::Create(Box::new(any(dice, made))),
        6..=11 => {
            let task = dice.task_in(statuses, &["ready"]);
            Step::Claim { task, lock: dice.pick(&LOCKS), seconds: dice.pick(&[0, 1, 900]) }
        }
        12 => {
            let task = dice.task_in(statuses, &["review"]);
            Step::ClaimReview { task, lock: dice.pick(&LOCKS), seconds: 60 }
        }
        13 => {
            let task = dice.task_in(statuses, &["running"]);
            Step::Extend { task, lock: dice.pick(&LOCKS), seconds: dice.pick(&[-1, 60]) }
        }
        14..=15 => {
            let task = dice.task_in(statuses, &["running"]);
            Step::Heartbeat { task, note: dice.maybe(&TEXTS), run: dice.run() }
        }
        16..=19 => {
            let task = dice.task_in(statuses, &going);
            complete(dice, task, made)
        }
        20..=24 => {
            let task = dice.task_in(statuses, &going);
            let (reason, kind) = (dice.maybe(&TEXTS), dice.maybe(&KINDS));
            Step::Block { task, reason, kind, run: dice.run() }
        }
        25..=27 => Step::Unblock { task: dice.task_in(statuses, &["blocked", "scheduled"]) },
        28 => {
            let task = dice.task_in(statuses, &["todo", "ready", "running"]);
            Step::Schedule { task, reason: dice.maybe(&TEXTS), run: dice.run() }
        }
        29 => Step::Promote {
            task: dice.task_in(statuses, &["todo", "blocked"]),
            actor: dice.pick(&TEXTS),
            reason: dice.maybe(&TEXTS),
            force: dice.often(2),
        },
        30 => Step::Archive { task: dice.task(made) },
        31 => {
            let (task, author) = (dice.task(made), dice.pick(&TEXTS));
            Step::Comment { task, author, body: dice.pick(&TEXTS) }
        }
        32..=34 => {
            let (parent, child) = dice.neighbours(made);
            Step::Link { parent, child }
        }
        35 => {
            let (parent, child) = dice.neighbours(made);
            Step::Unlink { parent, child }
        }
        36..=37 => Step::Assign { task: dice.task(made), profile: dice.maybe(&PROFILES) },
        38..=39 => Step::Subscribe {
            // The function of Hermes makes rows for tasks that are not there; its command does not.
            task: Task::Made(dice.below(made)),
            platform: dice.pick(&["api_server", "Telegram"]),
            chat: dice.pick(&["", "one", "two é"]),
            thread: dice.pick(&["", "7"]),
            user: dice.maybe(&["u"]),
            owner: dice.maybe(&["default", ""]),
        },
        40 => Step::Unsubscribe {
            task: dice.task(made),
            platform: "api_server",
            chat: dice.pick(&["", "one", "two é"]),
            thread: dice.pick(&["", "7"]),
        },
        41 => Step::RecomputeReady,
        42 => Step::Upheaval,
        _ => Step::Foreign { task: dice.task(made), update: dice.pick(&UPDATES) },
    }
}

fn complete(dice: &mut Dice, task: Task, made: usize) -> Step {
    let text = |dice: &mut Dice| {
        let text = dice.maybe(&TEXTS).map(str::to_owned);
        if !dice.often(3) {
            return text;
        }
        let known = dice.below(made);
        Some(format!(
            "made t_deadbeef1, not t_cafe0123, and #{known}#; {}",
            text.unwrap_or_default()
        ))
    };
    let (result, summary) = (text(dice), text(dice));
    let mut created = Vec::new();
    // The functions of Hermes write refusals for tasks that are not there, too; we do not.
    if task != Task::Unknown && dice.often(3) {
        created = (0..dice.below(3)).map(|_| dice.task(made)).collect();
    }
    Step::Complete {
        task,
        result,
        summary,
        metadata: dice.maybe(&METADATA),
        created,
        run: dice.run(),
    }
}

fn plain(dice: &mut Dice) -> New {
    New {
        title: dice.pick(&["paint", " the shed\u{a0}"]),
        body: dice.maybe(&TEXTS),
        assignee: dice.maybe(&["ada", "Grace"]),
        created_by: dice.maybe(&["ada", "user"]),
        workspace: "scratch",
        workspace_path: None,
        branch: None,
        tenant: None,
        priority: dice.pick(&[0, -1, 5]),
        parents: Vec::new(),
        triage: false,
        blocked: false,
        key: None,
        max_runtime_seconds: None,
        skills: None,
        max_retries: None,
        goal_mode: false,
        goal_max_turns: None,
        session: None,
    }
}

fn any(dice: &mut Dice, made: usize) -> New {
    let skills: [&[&str]; 6] =
        [&[], &["translation", " é ", "translation", ""], &["a,b"], &["Web"], &["\u{7f}𝄞"], &[" "]];
    let mut new = plain(dice);
    if dice.often(2) {
        new.parents = (0..dice.below(3)).map(|_| dice.task(made)).collect();
    }
    if dice.often(3) {
        new.title = dice.pick(&TEXTS);
        new.assignee = dice.maybe(&PROFILES);
    }
    new.workspace = dice.pick(&["scratch", "scratch", "worktree", "dir"]);
    new.workspace_path = dice.maybe(&["/nowhere/at all"]).filter(|_| new.workspace != "scratch");
    new.branch = dice.maybe(&[" feature/x ", ""]).filter(|_| dice.often(2));
    new.tenant = dice.maybe(&["acme"]);
    new.triage = dice.often(8);
    new.blocked = dice.often(8);
    new.key = dice.maybe(&["k1", "k2", ""]);
    new.max_runtime_seconds = dice.maybe(&[30]);
    new.skills = dice.maybe(&skills).map(<[&str]>::to_vec);
    new.max_retries = dice.maybe(&[0, 1, 3]);
    new.goal_mode = dice.often(4);
    new.goal_max_turns = dice.maybe(&[9]);
    new.session = dice.maybe(&["s-1"]);
    new
}
