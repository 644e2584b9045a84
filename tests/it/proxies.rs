//! Proxies of the environment, through the whole stack.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use gateway_adapters::receiver::{
    RawAct, RawServer,
    push::{PushServer, telegram},
};
use gateway_bin::{Gateway, Options, config::Env};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::{
    faults::child,
    support::{certificates, wait::soon, world::World},
};

const TOKEN: &str = "123456:FAKE-token_for_tests";
const PASSWORD: &str = "pw-83b1e0";

/// The world's environment, and these variables.
fn env(world: &World, more: &[(&str, &str)]) -> Env {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    world.variables().into_iter().chain(more).collect()
}

/// The end of TLS in front of a server, with the certificate of this folder.
async fn tls_in_front_of(behind: SocketAddr, folder: &Path) -> (SocketAddr, JoinSet<()>) {
    let pem = |name: &str| fs::read(folder.join(name)).unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&pem("key.pem")).unwrap();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            connections.spawn(async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                let mut behind = TcpStream::connect(behind).await.unwrap();
                // A client that leaves is no fault.
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
            });
        }
    });
    (addr, serving)
}

/// Which authorities are trusted is the process's, and so is what is logged: this is one of its own.
#[tokio::test]
async fn report_142_telegram_is_told_through_the_proxy_and_the_local_server_past_it() {
    const SELF: &str =
        "proxies::report_142_telegram_is_told_through_the_proxy_and_the_local_server_past_it";
    let Some(folder) = child::folder() else {
        let folder = tempfile::tempdir().unwrap();
        certificates::write(folder.path(), "api.telegram.org");
        let mut command = child::command(SELF, folder.path(), "trace");
        let ended = command.env("SSL_CERT_FILE", folder.path().join("ca.pem")).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("TRACE") && !said.contains(PASSWORD), "{said}");
        assert!(said.contains("connecting took too long, nothing was sent"), "{said}");
        return;
    };
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let behind = platform.url().trim_start_matches("http://").parse().unwrap();
    let (behind, _serving) = tls_in_front_of(behind, &folder).await;
    // It hangs at first: that ends at the limit for connecting, and nothing was sent.
    let acts = vec![vec![RawAct::ReadHead, RawAct::Hold], vec![RawAct::Tunnel]];
    let proxy = RawServer::in_front_of(behind, Vec::new(), acts).await.unwrap();
    let mut world = World::new().await;
    world.set("telegram.token", TOKEN);
    let url = format!("http://walker:{PASSWORD}@{}", proxy.addr());
    let env =
        env(&world, &[("HTTPS_PROXY", &url), ("HTTP_PROXY", &url), ("NO_PROXY", "127.0.0.1")]);

    let (task, asked) = world.cards.asked("Build the report", "sess-abc");
    let row = world.cards.subscribe(&task, "telegram", "-1001");
    let running = Gateway::build(world.config(), env, Options::default()).unwrap().start();
    let event = world.cards.complete(&task, "14 pages");
    world.settled(&asked, event).await;
    assert!(platform.seen().is_empty());
    assert_eq!(world.receiver.turns("sess-abc"), 1);
    let told = soon("a message", platform.next()).await.unwrap();
    assert_eq!(told.header("host"), "api.telegram.org");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(platform.seen().len(), 1);
    let asked = proxy.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for head in &asked {
        assert!(head.starts_with("CONNECT api.telegram.org:443 HTTP/1.1\r\n"), "{head}");
        let told = RawServer::header(head, "proxy-authorization");
        assert_eq!(told, Some("Basic d2Fsa2VyOnB3LTgzYjFlMA=="));
        assert!(!head.contains("FAKE"));
    }
    let ledger = fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains(PASSWORD));
}

#[tokio::test]
async fn report_142_a_proxy_that_cannot_be_used_is_named_where_somebody_needs_it() {
    let mut world = World::new().await;
    let bad = format!("socks5://walker:{PASSWORD}@proxy.example:1080");
    let build = |world: &World, value: &str| {
        let env = env(world, &[("HTTPS_PROXY", value)]);
        Gateway::build(world.config(), env, Options::default()).err().map(|error| chain(&error))
    };
    assert_eq!(build(&world, &bad), None, "nobody calls anybody beyond this machine");
    world.set("telegram.token", TOKEN);
    let told = build(&world, &bad).unwrap();
    assert!(told.contains("the proxy in HTTPS_PROXY cannot be used"), "{told}");
    assert!(!told.contains(PASSWORD), "{told}");
    assert_eq!(build(&world, ""), None);
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut all = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        all = format!("{all}: {cause}");
        next = cause.source();
    }
    all
}
