//! A real Synapse in a folder of its own, behind a socket that needs no port.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use gateway_adapters::receiver::push::{Heard, Platform, PushAnswer};
use serde_json::{Value, json};

use crate::support::wait::eventually;

/// Where `cargo xtask test` says the virtual environment is.
const VENV: &str = "KANBAN_GATEWAY_SYNAPSE_VENV";
const PASSWORD: &str = "FAKEpassword";
const USER: &str = "@bot:localhost";

/// The environment's Python, or `None` after saying loudly that the calling test was skipped.
pub fn require() -> Option<PathBuf> {
    let found = std::env::var_os(VENV).map(|venv| Path::new(&venv).join("bin/python"));
    if let Some(python) = found.filter(|python| python.is_file()) {
        return Some(python);
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed test");
    let line = format!("SKIPPED: {test}: there is no Synapse; run `cargo xtask test` ({VENV})");
    assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "in CI it is required: {line}");
    // Past the capture of the test harness, so that a skip is seen in a green run.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
    None
}

/// A moment of a message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The server has not been asked yet.
    Heard,
    /// The server has answered, and nobody knows.
    Answered,
}

/// The server; it is killed with this value.
pub struct Synapse {
    python: PathBuf,
    folder: tempfile::TempDir,
    child: Mutex<Option<Child>>,
}

impl Synapse {
    /// Starts one with the user `bot`.
    pub async fn start(python: PathBuf) -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        // The key of a server that no other server will ever see.
        std::fs::write(path("key"), format!("ed25519 a_1 {}\n", "A".repeat(43))).unwrap();
        let any = json!({"per_second": 1000, "burst_count": 1000});
        let config = json!({
            "server_name": "localhost",
            "report_stats": false,
            "signing_key_path": path("key"),
            "macaroon_secret_key": "FAKE",
            "form_secret": "FAKE",
            "listeners": [{"path": path("socket"), "type": "http", "resources": [{"names": ["client"]}]}],
            "database": {"name": "sqlite3", "args": {"database": path("server.db")}},
            "media_store_path": path("media"),
            "trusted_key_servers": [],
            "enable_registration": true,
            "enable_registration_without_verification": true,
            "rc_registration": any, "rc_message": any,
            "rc_login": {"address": any, "account": any, "failed_attempts": any},
            "bcrypt_rounds": 4,
        });
        std::fs::write(path("config.yaml"), config.to_string()).unwrap();
        let server = Arc::new(Self { python, folder, child: Mutex::default() });
        server.run().await;
        let auth = json!({"type": "m.login.dummy"});
        let new = json!({"auth": auth, "username": "bot", "password": PASSWORD});
        server.ask("POST", "/register", "", &new);
        server
    }

    /// Starts it, where it was killed, with all it has.
    pub async fn run(&self) {
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let child = Command::new(&self.python)
            .args(["-m", "synapse.app.homeserver", "-c", "config.yaml"])
            .current_dir(self.folder.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.child.lock().unwrap() = Some(child);
        eventually("Synapse answers", || {
            let answer = self.exchange("GET", "/_matrix/client/versions", "", b"");
            (answer?.status == 200).then_some(())
        })
        .await;
    }

    /// SIGKILL; it is gone when this returns.
    pub fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// A login of the user, on a device.
    pub fn login(&self, device: &str) -> String {
        let identifier = json!({"type": "m.id.user", "user": "bot"});
        let login = json!({"type": "m.login.password", "identifier": identifier,
            "password": PASSWORD, "device_id": device});
        text(&self.ask("POST", "/login", "", &login), "access_token")
    }

    /// A new room with the user in it.
    pub fn room(&self, token: &str) -> String {
        text(&self.ask("POST", "/createRoom", token, &json!({"preset": "private_chat"})), "room_id")
    }

    /// The texts that a room shows, oldest first.
    pub fn shown(&self, token: &str, room: &str) -> Vec<String> {
        self.messages(token, room).iter().map(|content| text(content, "body")).collect()
    }

    /// The files that a room shows, by name and content, oldest first.
    pub fn files(&self, token: &str, room: &str) -> Vec<(String, String)> {
        let mut messages = self.messages(token, room);
        messages.retain(|content| content["msgtype"] == "m.file");
        let file = |content: &Value| {
            let place = text(content, "url").replace("mxc://", "");
            let path = format!("/_matrix/client/v1/media/download/{place}");
            let answer = self.exchange("GET", &path, &format!("Bearer {token}"), b"").unwrap();
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            (text(content, "filename"), answer.body)
        };
        messages.iter().map(file).collect()
    }

    fn messages(&self, token: &str, room: &str) -> Vec<Value> {
        let path = format!("/rooms/{}/messages?dir=f&limit=1000", room.replace('!', "%21"));
        let page = self.ask("GET", &path, token, &json!({}));
        let events = page["chunk"].as_array().unwrap().iter();
        let messages = events.filter(|event| event["type"] == "m.room.message");
        messages.map(|event| event["content"].clone()).collect()
    }

    fn ask(&self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let path = format!("/_matrix/client/v3{path}");
        let authorization = match token {
            "" => String::new(),
            token => format!("Bearer {token}"),
        };
        let body = body.to_string();
        let answer = self.exchange(method, &path, &authorization, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// One request; `None` where there is nobody, or no whole answer.
    fn exchange(
        &self,
        method: &str,
        path: &str,
        authorization: &str,
        body: &[u8],
    ) -> Option<PushAnswer> {
        let mut socket = UnixStream::connect(self.folder.path().join("socket")).ok()?;
        // An empty one would be refused.
        let authorization = match authorization {
            "" => String::new(),
            authorization => format!("Authorization: {authorization}\r\n"),
        };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nX-Forwarded-For: ::1\r\n{authorization}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).ok()?;
        socket.write_all(body).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some(PushAnswer::new(head.split(' ').nth(1)?.parse().ok()?, body))
    }

    /// The way to it for a gateway: what is heard is passed on, and `watch` is told of messages.
    pub fn behind(self: &Arc<Self>, watch: impl Fn(Phase) + Send + Sync + 'static) -> Platform {
        let server = Arc::clone(self);
        Box::new(move |heard: &Heard| {
            let is_message = heard.path.contains("/send/");
            let watch = |phase| is_message.then(|| watch(phase));
            let answer = tokio::task::block_in_place(|| {
                watch(Phase::Heard);
                let authorization = heard.header("authorization");
                let method = heard.method.as_str();
                let answer = server.exchange(method, &heard.path, authorization, &heard.body);
                watch(Phase::Answered);
                answer
            });
            // What a proxy says of a server that is not there.
            (answer.unwrap_or_else(|| PushAnswer::new(502, "")), None)
        })
    }

    /// The settings of a gateway that logs in.
    pub fn by_password() -> [(&'static str, &'static str); 2] {
        [("matrix.user", USER), ("matrix.password", PASSWORD)]
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        self.kill();
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("no {key}: {value}")).to_owned()
}
