//! The sessions of a receiver, in memory.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use serde_json::{Value, json};

/// One row of a session, as `GET /api/sessions/{id}/messages` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    /// Counts from 1 over all sessions.
    pub id: u64,
    /// The session that holds it.
    pub session_id: String,
    /// `user`, `assistant`, `tool`, …
    pub role: String,
    /// The text.
    pub content: String,
    /// The calls of tools, as a list; `null` for none.
    pub tool_calls: Value,
    /// Unix seconds.
    pub timestamp: f64,
}

#[derive(Default)]
pub(super) struct Sessions {
    sessions: BTreeMap<String, Session>,
    rows: u64,
}

#[derive(Default)]
struct Session {
    rows: Vec<SessionRow>,
    turns: usize,
    started_at: f64,
    child: Option<String>,
    parent: Option<String>,
}

impl Sessions {
    pub(super) fn ids(&self) -> Vec<String> {
        self.sessions.keys().cloned().collect()
    }

    pub(super) fn rows(&self, session: &str) -> Vec<SessionRow> {
        self.sessions.get(session).map(|session| session.rows.clone()).unwrap_or_default()
    }

    pub(super) fn turns(&self, session: &str) -> usize {
        self.sessions.get(session).map_or(0, |session| session.turns)
    }

    /// Begins a turn: its user row is there before the model is asked. Answers the session that holds it.
    pub(super) fn begin(&mut self, session: &str, text: &str) -> String {
        let holder = self.newest(session);
        self.push(&holder, "user", text, false, now());
        self.session(session).turns = self.turns(session).saturating_add(1);
        holder
    }

    pub(super) fn answer(&mut self, session: &str, text: &str) {
        self.push(session, "assistant", text, false, now());
    }

    pub(super) fn push(
        &mut self,
        session: &str,
        role: &str,
        content: &str,
        calls_tools: bool,
        timestamp: f64,
    ) {
        self.rows = self.rows.saturating_add(1);
        let calls = json!([{"id": "call_1", "type": "function",
            "function": {"name": "tool", "arguments": "{}"}}]);
        let row = SessionRow {
            id: self.rows,
            session_id: session.to_owned(),
            role: role.to_owned(),
            content: content.to_owned(),
            tool_calls: if calls_tools { calls } else { Value::Null },
            timestamp,
        };
        self.session(session).rows.push(row);
    }

    pub(super) fn rotate(&mut self, from: &str, to: &str) {
        self.session(from).child = Some(to.to_owned());
        self.session(to).parent = Some(from.to_owned());
    }

    /// The answer of `GET /api/sessions/{id}/messages`.
    pub(super) fn messages(&self, session: &str) -> Option<Value> {
        self.sessions.get(session)?;
        let newest = self.newest(session);
        let rows = self.rows(&newest);
        Some(json!({"object": "list", "session_id": newest, "data": rows}))
    }

    /// The answer of `GET /api/sessions/{id}`.
    pub(super) fn show(&self, id: &str) -> Option<Value> {
        let shown = self.describe(id)?;
        Some(json!({"object": "hermes.session", "session": shown}))
    }

    /// The answer of `GET /api/sessions`.
    pub(super) fn list(&self) -> Value {
        let ids = self.sessions.keys();
        let data: Vec<Value> = ids.filter_map(|id| self.describe(id)).collect();
        json!({"object": "list", "data": data, "limit": 200, "offset": 0, "has_more": false})
    }

    fn describe(&self, id: &str) -> Option<Value> {
        let session = self.sessions.get(id)?;
        let last = session.rows.last().map(|row| row.timestamp);
        Some(json!({
            "id": id,
            "source": "api_server",
            "started_at": session.started_at,
            "last_active": last.unwrap_or(session.started_at),
            "message_count": session.rows.len(),
            "parent_session_id": session.parent,
        }))
    }

    /// Follows rotations; a circle ends where it began.
    fn newest(&self, session: &str) -> String {
        let mut at = session;
        for _ in 0..self.sessions.len() {
            match self.sessions.get(at).and_then(|session| session.child.as_deref()) {
                Some(child) => at = child,
                None => break,
            }
        }
        at.to_owned()
    }

    fn session(&mut self, id: &str) -> &mut Session {
        self.sessions
            .entry(id.to_owned())
            .or_insert_with(|| Session { started_at: now(), ..Session::default() })
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
