//! A request's body that is read from files while it leaves, by a thread of its own.

use std::{
    fmt,
    os::unix::fs::FileExt as _,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
    thread,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::open::{OpenFile, mark};

/// So much is read at once; few such pieces are in memory for a request.
const PIECE: usize = 128 << 10;
const AHEAD: usize = 2;

/// A piece of a body.
#[derive(Debug)]
pub enum Piece {
    /// Bytes.
    Bytes(Bytes),
    /// A whole file.
    File(OpenFile),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::File(file) => file.size,
        }
    }
}

/// A body of files and what stands between them, of a length that is known before.
#[derive(Debug)]
pub struct FileBody {
    pieces: mpsc::Receiver<Result<Bytes, Changed>>,
    left: u64,
    length: u64,
    progress: Progress,
}

/// A file that is not what it was any more, or cannot be read to its end.
#[derive(Clone, Copy, Debug)]
pub struct Changed;

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file changed while it was read")
    }
}

impl std::error::Error for Changed {}

/// How far a body came.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU8>);

const WHOLE: u8 = 1;
const CHANGED: u8 = 2;

impl Progress {
    /// Whether all of it was handed over: without its end nobody can have accepted it.
    pub fn is_whole(&self) -> bool {
        self.0.load(Ordering::Acquire) == WHOLE
    }

    /// Whether a file changed while it was read.
    pub fn is_changed(&self) -> bool {
        self.0.load(Ordering::Acquire) == CHANGED
    }
}

impl FileBody {
    /// Begins to read.
    pub fn new(pieces: Vec<Piece>) -> Self {
        let length = pieces.iter().map(Piece::len).fold(0, u64::saturating_add);
        let (tell, told) = mpsc::channel(AHEAD);
        let reading = thread::Builder::new().name("upload".to_owned());
        let failed = tell.clone();
        if reading.spawn(move || read(pieces, &tell)).is_err() {
            // There is room: nothing was told yet.
            let _ = failed.try_send(Err(Changed));
        }
        let progress = Progress::default();
        if length == 0 {
            progress.0.store(WHOLE, Ordering::Release);
        }
        Self { pieces: told, left: length, length, progress }
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How far it came, also once it was given away.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

fn read(pieces: Vec<Piece>, tell: &mpsc::Sender<Result<Bytes, Changed>>) {
    for piece in pieces {
        let done = match piece {
            Piece::Bytes(bytes) => tell.blocking_send(Ok(bytes)).is_ok(),
            Piece::File(file) => read_file(file, tell),
        };
        if !done {
            return;
        }
    }
}

/// Reads a file, exactly as long as it was; answers whether to go on.
fn read_file(open: OpenFile, tell: &mpsc::Sender<Result<Bytes, Changed>>) -> bool {
    let OpenFile { file, size, mark: before, .. } = open;
    let mut left = size;
    while left > 0 {
        let room = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; room];
        // By place: another request may read the same handle.
        let is_read = file.read_exact_at(&mut piece, size.saturating_sub(left)).is_ok();
        left = left.saturating_sub(u64::try_from(room).unwrap_or(left));
        // Before the last piece leaves: without it nobody takes the others.
        let is_same = left > 0 || file.metadata().is_ok_and(|meta| mark(&meta) == before);
        let piece = if is_read && is_same { Ok(Bytes::from(piece)) } else { Err(Changed) };
        let is_good = piece.is_ok();
        if tell.blocking_send(piece).is_err() || !is_good {
            return false;
        }
    }
    true
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = Changed;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Changed>>> {
        let this = self.get_mut();
        match this.pieces.poll_recv(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(bytes))) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                this.left = this.left.saturating_sub(length);
                if this.left == 0 {
                    this.progress.0.store(WHOLE, Ordering::Release);
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Some(Err(changed))) => {
                this.progress.0.store(CHANGED, Ordering::Release);
                Poll::Ready(Some(Err(changed)))
            }
            Poll::Ready(None) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
