//! What the machine itself can do: a plain hyper loop, a plain diesel loop.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use diesel::connection::SimpleConnection as _;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};

use crate::fill::connect;

/// Requests in flight at once, for us and for the plain loop.
pub const CONCURRENCY: usize = 64;

/// Requests a second from one thread over `connections`, of so many bytes each, to a server on another.
pub fn requests_a_second(addr: SocketAddr, connections: usize, count: usize, bytes: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let each = count.div_ceil(connections);
    let body = Bytes::from("x".repeat(bytes));
    runtime.block_on(async {
        let began = Instant::now();
        let mut all = JoinSet::new();
        for _ in 0..connections {
            all.spawn(post(addr, each, body.clone()));
        }
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
        per_second(each * connections, began.elapsed())
    })
}

async fn post(addr: SocketAddr, count: usize, body: Bytes) {
    let stream = TcpStream::connect(addr).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..count {
        let request = Request::post("/v1/chat/completions")
            .header("host", "localhost")
            .body(Full::new(body.clone()))
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        response.into_body().collect().await.unwrap();
        sender.ready().await.unwrap();
    }
}

/// Milliseconds of a commit of one row, and of 256, with FULL sync.
pub fn commit_millis() -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let mut file = connect(&folder.path().join("plain.db"));
    file.batch_execute(
        "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)",
    )
    .unwrap();
    let mut commits = |count: u32, rows: u32| {
        let statement = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             INSERT INTO t (v) SELECT 'x' FROM n"
        );
        let began = Instant::now();
        for _ in 0..count {
            file.batch_execute(&statement).unwrap();
        }
        began.elapsed().as_secs_f64() * 1_000.0 / f64::from(count)
    };
    (commits(500, 1), commits(100, 256))
}

pub fn per_second(count: usize, took: Duration) -> f64 {
    let count = u32::try_from(count).unwrap();
    f64::from(count) / took.as_secs_f64()
}
