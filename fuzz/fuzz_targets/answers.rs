//! Answers of any bytes, in pieces of any size: a verdict in tame words, the same for all pieces.

#![no_main]

use std::{sync::LazyLock, time::Duration};

use arbitrary::Arbitrary;
use fuzz::{body::Body, server::Server};
use gateway_adapters::{
    api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
    http::{HttpClient, HttpClientConfig},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Parcel},
    ports::Channel as _,
    verdict::{Detail, Verdict},
};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

#[derive(Arbitrary, Debug)]
struct Answer<'a> {
    /// Most answers are 200, because of others little is read.
    status: Option<u16>,
    session: &'a str,
    retry_after: &'a str,
    completed: bool,
    piece: u8,
    body: Body<'a>,
}

impl Answer<'_> {
    /// Final, and one that has a body.
    fn status(&self) -> u16 {
        let status = self.status.map_or(200, |status| 200 + status % 800);
        if matches!(status, 204 | 304) { 200 } else { status }
    }

    /// The whole response, with its body in pieces of so many bytes.
    fn bytes(&self, piece: u8) -> Vec<u8> {
        let status = self.status();
        let plain = |text: &str| text.replace(char::is_control, "");
        let (session, after) = (plain(self.session), plain(self.retry_after));
        let mut bytes = format!(
            "HTTP/1.1 {status} X\r\ntransfer-encoding: chunked\r\nx-hermes-completed: {}\r\n\
             x-hermes-session-id: {session}\r\nretry-after: {after}\r\n\r\n",
            self.completed
        )
        .into_bytes();
        for piece in self.body.bytes().chunks(usize::from(piece.max(1))) {
            bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            bytes.extend([piece, b"\r\n"].concat());
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }
}

/// The server, its client and what both run on; made once, and ended with the process.
static ALL: LazyLock<(Server, ApiServer, Runtime)> = LazyLock::new(|| {
    let server = Server::start();
    let wait = Duration::from_secs(5);
    let limits = ApiServerLimits { turn: wait, look: wait, ..ApiServerLimits::default() };
    let (name, model) = (ChannelName::api_server("default"), "m".to_owned());
    let config =
        ApiServerConfig { name, base: server.url.clone(), key: "fake".into(), model, limits };
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    let channel = ApiServer::new(client, config).unwrap();
    (server, channel, Builder::new_current_thread().enable_all().build().unwrap())
});

fuzz_target!(|answer: Answer<'_>| {
    let (server, channel, runtime) = &*ALL;
    let destination = Destination::Session { channel: channel.name().clone(), session: "s".into() };
    let parcel = Parcel { destination, key: "k".into(), body: "{}".into() };
    let ends = [answer.piece, 255].map(|piece| {
        server.says(answer.bytes(piece));
        runtime.block_on(async {
            let reference = Some("kgw:0123".to_owned());
            (channel.send(&parcel).await, channel.look("s", reference).await)
        })
    });
    let [(verdict, view), (again, view_again)] = ends;
    assert_eq!((verdict.name(), verdict.detail()), (again.name(), again.detail()));
    assert_eq!(view, view_again);
    let detail = verdict.detail();
    assert!(detail.chars().count() <= Detail::MAX_CHARS, "{detail}");
    assert!(!detail.contains(char::is_control), "{detail:?}");
    if let Verdict::Delivered(receipt) = verdict {
        assert!(answer.status() < 300);
        // Ours takes a little more than JSON: NaN, and lone surrogates.
        if let Ok(value) = serde_json::from_slice::<serde_json::Value>(&answer.body.bytes()) {
            assert!(value.is_object());
        }
        let session = receipt.session.unwrap_or_default();
        assert!(session.chars().count() <= 256 && !session.contains(char::is_control));
    }
});
