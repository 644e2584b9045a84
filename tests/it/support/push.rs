//! A push platform over real HTTP, for what no channel of ours shows yet: `200 {"ok":false}`, silence.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_adapters::http::{HttpClient, HttpClientConfig, Limits, NoAnswer};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    policy::Ability,
    ports::{Channel, LookError},
    verdict::{Detail, Receipt, Verdict},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
    task::JoinSet,
};

/// What the platform does with one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// `200 {"ok":true}`: the chat sees it.
    Take,
    /// `200 {"ok":false}`: a failure that looks like success.
    Refuse,
    /// Nothing, ever.
    Hang,
}

/// The platform's server.
pub struct Push {
    url: String,
    state: Arc<State>,
    heard: tokio::sync::Mutex<mpsc::UnboundedReceiver<(String, String)>>,
    _serving: JoinSet<()>,
}

struct State {
    scripts: Mutex<HashMap<String, VecDeque<Does>>>,
    seen: Mutex<Vec<(String, String)>>,
    tries: Mutex<HashMap<String, usize>>,
    tell: mpsc::UnboundedSender<(String, String)>,
    never: Notify,
}

impl Push {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/send", listener.local_addr().unwrap());
        let (tell, heard) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            scripts: Mutex::default(),
            seen: Mutex::default(),
            tries: Mutex::default(),
            tell,
            never: Notify::new(),
        });
        let mut serving = JoinSet::new();
        let ours = Arc::clone(&state);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&ours);
                connections.spawn(async move {
                    let service = service_fn(move |request| answer(Arc::clone(&state), request));
                    // A client that leaves is no fault of the server.
                    let _ =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, state, heard: tokio::sync::Mutex::new(heard), _serving: serving }
    }

    /// What becomes of the next messages to a chat; the ones after them are taken.
    pub fn play(&self, chat: &str, does: impl IntoIterator<Item = Does>) {
        let mut scripts = self.state.scripts.lock().unwrap();
        scripts.insert(chat.to_owned(), does.into_iter().collect());
    }

    /// The next request, with its chat and text, whatever becomes of it.
    pub async fn next(&self) -> (String, String) {
        super::wait::soon("a message", self.heard.lock().await.recv()).await.unwrap()
    }

    /// The texts that a chat shows.
    pub fn shown(&self, chat: &str) -> Vec<String> {
        let seen = self.state.seen.lock().unwrap();
        seen.iter().filter(|(to, _)| to == chat).map(|(_, text)| text.clone()).collect()
    }

    /// How many requests came for a chat.
    pub fn tries(&self, chat: &str) -> usize {
        self.state.tries.lock().unwrap().get(chat).copied().unwrap_or(0)
    }

    /// The channel that leads here, as `Options` want it.
    pub fn channel(&self, name: &str) -> (ChannelName, Ability, Arc<dyn Channel>) {
        let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
        let channel = PushChannel { client, url: self.url.clone() };
        (ChannelName(name.to_owned()), Ability::default(), Arc::new(channel))
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let text = |name: &str| message[name].as_str().unwrap().to_owned();
    let (chat, text) = (text("chat"), text("text"));
    *state.tries.lock().unwrap().entry(chat.clone()).or_default() += 1;
    let does = state.scripts.lock().unwrap().get_mut(&chat).and_then(VecDeque::pop_front);
    let does = does.unwrap_or(Does::Take);
    if does == Does::Take {
        state.seen.lock().unwrap().push((chat.clone(), text.clone()));
    }
    // Nobody listens any more when the test is over.
    let _ = state.tell.send((chat, text));
    if does == Does::Hang {
        state.never.notified().await;
    }
    let body = json!({"ok": does == Does::Take, "error": "internal_error"});
    Ok(Response::new(Bytes::from(body.to_string()).into()))
}

struct PushChannel {
    client: HttpClient,
    url: String,
}

#[async_trait]
impl Channel for PushChannel {
    fn encode(&self, destination: &Destination, message: &Message) -> String {
        let Destination::Chat { chat, .. } = destination else {
            panic!("no chat: {destination:?}");
        };
        json!({"chat": chat, "text": message.text()}).to_string()
    }

    async fn send(&self, parcel: &Parcel) -> Verdict {
        let request = Request::post(&self.url).body(Bytes::from(parcel.body.clone())).unwrap();
        let limits = Limits { total: Duration::from_secs(600), body: 65_536 };
        let response = match self.client.fetch(request, limits, 65_536).await {
            Ok(response) => response,
            Err(NoAnswer::NotSent(detail) | NoAnswer::NotAllowed(detail)) => {
                return Verdict::Unreachable { detail };
            }
            Err(NoAnswer::MaybeSent(detail)) => return Verdict::Unknown { detail },
        };
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        if answer["ok"] == true {
            Verdict::Delivered(Receipt::default())
        } else {
            let detail = Detail::new(answer["error"].as_str().unwrap_or_default());
            Verdict::Retryable { retry_after: None, detail }
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        Verdict::Delivered(Receipt::default())
    }
}
