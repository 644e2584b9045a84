//! One case within a whole gateway: a session whose server meets the fault, and what it must come to.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gateway_adapters::receiver::{RawAct, RawServer, Receiver};
use kanban_notify::ids::ChannelName;

use super::{
    adapter::{NO_NAME, nobody},
    case::{Case, Outcome, Place, parts},
    state::{Ledger, Leg},
};

/// Reads the cursor of a session's row.
pub type Cursor = Arc<dyn Fn(&str) -> i64 + Send + Sync>;

/// A request that came, and where the row's cursor was then.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    is_post: bool,
    cursor: i64,
}

/// A session, its profile of the same name, and the server in front of the receiver.
pub struct Station {
    pub name: String,
    pub case: Case,
    /// Whether the server behind ran the request whose answer is spoilt.
    ran: bool,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    front: RawServer,
    /// The server that is there once the fault is mended.
    mended: RawServer,
}

impl Station {
    pub async fn open(case: Case, ran: bool, behind: SocketAddr, cursor: &Cursor) -> Self {
        let name = if ran { format!("{}-ran", case.name) } else { case.name.to_owned() };
        let arrivals = Arc::default();
        let note = |is_post| note(&name, is_post, &arrivals, cursor);
        let with = |is_post, acts: &[RawAct]| [&[note(is_post)], acts].concat();
        let (post, other) = (with(true, &[RawAct::Pass]), with(false, &[RawAct::Pass]));
        let acts = case.acts.clone();
        let (posts, others) = match case.place {
            Place::Nobody | Place::NoName => (Vec::new(), Vec::new()),
            Place::Tls => (Vec::new(), vec![with(false, &acts)]),
            Place::Wake | Place::Second => {
                let acts = if ran { swallowed(acts) } else { acts };
                let first = (case.place == Place::Second)
                    .then(|| with(true, &[RawAct::ReadRequest, RawAct::Reset]));
                let posts = first.into_iter().chain([with(true, &acts), post.clone()]).collect();
                let mut others = vec![other.clone(); looks_before(&case)];
                if case.outcome == Outcome::KeyRests {
                    // A key that is refused is refused to probes too, until it is mended.
                    others.push(with(false, &acts));
                }
                (posts, others)
            }
            Place::Look => {
                let cut = with(true, &[RawAct::Swallow]);
                (vec![cut, post.clone()], vec![other.clone(), with(false, &acts), other.clone()])
            }
            Place::Probe => {
                let refused =
                    RawAct::respond("401 Unauthorized", "", &parts::error("invalid_api_key"));
                let refused = with(true, &[RawAct::ReadRequest, refused]);
                let others = vec![other.clone(), with(false, &acts), other.clone()];
                (vec![refused, post.clone()], others)
            }
        };
        let front = RawServer::in_front_of(behind, posts, others).await.unwrap();
        let mended = RawServer::in_front_of(behind, vec![post], vec![other]).await.unwrap();
        Self { name, case, ran, arrivals, front, mended }
    }

    /// The address for the configuration.
    pub fn url(&self, mended: bool) -> String {
        match self.case.place {
            Place::Nobody if !mended => nobody(),
            Place::NoName if !mended => NO_NAME.to_owned(),
            Place::Tls if !mended => self.front.url().replace("http://", "https://"),
            Place::Nobody | Place::NoName | Place::Tls => self.mended.url(),
            _ if mended && self.case.outcome == Outcome::KeyRests => self.mended.url(),
            _ => self.front.url(),
        }
    }

    pub fn channel(&self) -> ChannelName {
        ChannelName::api_server(&self.name)
    }

    fn count(&self, posts: bool) -> usize {
        self.arrivals.lock().unwrap().iter().filter(|arrival| arrival.is_post == posts).count()
    }

    fn posts(&self) -> Vec<String> {
        let requests = [&self.front, &self.mended].into_iter().flat_map(RawServer::requests);
        requests.filter(|request| request.starts_with("POST")).collect()
    }

    /// Whether the case is where it must come to in this run of the gateway, of which there are three.
    pub fn is_there(&self, run: usize, ledger: &Ledger, event: i64) -> bool {
        let Some(leg) = ledger.leg(&self.name) else {
            return false;
        };
        let settled = |state: &str| leg.state == state && leg.cursor >= event;
        let rests = ledger.rests(&self.channel());
        match self.case.outcome {
            Outcome::Parked => settled("parked"),
            Outcome::AnHour => leg.state == "retrying",
            Outcome::KeyRests if run == 0 => rests && leg.state == "retrying",
            // The rest is short here: who comes late finds what came of it. The log tells of it, too.
            Outcome::LookRests if run == 0 => {
                rests && leg.state == "unknown" || settled("delivered")
            }
            Outcome::ProbedAgain if run == 0 => self.count(true) >= 1,
            Outcome::ProbedAgain if run == 1 => self.count(false) >= 2,
            // A handshake that is never answered takes the ten seconds that connecting may take.
            Outcome::Waits if run == 0 && self.case.silent => self.front.accepted() > 0,
            Outcome::Waits if run == 0 => rests && leg.state == "planned",
            // A look that is never answered takes half a minute; the next run looks anew.
            Outcome::LookedAgain if run == 0 && self.case.silent => {
                self.count(false) >= 2 && leg.state == "unknown"
            }
            _ => settled("delivered"),
        }
    }

    /// Whatever is not as it must be after the last run.
    pub fn faults(&self, receiver: &Receiver, ledger: &Ledger, event: i64) -> Vec<String> {
        let mut faults = Faults { name: &self.name, found: Vec::new() };
        let arrivals = self.arrivals.lock().unwrap().clone();
        let passed = arrivals.iter().any(|arrival| arrival.cursor >= event);
        faults.unless(!passed, || format!("the cursor passed before: {arrivals:?}"));
        let (posts, turns) = match self.case.outcome {
            Outcome::Told | Outcome::Parked | Outcome::AnHour => (1, 0),
            Outcome::FoundOut if self.ran => (1, 1),
            Outcome::Waits | Outcome::LookedAgain | Outcome::LookRests => (1, 1),
            Outcome::Marked => (2, 2),
            _ => (2, 1),
        };
        let posts = posts + usize::from(self.case.place == Place::Second);
        let requests = self.posts();
        let sent = self.count(true);
        faults.unless(sent == posts, || format!("{sent} wakes and not {posts}: {requests:#?}"));
        let ran = receiver.turns(&self.name);
        faults.unless(ran == turns, || format!("{ran} turns and not {turns}"));
        self.look_at_requests(&requests, &mut faults);
        self.look_at_times(&arrivals, ledger, &mut faults);
        if let Some(leg) = ledger.leg(&self.name) {
            self.look_at_end(leg, &mut faults);
        }
        faults.found
    }

    fn look_at_requests(&self, requests: &[String], faults: &mut Faults<'_>) {
        let marked = |request: &String| request.contains("may be a repeat");
        let expected = self.case.outcome == Outcome::Marked;
        let last = requests.last().is_some_and(marked);
        faults.unless(last == expected, || format!("marked as a repeat: {last}"));
        faults.unless(!requests.first().is_some_and(marked), || "the first is marked".to_owned());
        let whole: Vec<&String> =
            requests.iter().filter(|request| body(request).ends_with('}')).collect();
        let new = matches!(self.case.outcome, Outcome::NewTurn | Outcome::Marked);
        for (number, pair) in whole.windows(2).enumerate() {
            let is_last = number + 2 == whole.len();
            let same = key(pair[0]) == key(pair[1]);
            faults.unless(same != (new && is_last), || format!("the same key: {same}"));
            let same_body = body(pair[0]) == body(pair[1]);
            faults.unless(same_body || !same, || "other bytes under the same key".to_owned());
        }
    }

    fn look_at_times(&self, arrivals: &[Arrival], ledger: &Ledger, faults: &mut Faults<'_>) {
        let at: Vec<Instant> =
            arrivals.iter().filter(|arrival| arrival.is_post).map(|arrival| arrival.at).collect();
        if let (Outcome::Again(least), [first, .., last]) = (self.case.outcome, at.as_slice()) {
            let pause = last.duration_since(*first);
            faults.unless(pause >= least, || format!("sent again after {pause:?}"));
        }
        if self.case.outcome == Outcome::AnHour {
            let due = ledger.leg(&self.name).map(Leg::due_in).unwrap_or_default();
            // What has gone by since the answer is part of the hour.
            let near = Duration::from_secs(3_300)..=Duration::from_secs(3_600);
            faults.unless(near.contains(&due), || format!("due in {due:?}"));
        }
    }

    fn look_at_end(&self, leg: &Leg, faults: &mut Faults<'_>) {
        let state = match self.case.outcome {
            Outcome::Parked => "parked",
            Outcome::AnHour => "retrying",
            _ => "delivered",
        };
        faults.unless(leg.state == state, || format!("{leg:?}"));
        if self.case.outcome == Outcome::Parked {
            let said = leg.verdict == self.case.verdict && leg.reason.starts_with("HTTP 4");
            faults.unless(said, || format!("parked without its reason: {leg:?}"));
        }
    }
}

/// How many looks there are before a key can be refused: one before each wake, and one for a wake that
/// was cut off; what was found absent goes again without another one.
fn looks_before(case: &Case) -> usize {
    if case.place == Place::Second { 2 } else { 1 }
}

/// The same acts, but the server behind runs the request that they read.
fn swallowed(acts: Vec<RawAct>) -> Vec<RawAct> {
    let swallow = |act| if act == RawAct::ReadRequest { RawAct::Swallow } else { act };
    acts.into_iter().map(swallow).collect()
}

fn note(name: &str, is_post: bool, arrivals: &Arc<Mutex<Vec<Arrival>>>, cursor: &Cursor) -> RawAct {
    let (name, arrivals, cursor) = (name.to_owned(), Arc::clone(arrivals), Arc::clone(cursor));
    RawAct::call(move |_| {
        let arrival = Arrival { at: Instant::now(), is_post, cursor: cursor(&name) };
        arrivals.lock().unwrap().push(arrival);
    })
}

fn key(request: &str) -> Option<&str> {
    RawServer::header(request, "idempotency-key")
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

struct Faults<'a> {
    name: &'a str,
    found: Vec<String>,
}

impl Faults<'_> {
    fn unless(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(format!("{}: {}", self.name, what()));
        }
    }
}
