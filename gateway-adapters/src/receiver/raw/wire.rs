//! Reading requests from a socket as bytes, and handing them on as they are.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink},
    net::TcpStream,
};

/// How much of a request is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// All of it, by its `Content-Length`.
    End,
    /// Its head and at least so many bytes of its body.
    Body(usize),
}

/// What a request begins with; it stays unread.
pub(super) async fn first_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(u8::from_ne_bytes(first)),
    }
}

/// Reads until then; more may have come with it.
pub(super) async fn read(stream: &mut TcpStream, until: Until) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let wanted = match until {
                Until::End => length(head),
                Until::Body(bytes) => bytes,
            };
            if body.len() >= wanted {
                return Ok(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Hands one request to a server and its answer to `client`, or to nobody.
pub(super) async fn exchange(
    server: SocketAddr,
    request: &str,
    client: Option<&mut TcpStream>,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    // The end of the connection is the end of the answer, so that nobody needs to read its head.
    let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(request.as_bytes()).await?;
    match client {
        Some(client) => copy(&mut stream, client).await?,
        None => copy(&mut stream, &mut sink()).await?,
    };
    Ok(())
}

/// Reads, and looks at nothing, until the other side is gone.
pub(super) async fn wait_for_end(stream: &mut TcpStream) -> io::Result<()> {
    copy(stream, &mut sink()).await.map(drop)
}

/// A header by its name.
pub(super) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value.trim())
}

fn length(head: &str) -> usize {
    header(head, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0)
}
