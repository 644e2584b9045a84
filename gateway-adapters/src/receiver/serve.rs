//! The port of a receiver, and its connections.

use std::{net::SocketAddr, sync::Arc};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

use super::{routes, shared::Shared};
use crate::AdapterError;

/// An open port. Dropping it closes the port and cuts every connection, a moment later.
pub(super) struct Listening {
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

impl Listening {
    /// Closes the port and cuts every connection before it returns.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // It ends by itself once told.
        let _ = self.accepting.await;
    }
}

pub(super) async fn listen(
    addr: SocketAddr,
    shared: &Arc<Shared>,
) -> Result<(SocketAddr, Listening), AdapterError> {
    let failed = |source| AdapterError::Listen { addr, source };
    let listener = TcpListener::bind(addr).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    let (stop, stopped) = oneshot::channel();
    let accepting = tokio::spawn(accept(listener, Arc::clone(shared), stopped));
    Ok((addr, Listening { stop, accepting }))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                // A peer that is gone before it was accepted is no reason to stop.
                if let Ok((stream, _)) = accepted {
                    shared.connections.send_modify(|count| *count = count.saturating_add(1));
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| routes::handle(Arc::clone(&shared), request));
    // A connection that ends badly is what clients are tested with.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
