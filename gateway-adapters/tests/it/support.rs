//! Helpers of the tests.

use std::{net::Ipv4Addr, time::Duration};

use bytes::Bytes;
use gateway_adapters::http::{HttpClient, HttpClientConfig, Limits};
use http::{Method, Request};
use tokio::net::TcpSocket;

pub const LIMITS: Limits = Limits { total: Duration::from_secs(20), body: 1 << 20 };

/// For an end that only a time-out brings.
pub const SHORT: Limits = Limits { total: Duration::from_millis(100), body: 1 << 20 };

pub fn client() -> HttpClient {
    HttpClient::new(&HttpClientConfig::default()).unwrap()
}

pub fn get(url: &str) -> Request<Bytes> {
    request(Method::GET, url, &[], "")
}

pub fn request(
    method: Method,
    url: &str,
    headers: &[(&'static str, &str)],
    body: &str,
) -> Request<Bytes> {
    let mut request = Request::new(Bytes::from(body.to_owned()));
    *request.method_mut() = method;
    *request.uri_mut() = url.parse().unwrap();
    for (name, value) in headers {
        let value = http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
        request.headers_mut().insert(*name, value);
    }
    request
}

/// An address where nobody listens, nor will: its port stays bound for as long as the process lives.
pub fn nobody() -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    std::mem::forget(socket);
    url
}

#[cfg(feature = "api_server")]
mod server {
    use super::{Duration, client};
    use gateway_adapters::{
        api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
        receiver::Receiver,
    };
    use kanban_notify::{
        ids::ChannelName,
        message::{Destination, Message, Parcel, Span},
        ports::Channel as _,
    };

    pub const KEY: &str = "receiver-key-0123456789";

    pub fn api(base: &str, key: &str, limits: ApiServerLimits) -> ApiServer {
        let config = ApiServerConfig {
            name: name(),
            base: base.to_owned(),
            key: key.into(),
            key_from: "`api_server` for profile default, in the tests".to_owned(),
            model: "hermes-agent".to_owned(),
            limits,
        };
        ApiServer::new(client(), config).unwrap()
    }

    pub fn api_of(receiver: &Receiver) -> ApiServer {
        api(&receiver.url(), KEY, ApiServerLimits::default())
    }

    pub fn hasty() -> ApiServerLimits {
        ApiServerLimits {
            turn: Duration::from_millis(100),
            look: Duration::from_millis(100),
            probe: Duration::from_millis(100),
            ..ApiServerLimits::default()
        }
    }

    pub fn name() -> ChannelName {
        ChannelName::api_server("default")
    }

    pub fn to(session: &str) -> Destination {
        Destination::Session { channel: name(), session: session.to_owned() }
    }

    pub fn parcel(server: &ApiServer, session: &str, key: &str) -> Parcel {
        let message = Message {
            spans: vec![Span::ours("[kanban] t_1 completed")],
            facts: Vec::new(),
            ..Message::default()
        };
        let destination = to(session);
        Parcel::new(destination.clone(), key.to_owned(), server.encode(&destination, &message))
    }
}

#[cfg(feature = "api_server")]
pub use server::{KEY, api, api_of, hasty, name, parcel, to};
