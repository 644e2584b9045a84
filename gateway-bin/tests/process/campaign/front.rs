//! A receiver that cannot be relied on: it fails one request in five, in ways that a seed chose.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use gateway_adapters::receiver::{RawAct, RawServer, Receiver, ReceiverConfig};

use super::span;
use crate::support::dice::Dice;

/// More than a campaign asks for; whatever comes later is not failed.
const REQUESTS: usize = 20_000;
const CLOSE: &str = "connection: close\r\n";
const NOTED: &str = r#"{"id": "c", "choices": [{"finish_reason": "stop",
    "message": {"role": "assistant", "content": "Noted."}}]}"#;

/// What a receiver knows of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The keys of earlier requests, and the sessions' history.
    Whole,
    /// Nothing.
    None,
}

impl Memory {
    /// The receiver behind the front.
    pub fn receiver(self) -> ReceiverConfig {
        let all = ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() };
        match self {
            Self::Whole => all,
            Self::None => ReceiverConfig { key_entries: 0, key_ttl: Duration::ZERO, ..all },
        }
    }
}

/// The server that stands in front of the receiver.
pub struct Front {
    server: RawServer,
    met: Arc<Mutex<Met>>,
}

/// What was done to requests.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// How often each fault was injected.
    pub faults: BTreeMap<&'static str, usize>,
    /// The keys of wakes after which nobody can know whether they had an effect.
    pub cut: BTreeSet<String>,
}

impl Front {
    pub async fn before(receiver: &Receiver, memory: Memory, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let met: Arc<Mutex<Met>> = Arc::default();
        let seen = match memory {
            Memory::Whole => vec![RawAct::Pass],
            // No such route: nothing can be looked into.
            Memory::None => vec![RawAct::ReadRequest, respond("404 Not Found", "404: Not Found")],
        };
        let mut plays = |good: &[RawAct], slow: Vec<RawAct>, part| {
            let mut plays: Vec<_> = (0..REQUESTS)
                .map(|_| match dice.often(5) {
                    true => fault(&mut dice, &met, slow.clone(), part),
                    false => good.to_vec(),
                })
                .collect();
            plays.push(good.to_vec());
            plays
        };
        let noted = vec![RawAct::Swallow, respond("200 OK", NOTED)];
        let posts = plays(&[RawAct::Pass], noted, 20);
        // Those that look into a session have no body.
        let others = plays(&seen, [&[RawAct::Await], seen.as_slice()].concat(), 0);
        let server = RawServer::in_front_of(receiver.addr(), posts, others).await.unwrap();
        Self { server, met }
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    pub fn met(&self) -> Met {
        self.met.lock().unwrap().clone()
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.server.requests().len()
    }
}

fn respond(status: &str, body: &str) -> RawAct {
    RawAct::respond(status, CLOSE, body)
}

/// A random way to fail: a refusal, a delay, or an end that tells nothing.
fn fault(dice: &mut Dice, met: &Arc<Mutex<Met>>, slow: Vec<RawAct>, part: usize) -> Vec<RawAct> {
    let note = |name, cut| {
        let met = Arc::clone(met);
        RawAct::call(move |request| {
            let mut met = met.lock().unwrap();
            *met.faults.entry(name).or_default() += 1;
            if let (true, Some(key)) = (cut, RawServer::header(request, "idempotency-key")) {
                met.cut.insert(key.to_owned());
            }
        })
    };
    let pause = RawAct::Pause(span(dice, Duration::from_millis(200)));
    let refused = |name, status, headers: &str, body| {
        let headers = format!("{CLOSE}{headers}");
        vec![RawAct::ReadRequest, note(name, false), RawAct::respond(status, &headers, body)]
    };
    match dice.below(20) {
        0 | 1 => return refused("500", "500 Internal Server Error", "", "{}"),
        2 => return refused("503", "503 Service Unavailable", "", "{}"),
        3 => return refused("503, a hint", "503 Service Unavailable", "retry-after: 1\r\n", "{}"),
        4 => return refused("429", "429 Too Many Requests", "", "{}"),
        5 => return refused("429, a hint", "429 Too Many Requests", "retry-after: 0.2\r\n", "{}"),
        6 => {
            let code = r#"{"error": {"message": "no text", "code": "agent_incomplete"}}"#;
            return refused("a failed turn", "502 Bad Gateway", "", code);
        }
        7 | 8 => {
            let (first, rest) = slow.split_first().unwrap();
            return [&[first.clone(), note("slow", false), pause], rest].concat();
        }
        _ => {}
    }
    let reading = match dice.below(5) {
        0 => RawAct::ReadHead,
        1 => RawAct::ReadPart(part),
        2 => RawAct::ReadRequest,
        _ => RawAct::Swallow,
    };
    let ran = reading == RawAct::Swallow;
    let half = format!("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n{CLOSE}\r\n{{\"id\": \"c\"");
    let (names, acts) = match dice.below(8) {
        0 | 1 => (["reset", "ran, reset"], vec![RawAct::Reset]),
        2 => (["closed", "ran, closed"], vec![]),
        3 => (["half a head", "ran, half a head"], vec![RawAct::Write(b"HTTP/1.1 20".into())]),
        4 => (["half a body", "ran, half a body"], vec![RawAct::Write(half.into())]),
        5 => (["502", "ran, 502"], vec![respond("502 Bad Gateway", "<html>502</html>")]),
        6 => (["504", "ran, 504"], vec![respond("504 Gateway Timeout", "<html>504</html>")]),
        _ => (["hangs, reset", "ran, hangs, reset"], vec![pause, RawAct::Reset]),
    };
    [vec![reading, note(names[usize::from(ran)], true)], acts].concat()
}
