//! What becomes of a delivery that meets each fault: one gateway with a server for every case, and a
//! search of all that it wrote for the secrets in the answers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use gateway_adapters::receiver::{RawAct, RawServer, ReceiverConfig};
use gateway_bin::{
    config,
    ops::{dead, status, subs},
};

use super::{
    case::{Case, Outcome, Place, parts},
    cases, child,
    state::{self, Ledger},
    station::{Cursor, Station},
};
use crate::support::{
    cards::{connect, now},
    wait::eventually,
    world::World,
};

const SELF: &str = "faults::gateway::a13_d1_every_fault_ends_as_it_must_and_nothing_shows_a_secret";

/// Laws D1, D3, D4, D7, D8, W6 and W7, A13, and the reports that the table names.
#[tokio::test]
async fn a13_d1_every_fault_ends_as_it_must_and_nothing_shows_a_secret() {
    if let Some(folder) = child::folder() {
        return walk(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let ended = child::run(SELF, place, "trace");
    std::fs::write(place.join("log"), &ended.stderr).unwrap();
    if !ended.status.success() {
        // The log is long; what was found and who was not there say more.
        for name in ["faults", "0-away", "1-away"] {
            println!("{name}:\n{}", std::fs::read_to_string(place.join(name)).unwrap_or_default());
        }
        panic!("the walk failed; kept in {}", folder.keep().display());
    }
    search(place);
}

/// Every file that the walk left, its log at the level that holds all others too.
fn search(place: &Path) {
    let mut read = BTreeMap::new();
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        read.insert(path.file_name().unwrap().to_string_lossy().into_owned(), bytes);
    }
    for (name, holds) in [
        ("log", "TRACE"),
        ("0-ledger.db", "SQLite format 3"),
        ("0-run0-status", "rests"),
        ("0-refusals", "credentials"),
    ] {
        assert!(contains(&read[name], holds), "{name} has no {holds:?}: nothing was searched");
    }
    for (name, bytes) in &read {
        for secret in parts::SECRETS {
            assert!(!contains(bytes, secret), "{name} shows {secret}");
        }
    }
    let log = String::from_utf8_lossy(&read["log"]);
    let levels = [" WARN ", "ERROR ", "DEBUG api_server."];
    let log: Vec<&str> =
        log.lines().filter(|line| levels.iter().any(|level| line.contains(level))).collect();
    let listed = String::from_utf8_lossy(&read["0-run2-listings"]);
    let silent: Vec<_> = cases::all("http://elsewhere.example")
        .into_iter()
        .filter(|case| !is_told(case, &log, &listed))
        .map(|case| case.name)
        .collect();
    assert!(silent.is_empty(), "nothing is said of {silent:?}");
}

/// Whether the log says, loudly enough, that something went wrong there.
fn is_told(case: &Case, log: &[&str], listed: &str) -> bool {
    let has = |level: &[&str], words: &str| {
        let channel = format!("api_server/{}", case.name);
        log.iter().any(|line| {
            let mut found = line.match_indices(&channel);
            let is_there = found.any(|(at, _)| {
                let next = line[at + channel.len()..].chars().next();
                next.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
            });
            is_there && line.contains(words) && level.iter().any(|level| line.contains(level))
        })
    };
    let loud = has(&[" WARN ", "ERROR "], "");
    match (case.place, case.outcome) {
        (_, Outcome::Told) if case.place == Place::Wake => !loud,
        // The log names the delivery, and the list what it was for.
        (_, Outcome::Parked) => listed.contains(&format!("\"{}\"", case.name)),
        // A look that is never answered is under way when the first run ends.
        (Place::Look, Outcome::LookedAgain) if !case.silent => {
            has(&[" WARN "], "cannot be looked into")
        }
        (Place::Probe, _) => loud && has(&["DEBUG"], "probed in vain"),
        // The first run ends before the handshake does.
        (Place::Tls, _) if case.silent => true,
        _ => loud,
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn walk(folder: &Path) {
    let trap = RawServer::start(vec![vec![RawAct::Hold]]).await.unwrap();
    let cases = cases::all(&trap.url());
    // Time-outs for themselves: beside a hundred others a good answer may take longer than they last.
    let (silent, others): (Vec<Case>, Vec<Case>) =
        cases.iter().cloned().partition(|case| case.silent);
    let mut faults = Vec::new();
    for (number, (cases, timeout)) in [(others, "60s"), (silent, "2s")].into_iter().enumerate() {
        let mut walked = Walk::prepare(cases, timeout).await;
        faults.extend(walked.run(&folder.join(number.to_string())).await);
    }
    std::fs::write(folder.join("faults"), faults.join("\n")).unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(trap.accepted(), 0, "no redirect was followed");
}

struct Walk {
    world: World,
    stations: Vec<Station>,
    event: i64,
}

impl Walk {
    async fn prepare(cases: Vec<Case>, timeout: &str) -> Self {
        let config = ReceiverConfig { key: parts::KEY.into(), max_runs: 0, ..Default::default() };
        let mut world = World::with(config).await;
        for (key, value) in [
            ("wake.timeout", timeout),
            ("concurrency.total", "1024"),
            ("grace", "0s"),
            ("log.level", "trace"),
        ] {
            world.set(key, value);
        }
        let board = Mutex::new(connect(world.cards.path()));
        let cursor: Cursor =
            Arc::new(move |session| state::cursor(&mut board.lock().unwrap(), session));
        let mut stations = Vec::new();
        for case in cases {
            let runs: &[bool] = match case.outcome {
                Outcome::FoundOut if is_read(&case) => &[false, true],
                _ => &[false],
            };
            for ran in runs {
                let behind = world.receiver.addr();
                stations.push(Station::open(case.clone(), *ran, behind, &cursor).await);
            }
        }
        // One event for all of them, and one commit for their rows.
        let task = world.cards.task("Build the report");
        let now = now();
        let rows = stations.iter().map(|Station { name, .. }| {
            format!("('{task}', 'api_server', '{name}', '{name}', {now})")
        });
        world.cards.sql(&format!(
            "INSERT INTO kanban_notify_subs
                 (task_id, platform, chat_id, notifier_profile, created_at) VALUES {}",
            rows.collect::<Vec<_>>().join(", ")
        ));
        let event = world.cards.complete(&task, "done once");
        Self { world, stations, event }
    }

    /// Three runs of the gateway: with the faults, when they are mended, and once more for probes.
    async fn run(&mut self, outputs: &Path) -> Vec<String> {
        for run in 0..3 {
            for station in &self.stations {
                self.world.server(&station.name, &station.url(run > 0), parts::KEY);
            }
            let running = self.world.start();
            self.all_there(run, outputs).await;
            self.write_outputs(run, outputs);
            self.write_refusals(outputs);
            running.stop().await.unwrap();
        }
        for path in ["ledger.db", "ledger.db-wal"] {
            let from = self.world.ledger().with_file_name(path);
            if let Ok(bytes) = std::fs::read(from) {
                std::fs::write(beside(outputs, path), bytes).unwrap();
            }
        }
        let ledger = self.ledger();
        let receiver = &self.world.receiver;
        let found = self.stations.iter();
        found.flat_map(|station| station.faults(receiver, &ledger, self.event)).collect()
    }

    fn ledger(&self) -> Ledger {
        Ledger::read(&mut state::eyes(&self.world.ledger(), self.world.cards.path()))
    }

    async fn all_there(&self, run: usize, outputs: &Path) {
        let mut eyes = state::eyes(&self.world.ledger(), self.world.cards.path());
        let mut seen = usize::MAX;
        eventually("every case is where it must come to", || {
            let ledger = Ledger::read(&mut eyes);
            let there = |station: &&Station| station.is_there(run, &ledger, self.event);
            let away: Vec<&Station> = self.stations.iter().filter(|s| !there(s)).collect();
            if away.len() != seen {
                seen = away.len();
                let lines = away.iter().map(|s| format!("{}: {:?}\n", s.name, ledger.leg(&s.name)));
                std::fs::write(beside(outputs, "away"), lines.collect::<String>()).unwrap();
            }
            away.is_empty().then_some(())
        })
        .await;
    }

    /// What an operator can be shown.
    fn write_outputs(&self, run: usize, outputs: &Path) {
        let context = self.world.context();
        let status = serde_json::to_string(&status::status(&context)).unwrap();
        std::fs::write(beside(outputs, &format!("run{run}-status")), status).unwrap();
        let list = dead::list(&context, true).unwrap();
        let shown: Vec<_> = list.iter().map(|leg| dead::show(&context, leg.id).unwrap()).collect();
        let subscriptions = subs::list(&context, None).unwrap();
        let config = config::load(None, &self.world.env()).unwrap();
        let text = format!("{list:#?}\n{shown:#?}\n{subscriptions:#?}\n{config:#?}");
        std::fs::write(beside(outputs, &format!("run{run}-listings")), text).unwrap();
    }

    /// What is said of servers that cannot be used, one by one.
    fn write_refusals(&self, outputs: &Path) {
        let mut said = String::new();
        for (url, key) in [
            (parts::address(), parts::KEY.to_owned()),
            (parts::address().replace("http", "ftp"), parts::KEY.to_owned()),
            (self.world.receiver.url(), format!("{}\u{7}", parts::KEY)),
        ] {
            let mut env = self.world.variables();
            let server = serde_json::json!([{"profile": "odd", "url": url, "key": key}]);
            let server = server.to_string().replace("\":", "\"=");
            env.insert("KANBAN_GATEWAY_API_SERVER".to_owned(), server);
            let env: config::Env = env.into_iter().collect();
            let error = config::load(None, &env).expect_err("a server that cannot be used");
            said.push_str(&format!("{error}\n{error:?}\n"));
        }
        std::fs::write(beside(outputs, "refusals"), said).unwrap();
    }
}

/// Whether the fault comes after the whole request, so that a server may have run it.
fn is_read(case: &Case) -> bool {
    case.place == Place::Wake && case.acts.contains(&RawAct::ReadRequest)
}

fn beside(outputs: &Path, name: &str) -> PathBuf {
    let number = outputs.file_name().unwrap().to_string_lossy();
    outputs.with_file_name(format!("{number}-{name}"))
}
