//! A resident Python process that writes a board with the package's own functions.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::Board;

const SCRIPT: &str = include_str!("kanban_writer.py");
const LIMIT: Duration = Duration::from_secs(300);

/// How a load of writes looks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many writes, each by one Hermes function with a connection of its own.
    pub writes: usize,
    /// Milliseconds between two writes; 0 is as fast as it can.
    pub pause_ms: u64,
    /// Bytes in the body of each created task.
    pub body_bytes: usize,
    /// Every created task gets an `api_server` subscription of session `<prefix>-<n>`.
    pub subscribe: Option<&'static str>,
    /// Over so many sessions, in turns; 0 is one for each task.
    pub sessions: usize,
    /// So many tasks are open at a time; 0 completes each at once.
    pub lag: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self { writes: 2_000, pause_ms: 0, body_bytes: 64, subscribe: None, sessions: 0, lag: 0 }
    }
}

/// What a load of writes came to.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Writes tried.
    pub writes: usize,
    /// Ids of tasks created, in order.
    pub created: Vec<String>,
    /// Ids of tasks completed, in order.
    pub completed: Vec<String>,
    /// Errors raised by Hermes' functions, as `Type: text`, in order.
    pub errors: Vec<String>,
    /// Created or completed without an error, yet not so in the file afterwards. Always a bug.
    pub missing: Vec<String>,
    /// Duration of the load.
    pub elapsed_ms: u64,
}

/// The process, on one board. One request at a time, each about a millisecond.
#[derive(Debug)]
pub struct Writer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// Starts it on a board.
    ///
    /// # Panics
    /// When it does not come up; its stderr is the test's.
    pub async fn start(board: &Board) -> Self {
        let mut command = board.home().command("python");
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg(board.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("python starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut writer = Self { child, input, output };
        writer.call("ping", json!({})).await;
        writer
    }

    /// Its process id.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Calls one operation of `kanban_writer.py`; an exception of Hermes is an error.
    pub async fn try_call(&mut self, operation: &str, arguments: Value) -> Result<Value, String> {
        let mut request = match arguments {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        request.insert("op".to_owned(), json!(operation));
        let line = format!("{}\n", Value::Object(request));
        self.input.write_all(line.as_bytes()).await.expect("the writer reads");
        let line = tokio::time::timeout(LIMIT, self.output.next_line())
            .await
            .expect("the writer answers in time")
            .expect("the writer's output")
            .expect("the writer lives");
        let reply: Value = serde_json::from_str(&line).expect("JSON of the writer");
        match reply["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(reply["ok"].clone()),
        }
    }

    async fn call(&mut self, operation: &str, arguments: Value) -> Value {
        self.try_call(operation, arguments)
            .await
            .unwrap_or_else(|error| panic!("{operation}: {error}"))
    }

    /// `create_task`, with the session that the command line cannot set.
    pub async fn create_task(&mut self, title: &str, session: Option<&str>) -> String {
        let arguments = json!({"title": title, "session_id": session});
        string(&self.call("create", arguments).await)
    }

    /// `add_notify_sub`; `None` leaves the owner NULL, as a turn of the API server does.
    pub async fn subscribe(&mut self, task: &str, platform: &str, chat: &str, owner: Option<&str>) {
        let row = json!({"task": task, "platform": platform, "chat": chat, "owner": owner});
        self.call("subscribe", row).await;
    }

    /// `count` tasks `<title> <n>`, each with a subscription of `<chat>-<n>`; answers their ids.
    pub async fn seed(
        &mut self,
        count: usize,
        title: &str,
        platform: &str,
        chat: &str,
        owner: Option<&str>,
    ) -> Vec<String> {
        let arguments = json!({
            "count": count, "title": title, "platform": platform, "chat": chat, "owner": owner,
        });
        strings(&self.call("seed", arguments).await)
    }

    /// `complete_task`.
    pub async fn complete(&mut self, task: &str, summary: &str) {
        let done = self.call("complete", json!({"task": task, "summary": summary})).await;
        assert_eq!(done, true, "{task} could not be completed");
    }

    /// `block_task`.
    pub async fn block(&mut self, task: &str, reason: &str) {
        let done = self.call("block", json!({"task": task, "reason": reason})).await;
        assert_eq!(done, true, "{task} could not be blocked");
    }

    /// `unblock_task`.
    pub async fn unblock(&mut self, task: &str) {
        let done = self.call("unblock", json!({"task": task})).await;
        assert_eq!(done, true, "{task} could not be unblocked");
    }

    /// `archive_task`.
    pub async fn archive(&mut self, task: &str) {
        let done = self.call("archive", json!({"task": task})).await;
        assert_eq!(done, true, "{task} could not be archived");
    }

    /// `add_comment`.
    pub async fn comment(&mut self, task: &str, text: &str) {
        self.call("comment", json!({"task": task, "text": text})).await;
    }

    /// Many writes in a row: create, comment, heartbeat-like comment, complete, and so on.
    pub async fn load(&mut self, load: Load) -> Summary {
        let arguments = json!({
            "writes": load.writes,
            "pause_ms": load.pause_ms,
            "body_bytes": load.body_bytes,
            "subscribe": load.subscribe,
            "sessions": load.sessions,
            "lag": load.lag,
        });
        let reply = self.call("load", arguments).await;
        Summary {
            writes: number(&reply["writes"]).try_into().expect("fits"),
            created: strings(&reply["created"]),
            completed: strings(&reply["completed"]),
            errors: strings(&reply["errors"]),
            missing: strings(&reply["missing"]),
            elapsed_ms: number(&reply["elapsed_ms"]),
        }
    }

    /// `create_task` on a connection that stays open until the end, unlike all others.
    pub async fn create_and_stay_open(&mut self, title: &str) -> String {
        string(&self.call("hold", json!({"title": title})).await)
    }

    /// The rows of `kanban_notify_subs` as the package lists them.
    pub async fn subscriptions(&mut self) -> Vec<Value> {
        self.call("subscriptions", json!({})).await.as_array().cloned().unwrap_or_default()
    }

    /// `PRAGMA integrity_check`, on a read-only connection.
    pub async fn integrity_check(&mut self) -> String {
        string(&self.call("integrity", json!({})).await)
    }

    /// Rows of a SELECT as objects, on a read-only connection.
    pub async fn query(&mut self, sql: &str, parameters: Value) -> Vec<Value> {
        let rows = self.call("query", json!({"sql": sql, "parameters": parameters})).await;
        rows.as_array().cloned().unwrap_or_default()
    }

    /// Ends it.
    pub async fn stop(mut self) {
        drop(self.input);
        let ended = tokio::time::timeout(LIMIT, self.child.wait()).await;
        let status = ended.expect("the writer ends").expect("the writer can be waited for");
        assert!(status.success(), "{status}");
    }
}

#[track_caller]
fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

#[track_caller]
fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}")).iter().map(string).collect()
}

#[track_caller]
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}
