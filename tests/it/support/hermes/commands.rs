//! `hermes kanban …`, as a person types it.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use super::Home;

/// What a command answered.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The arguments, for messages.
    pub command: String,
    /// Its exit code, if it had one.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    pub(super) fn new(arguments: &[&str], output: &Output) -> Self {
        Self {
            command: format!("hermes {}", arguments.join(" ")),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Whether it did what it was asked to. `hermes kanban` ends with 0 also when it refused, so
    /// a word on standard error counts.
    pub fn succeeded(&self) -> bool {
        self.code == Some(0) && self.stderr.trim().is_empty()
    }

    /// The output of a command that succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert!(self.succeeded(), "{}\n{}\n{}", self.command, self.stdout, self.stderr);
        self.stdout
    }

    /// The JSON of a command that succeeded.
    #[track_caller]
    pub fn json(self) -> Value {
        let command = self.command.clone();
        let text = self.success();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{command}: {e}\n{text}"))
    }
}

/// One board of a home, reached by commands.
#[derive(Clone, Debug)]
pub struct Board {
    home: Home,
    slug: String,
}

impl Board {
    pub(super) fn new(home: &Home, slug: &str) -> Self {
        Self { home: home.clone(), slug: slug.to_owned() }
    }

    /// The home it belongs to.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Its name.
    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// Its file.
    pub fn path(&self) -> PathBuf {
        match self.slug.as_str() {
            "default" => self.home.path().join("kanban.db"),
            slug => self.home.path().join("kanban/boards").join(slug).join("kanban.db"),
        }
    }

    /// Runs `hermes kanban --board <slug> <arguments>`.
    pub async fn kanban(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["kanban", "--board", &self.slug];
        all.extend_from_slice(arguments);
        self.home.hermes(&all).await
    }

    /// Creates a task and answers its id. An assignee that is no profile is never dispatched.
    pub async fn create(&self, title: &str, assignee: &str) -> String {
        let task = self.kanban(&["create", title, "--assignee", assignee, "--json"]).await.json();
        task["id"].as_str().expect("the created task has an id").to_owned()
    }

    /// `notify-subscribe`; 0.19.0 stamps the active profile.
    pub async fn subscribe(&self, task: &str, platform: &str, chat: &str) {
        self.subscribe_with(task, platform, chat, &[]).await;
    }

    /// `notify-subscribe` with more arguments: `--thread-id`, `--notifier-profile`, `--user-id`.
    pub async fn subscribe_with(&self, task: &str, platform: &str, chat: &str, more: &[&str]) {
        let mut arguments =
            vec!["notify-subscribe", task, "--platform", platform, "--chat-id", chat];
        arguments.extend_from_slice(more);
        self.kanban(&arguments).await.success();
    }

    /// `notify-unsubscribe`.
    pub async fn unsubscribe(&self, task: &str, platform: &str, chat: &str) {
        let arguments = ["notify-unsubscribe", task, "--platform", platform, "--chat-id", chat];
        self.kanban(&arguments).await.success();
    }

    /// The rows of `notify-list --json`: of one task, or all.
    pub async fn subscriptions(&self, task: Option<&str>) -> Vec<Value> {
        let mut arguments = vec!["notify-list"];
        arguments.extend(task);
        arguments.push("--json");
        rows(self.kanban(&arguments).await.json())
    }

    /// Completes a task with a summary.
    pub async fn complete(&self, task: &str, summary: &str) {
        self.kanban(&["complete", task, "--summary", summary]).await.success();
    }

    /// Completes many tasks in one command; Hermes allows no summary there, only a result.
    pub async fn complete_all(&self, tasks: &[String], result: &str) {
        let mut arguments = vec!["complete"];
        arguments.extend(tasks.iter().map(String::as_str));
        arguments.extend(["--result", result]);
        self.kanban(&arguments).await.success();
    }

    /// Blocks a task.
    pub async fn block(&self, task: &str, reason: &str) {
        self.kanban(&["block", task, reason]).await.success();
    }

    /// Unblocks a task.
    pub async fn unblock(&self, task: &str) {
        self.kanban(&["unblock", task]).await.success();
    }

    /// Archives a task.
    pub async fn archive(&self, task: &str) {
        self.kanban(&["archive", task]).await.success();
    }

    /// Comments on a task.
    pub async fn comment(&self, task: &str, text: &str) {
        self.kanban(&["comment", task, text]).await.success();
    }

    /// `show --json`: the task, its events with payloads, its runs.
    pub async fn show(&self, task: &str) -> Value {
        self.kanban(&["show", task, "--json"]).await.json()
    }

    /// `list --json`, archived ones included.
    pub async fn list(&self) -> Vec<Value> {
        rows(self.kanban(&["list", "--archived", "--json"]).await.json())
    }
}

#[track_caller]
fn rows(value: Value) -> Vec<Value> {
    match value {
        Value::Array(rows) => rows,
        other => panic!("not a list: {other}"),
    }
}
