//! Files of tasks: which may be sent, as a filter says, and how they are read when they are.
//!
//! A file is looked at through a descriptor that reads nothing (`O_PATH`), so that no pipe is waited for, no
//! device is touched, and no database loses its locks. Where it really lies is what the kernel says of
//! that descriptor, whatever links led there.

mod filter;
mod open;
mod places;
pub mod stream;
mod whole;

use std::{path::PathBuf, sync::Arc, thread};

use futures_channel::mpsc;
use futures_util::{
    StreamExt as _,
    stream::{self as streams, BoxStream},
};
use kanban_notify::{
    artifacts::{Attachment, PATH_BYTES, Refusal, Wanted, name},
    ports::Files,
};
use tokio::sync::Semaphore;

pub use open::{OpenFile, open};
pub use places::Places;
pub use whole::{read_whole, read_whole_text};

/// So many messages at once have their files looked at; those of a file system that hangs are among them.
const AT_ONCE: usize = 16;

/// Says which files may be sent.
pub struct FileGuard {
    places: Arc<dyn Fn() -> Places + Send + Sync>,
    turns: Arc<Semaphore>,
}

impl std::fmt::Debug for FileGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileGuard").finish_non_exhaustive()
    }
}

impl FileGuard {
    /// A guard for the places that are asked for whenever files are looked at.
    pub fn new(places: impl Fn() -> Places + Send + Sync + 'static) -> Self {
        Self { places: Arc::new(places), turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Files for FileGuard {
    fn check(&self, wanted: Vec<Wanted>) -> BoxStream<'static, Result<Attachment, Refusal>> {
        let (places, turns) = (Arc::clone(&self.places), Arc::clone(&self.turns));
        let begun = async move {
            let (tell, told) = mpsc::unbounded();
            // It is never closed.
            let turn = turns.acquire_owned().await;
            // A thread of its own: nothing waits for one that hangs, not even the end of the program.
            let looking = thread::Builder::new().name("files".to_owned()).spawn(move || {
                let places = places().resolved();
                for one in wanted {
                    if tell.unbounded_send(check(&one.path, &places)).is_err() {
                        break;
                    }
                }
                drop(turn);
            });
            if let Err(error) = looking {
                tracing::warn!(error = error.to_string(), "no thread to look at files with");
            }
            told
        };
        streams::once(begun).flatten().boxed()
    }
}

/// Looks at one file. It may hang, where the file system does.
fn check(path: &str, places: &Places) -> Result<Attachment, Refusal> {
    let expanded = expanded(path, places).filter(|path| path.is_absolute());
    let seen = open::look(&expanded.ok_or(Refusal::NotAFile)?)?;
    let real = seen.path.to_str().filter(|real| real.len() <= PATH_BYTES.saturating_mul(4));
    let real = real.ok_or(Refusal::NotAFile)?.to_owned();
    // What is outside of the root that we see has no place.
    let is_placed = seen.path.is_absolute();
    if !is_placed || !filter::may_leave(&seen.path, places) || places.keeps(&seen.path, seen.inode)
    {
        return Err(Refusal::Denied);
    }
    seen.readable()?;
    Ok(Attachment { path: real, name: name(path), size: seen.size, mark: seen.mark })
}

/// The path with the home of whoever we run as in the place of `~`.
fn expanded(path: &str, places: &Places) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(places.user.as_ref()?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests;
