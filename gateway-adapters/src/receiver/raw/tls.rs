//! The server's side of a TLS handshake, for certificates that a client must refuse.

use std::{io, sync::Arc};

use rustls::{
    ServerConfig, ServerConnection,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Answers the client's hello and goes on until the client is gone.
pub(super) async fn shake(stream: &mut TcpStream, certificate: &str, key: &str) -> io::Result<()> {
    let mut tls = ServerConnection::new(config(certificate, key).map_err(io::Error::other)?)
        .map_err(io::Error::other)?;
    loop {
        let mut bytes = Vec::new();
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            tls.read_tls(&mut rest)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out)?;
        }
        stream.write_all(&out).await?;
    }
}

fn config(
    certificate: &str,
    key: &str,
) -> Result<Arc<ServerConfig>, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}
