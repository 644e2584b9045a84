//! A server on this machine that gives each request the same bytes, whatever they are.

use std::{
    io::{BufRead as _, BufReader, Read as _, Result, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The server; it ends with the process.
pub struct Server {
    /// Its base address.
    pub url: String,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// Listens at a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let said = Arc::new(Mutex::new(Vec::new()));
        let server = Self { url, said: Arc::clone(&said) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let said = Arc::clone(&said);
                // A client that takes the bytes for no answer goes away.
                thread::spawn(move || drop(serve(stream, &said)));
            }
        });
        server
    }

    /// What it says from now on.
    pub fn says(&self, bytes: Vec<u8>) {
        *self.said.lock().unwrap() = bytes;
    }
}

fn serve(mut stream: TcpStream, said: &Mutex<Vec<u8>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        } else if line == "\r\n" {
            reader.by_ref().take(length).read_to_end(&mut Vec::new())?;
            length = 0;
            let bytes = said.lock().unwrap().clone();
            stream.write_all(&bytes)?;
        }
    }
}
