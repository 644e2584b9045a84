//! What the adapter makes of each fault: the verdict, the hint, and texts without secrets.

use std::{net::Ipv4Addr, time::Duration};

use gateway_adapters::{
    api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
    http::{HttpClient, HttpClientConfig},
    receiver::{RawAct, RawServer},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel as _, LookError},
    verdict::{Detail, Verdict},
};
use tokio::{net::TcpSocket, task::JoinSet};

use super::{
    case::{Case, Outcome, Place, parts},
    cases,
};

/// An address where nobody listens, nor will: its port stays bound for as long as the process lives.
pub fn nobody() -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    std::mem::forget(socket);
    url
}

/// A host without an address, by RFC 6761.
pub const NO_NAME: &str = "http://nobody.invalid:8642";

/// What came of one request.
struct Met {
    verdict: &'static str,
    hint: Option<Duration>,
    detail: String,
    shown: String,
}

impl Met {
    fn of(verdict: &Verdict) -> Self {
        let hint = match verdict {
            Verdict::Busy { retry_after, .. } | Verdict::Retryable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        };
        let detail = verdict.detail().to_owned();
        Self { verdict: verdict.name(), hint, detail, shown: format!("{verdict:?}") }
    }
}

fn api(client: HttpClient, base: &str, silent: bool) -> ApiServer {
    let span = if silent { Duration::from_secs(1) } else { Duration::from_secs(60) };
    let limits =
        ApiServerLimits { turn: span, look: span, probe: span, ..ApiServerLimits::default() };
    let config = ApiServerConfig {
        name: ChannelName::api_server("default"),
        base: base.to_owned(),
        key: parts::KEY.into(),
        key_from: String::new(),
        model: "hermes-agent".to_owned(),
        limits,
    };
    ApiServer::new(client, config).unwrap()
}

async fn meet(case: &Case, client: HttpClient) -> Met {
    let server = RawServer::start(vec![case.acts.clone()]).await.unwrap();
    let base = match case.place {
        Place::Nobody => nobody(),
        Place::NoName => NO_NAME.to_owned(),
        Place::Tls => server.url().replace("http://", "https://"),
        Place::Wake | Place::Second | Place::Look | Place::Probe => server.url(),
    };
    let api = api(client, &base, case.silent);
    match case.place {
        Place::Look => match api.look("s", Some("kgw:1".to_owned())).await {
            Ok(view) => {
                let verdict = if view.exists { "seen" } else { "absent" };
                Met { verdict, hint: None, detail: String::new(), shown: format!("{view:?}") }
            }
            Err(error) => {
                let verdict = match &error {
                    LookError::Unsupported => "unsupported",
                    LookError::Unreachable(_) => "unreachable",
                    LookError::Credential(_) => "credential",
                    LookError::Failed(_) => "failed",
                };
                let shown = format!("{error:?}");
                Met { verdict, hint: None, detail: error.to_string(), shown }
            }
        },
        Place::Probe => Met::of(&api.probe().await),
        _ => {
            let destination = Destination::Session {
                channel: ChannelName::api_server("default"),
                session: "s".to_owned(),
            };
            let message = Message {
                spans: vec![Span::ours("[kanban] t_1 completed")],
                facts: Vec::new(),
                ..Message::default()
            };
            let body = api.encode(&destination, &message);
            Met::of(&api.send(&Parcel::new(destination, "k".to_owned(), body)).await)
        }
    }
}

fn judge(case: &Case, met: &Met) -> Vec<String> {
    let mut wrong = Vec::new();
    let Met { verdict, hint, detail, shown } = met;
    if *verdict != case.verdict {
        wrong.push(format!("{} and not {}: {shown}", verdict, case.verdict));
    }
    match case.outcome {
        // A hint of nothing is the shortest there is.
        Outcome::Again(Duration::ZERO) if hint.is_none_or(|hint| hint.as_millis() == 100) => {}
        Outcome::Again(least) if *hint == Some(least) => {}
        Outcome::AnHour if hint.is_some_and(|hint| hint.as_secs() == 3600) => {}
        Outcome::Again(_) | Outcome::AnHour => wrong.push(format!("hint {hint:?}")),
        _ => {}
    }
    if case.verdict != "delivered" && case.verdict != "absent" && detail.is_empty() {
        wrong.push("it says no reason".to_owned());
    }
    if detail.chars().count() > Detail::MAX_CHARS + 50 || detail.chars().any(char::is_control) {
        wrong.push(format!("no short line: {detail:?}"));
    }
    if let Some(secret) = parts::SECRETS.iter().find(|secret| shown.contains(**secret)) {
        wrong.push(format!("shows {secret}: {shown}"));
    }
    if case.name == "tls_untrusted" && !detail.contains("certificate") {
        wrong.push(format!("not for its certificate: {detail}"));
    }
    wrong.iter().map(|what| format!("{}: {what}", case.name)).collect()
}

/// Laws D3, D7, D8, W6 and W7, and the reports that the table names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w7_every_fault_has_its_verdict() {
    let trap = RawServer::start(vec![vec![RawAct::Hold]]).await.unwrap();
    let cases = cases::all(&trap.url());
    let (count, client) = (cases.len(), HttpClient::new(&HttpClientConfig::default()).unwrap());
    // Time-outs for themselves: beside a hundred others a connection may take longer than they last.
    let (silent, others): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.silent);
    let mut walked = Vec::new();
    for cases in [others, silent] {
        let mut walks = JoinSet::new();
        for case in cases {
            let client = client.clone();
            walks.spawn(async move { judge(&case, &meet(&case, client).await) });
        }
        walked.extend(walks.join_all().await);
    }
    assert_eq!(walked.len(), count);
    let wrong: Vec<String> = walked.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(trap.accepted(), 0, "no redirect was followed");
}
