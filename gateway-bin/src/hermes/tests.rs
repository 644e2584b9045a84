//! Tests with a whole made-up machine: a Hermes home, a `/proc`, gateways that come and go.

mod gateways;
mod servers;
mod sharing;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

use kanban_notify::{
    ids::ChannelName,
    policy::{Ability, Adopt, Policy, World},
};
use serde_json::{Value, json};

use super::*;
use crate::config::Env;

/// Booted in 2026, after which gateways start and files change.
const BOOT: u64 = 1_780_000_000;

struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { dir: tempfile::tempdir().unwrap() };
        machine.write("proc/stat", &format!("cpu 1 2\nbtime {BOOT}\n"));
        machine.write("proc/locks", "");
        machine.write("h/config.yaml", "model: {default: m}\n");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file as it would have been before anything started.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        self.write_at(name, text, BOOT)
    }

    fn write_at(&self, name: &str, text: &str, second: u64) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn process(&self, pid: u32, ticks: u64, environ: &str) {
        let stat =
            format!("{pid} (hermes) S 1 7 7 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 5 0 {ticks} 1 1\n");
        self.write(&format!("proc/{pid}/stat"), &stat);
        self.write(&format!("proc/{pid}/environ"), &environ.replace(' ', "\0"));
        self.write(&format!("proc/{pid}/cmdline"), "/v/bin/python\0/v/bin/hermes\0gateway\0run\0");
    }

    fn end(&self, pid: u32) {
        fs::remove_dir_all(self.path(&format!("proc/{pid}"))).unwrap();
    }

    fn state(&self, home: &str, state: &Value) {
        self.write(&format!("{home}/gateway_state.json"), &state.to_string());
    }

    /// A gateway that runs: process, and the state file that it wrote.
    fn gateway(&self, home: &str, pid: u32, environ: &str, platforms: &[(&str, &str)]) {
        self.process(pid, 59_239, environ);
        self.state(home, &sample(pid, 59_239, platforms));
    }

    fn lock(&self, file: &str, pid: u32) {
        let path = self.path(file);
        if !path.exists() {
            self.write(file, "");
        }
        let meta = fs::metadata(path).unwrap();
        let (major, minor) = (meta.dev() >> 8 & 0xfff, meta.dev() & 0xff);
        let line = format!(
            "1: FLOCK  ADVISORY  WRITE {pid} {major:02x}:{minor:02x}:{} 0 EOF\n",
            meta.ino()
        );
        let locks = fs::read_to_string(self.path("proc/locks")).unwrap();
        self.write("proc/locks", &(locks + &line));
    }

    fn env(&self) -> Env {
        Env::from_iter([("HOME", self.path("user"))])
    }

    fn watch(&self) -> WorldWatch {
        let home = HermesHome::resolve(&self.path("h"), &self.env());
        WorldWatch::new(home, self.env(), Proc::at(self.path("proc")))
    }

    fn hermes(&self) -> Hermes {
        self.watch().hermes().clone()
    }
}

/// The file as a gateway of the released package writes it.
fn sample(pid: u32, start_time: u64, platforms: &[(&str, &str)]) -> Value {
    let entry = |state: &str| {
        json!({"state": state, "error_code": null, "error_message": null,
               "updated_at": "2026-11-30T03:32:33.959452+00:00"})
    };
    let platforms: BTreeMap<&str, Value> =
        platforms.iter().map(|(name, state)| (*name, entry(state))).collect();
    json!({"pid": pid, "kind": "hermes-gateway", "argv": ["/v/bin/hermes", "gateway", "run"],
           "start_time": start_time, "gateway_state": "running", "exit_reason": null,
           "restart_requested": false, "active_agents": 0, "platforms": platforms,
           "updated_at": "2026-11-30T03:32:33.965033+00:00"})
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(String::from).into()
}

fn world(hermes: &Hermes, generation: Generation) -> World {
    hermes.world(generation, BTreeMap::new(), BTreeSet::new())
}

fn setup(machine: &Machine, generation: Generation) -> Setup {
    machine.hermes().setup("kanban-gateway", generation)
}

const API: (&str, &str) = ("api_server", "connected");
