//! What the stub model answers, and when.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

/// What a rule answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// What the literal model would say: it does what the user's text asks for.
    Literal,
    /// This text.
    Text(String),
    /// A call of one tool. Only where the request offers it, else as `Literal`.
    Tool(String, Value),
    /// An HTTP status with an error body.
    Status(u16),
    /// The request is read and the connection closed without an answer.
    Cut,
    /// This text with `finish_reason: length`. Hermes asks it to go on, so that the last user text
    /// is then Hermes' own: use an empty needle. Empty text makes the turn end in a 502.
    Truncated(String),
    /// Another tool call each time, until Hermes ends the turn for want of budget.
    Endless,
}

/// At which call of a turn a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The last message is the user's: the turn has just begun.
    Begin,
    /// The last message is a tool's result.
    AfterTool,
    /// Any call.
    Any,
}

/// Applies to requests whose last user text contains a needle. The newest matching rule wins.
#[derive(Clone, Debug)]
pub struct Rule {
    needle: String,
    phase: Phase,
    answer: Answer,
    delay: Duration,
    gate: Option<Arc<Hold>>,
    left: Option<usize>,
}

impl Rule {
    /// For texts that contain `needle`; answers as the literal model until told otherwise.
    pub fn new(needle: &str) -> Self {
        Self {
            needle: needle.to_owned(),
            phase: Phase::Any,
            answer: Answer::Literal,
            delay: Duration::ZERO,
            gate: None,
            left: None,
        }
    }

    /// Only at this call of the turn.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// What to answer.
    #[must_use]
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answer = answer;
        self
    }

    /// How long to think first.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Only for the next `times` requests.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.left = Some(times);
        self
    }

    pub(super) fn gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.hold.clone());
        self
    }
}

#[derive(Debug)]
struct Hold {
    entered: watch::Sender<usize>,
    passes: Semaphore,
}

/// Holds every request of a rule until the test lets it go; opens when dropped.
#[derive(Debug)]
pub struct Gate {
    hold: Arc<Hold>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { hold: Arc::new(Hold { entered: watch::channel(0).0, passes: Semaphore::new(0) }) }
    }

    /// Waits until `count` requests in all have reached the gate.
    ///
    /// # Panics
    /// When they do not come within a minute.
    pub async fn entered(&self, count: usize) {
        let mut entered = self.hold.entered.subscribe();
        let wait = entered.wait_for(|now| *now >= count);
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        assert!(waited.is_ok(), "the model was not asked {count} times: {}", self.count());
    }

    /// How many requests have reached the gate.
    pub fn count(&self) -> usize {
        *self.hold.entered.borrow()
    }

    /// Lets one request go.
    pub fn pass_one(&self) {
        self.hold.passes.add_permits(1);
    }

    /// Lets all go, also those to come.
    pub fn open(&self) {
        self.hold.passes.close();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// A request the model has seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When it came.
    pub at: Instant,
    /// The last user text; several user messages in a row arrive merged into one.
    pub user: String,
    /// All user texts of the conversation.
    pub users: Vec<String>,
    /// The roles of the conversation, in order.
    pub roles: Vec<String>,
    /// The tools it may call.
    pub tools: Vec<String>,
    /// The answer was asked for as a stream.
    pub stream: bool,
}

impl Seen {
    pub(super) fn read(request: &Value) -> Self {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let users: Vec<String> =
            messages.iter().filter(|m| m["role"] == "user").map(|m| text(&m["content"])).collect();
        let names = |list: &Value, name: &dyn Fn(&Value) -> Value| -> Vec<String> {
            let list = list.as_array().cloned().unwrap_or_default();
            list.iter().filter_map(|item| name(item).as_str().map(str::to_owned)).collect()
        };
        Self {
            at: Instant::now(),
            user: users.last().cloned().unwrap_or_default(),
            users,
            roles: names(&request["messages"], &|m| m["role"].clone()),
            tools: names(&request["tools"], &|t| t["function"]["name"].clone()),
            stream: request["stream"] == true,
        }
    }

    /// The call of the turn it belongs to.
    pub fn phase(&self) -> Phase {
        if self.roles.last().is_some_and(|role| role == "tool") {
            Phase::AfterTool
        } else {
            Phase::Begin
        }
    }

    /// The titles this text asks to create, in order: lines `create task <title>`.
    pub fn creations(&self) -> Vec<String> {
        let lines = self.user.lines().filter_map(|line| line.trim().strip_prefix("create task "));
        lines.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty()).collect()
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// What goes on the wire.
#[derive(Clone, Debug)]
pub(super) enum Reaction {
    Say(String),
    Truncate(String),
    Call(Vec<(String, Value)>),
    Status(u16),
    Cut,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    rules: Mutex<Vec<Rule>>,
    pub(super) seen: Mutex<Vec<Seen>>,
}

impl Script {
    pub(super) fn add(&self, rule: Rule) {
        self.rules.lock().expect("rules").push(rule);
    }

    pub(super) fn clear(&self) {
        self.rules.lock().expect("rules").clear();
    }

    fn pick(&self, seen: &Seen) -> Option<Rule> {
        let mut rules = self.rules.lock().expect("rules");
        let rule = rules.iter_mut().rev().find(|rule| {
            rule.left != Some(0)
                && seen.user.contains(&rule.needle)
                && (rule.phase == Phase::Any || rule.phase == seen.phase())
        })?;
        rule.left = rule.left.map(|left| left - 1);
        Some(rule.clone())
    }

    pub(super) async fn react(&self, request: &Value) -> Reaction {
        let seen = Seen::read(request);
        self.seen.lock().expect("seen").push(seen.clone());
        let rule = self.pick(&seen);
        let mut answer = Answer::Literal;
        if let Some(rule) = rule {
            if let Some(gate) = &rule.gate {
                gate.entered.send_modify(|count| *count += 1);
                if let Ok(pass) = gate.passes.acquire().await {
                    pass.forget();
                }
            }
            if !rule.delay.is_zero() {
                // sleep: the test asked for a slow model.
                tokio::time::sleep(rule.delay).await;
            }
            answer = rule.answer;
        }
        let offered = |name: &str| seen.tools.iter().any(|tool| tool == name);
        match answer {
            Answer::Text(text) => Reaction::Say(text),
            Answer::Truncated(text) => Reaction::Truncate(text),
            Answer::Status(status) => Reaction::Status(status),
            Answer::Cut => Reaction::Cut,
            Answer::Tool(name, arguments) if offered(&name) && seen.phase() == Phase::Begin => {
                Reaction::Call(vec![(name, arguments)])
            }
            Answer::Endless if offered("kanban_list") => {
                // Different arguments, or Hermes takes it for a loop and steps in.
                let limit = seen.roles.len();
                Reaction::Call(vec![("kanban_list".to_owned(), json!({"limit": limit}))])
            }
            Answer::Literal | Answer::Tool(..) | Answer::Endless => literal(&seen),
        }
    }
}

/// Does what the last user text asks for, word by word, without judgement: it creates again when
/// an old request comes back merged with a wake.
fn literal(seen: &Seen) -> Reaction {
    let titles = seen.creations();
    let able = seen.tools.iter().any(|tool| tool == "kanban_create");
    if seen.phase() == Phase::Begin && able && !titles.is_empty() {
        let calls = titles.iter().map(|title| {
            ("kanban_create".to_owned(), json!({"title": title, "assignee": StubAssignee::NAME}))
        });
        return Reaction::Call(calls.collect());
    }
    let first: String = seen.user.lines().next().unwrap_or_default().chars().take(60).collect();
    Reaction::Say(format!("ok: {first}"))
}

/// The assignee of the tasks a stub creates: no profile, so no dispatcher spawns it.
pub(super) struct StubAssignee;

impl StubAssignee {
    pub(super) const NAME: &str = "stub-worker";
}
