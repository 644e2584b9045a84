//! The files of a message as parts of it: grouped, opened when their turn comes, and told of where they
//! cannot be sent, so that no file ever fails a message.

use std::{path::Path, thread, time::Duration};

use http_body_util::BodyExt as _;
use kanban_notify::{
    artifacts::{Attachment, Refusal},
    message::{Destination, Parcel, Span},
    text::files::shown,
    verdict::{Detail, Fault, Verdict},
};
use tokio::{sync::oneshot, time::timeout};

use super::{
    call::Lost,
    pin::{File, Next, Part},
};
use crate::files::{
    self, OpenFile,
    stream::{FileBody, Piece},
};

/// So long may the files of a part take to be opened.
const OPENING: Duration = Duration::from_secs(10);
/// After so many failures of a part its files are only told of.
pub const FAILURES: u32 = 3;
/// What is said of a file that a platform does not take.
pub const REFUSED: &str = "refused here";
/// What is said of a file that is there no more, or is another one.
const GONE: &str = "gone or changed since";

/// Images that platforms show beside each other.
const IMAGES: &[&str] = &["gif", "jpeg", "jpg", "png", "webp"];

/// How the files of a message are divided into parts.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// The most files of one part.
    pub files: usize,
    /// The most bytes of one part.
    pub bytes: u64,
    /// Which files may stand in a part with others.
    pub together: fn(&Attachment) -> bool,
}

impl Groups {
    /// Each by itself.
    pub const ALONE: Self = Self { files: 1, bytes: u64::MAX, together: |_| false };

    /// The groups: first those that stand together, in order, then each of the others by itself.
    pub fn of(&self, all: &[Attachment]) -> Vec<Vec<File>> {
        let (together, alone): (Vec<_>, Vec<_>) =
            all.iter().partition(|file| (self.together)(file));
        let mut groups: Vec<Vec<File>> = Vec::new();
        let mut bytes = 0_u64;
        for file in together {
            bytes = bytes.saturating_add(file.size);
            match groups.last_mut() {
                Some(group) if group.len() < self.files && bytes <= self.bytes => {
                    group.push(file.into());
                }
                _ => {
                    bytes = file.size;
                    groups.push(vec![file.into()]);
                }
            }
        }
        groups.extend(alone.into_iter().map(|file| vec![file.into()]));
        groups
    }
}

/// Sends the files of a part, if it is one of files; `None` where the part is a text now, and is to be
/// sent like any other.
///
/// `send` sends those that are still what they were, with a caption that may be empty. What is refused is
/// told of by a text in the place of the files, which `write` makes.
pub async fn carry<Sending: Future<Output = Result<Verdict, Lost>>>(
    parcel: &Parcel,
    next: &mut Next<'_>,
    write: impl Fn(&[Span]) -> Part,
    send: impl FnOnce(Vec<OpenFile>, String) -> Sending,
) -> Option<Verdict> {
    if next.files.is_empty() {
        return None;
    }
    let all = std::mem::take(&mut next.files);
    let written = |lost: &[(String, String)]| match lost {
        [] => Part::default(),
        lost => write(&told(lost)),
    };
    let names = |why: &str| -> Vec<(String, String)> {
        all.iter().map(|file| (file.name.clone(), why.to_owned())).collect()
    };
    let lost = if parcel.failures >= FAILURES {
        names("it failed several times")
    } else {
        let (open, lost) = opened(all.clone()).await;
        if open.is_empty() {
            lost
        } else {
            let caption = format!("{}{}", next.before, written(&lost).text);
            match send(open, caption).await {
                // Whatever else is wrong with the chat, a text finds out.
                Ok(Verdict::Permanent {
                    fault: Fault::Payload | Fault::Target | Fault::Quota,
                    detail,
                }) => {
                    told_of(&parcel.destination, &detail);
                    names(REFUSED)
                }
                Ok(verdict) | Err(Lost::Verdict(verdict)) => return Some(verdict),
                Err(Lost::Changed) => names(GONE),
            }
        }
    };
    next.part = written(&lost);
    None
}

/// Says in the log that a platform does not take files, and why.
pub fn told_of(destination: &Destination, detail: &Detail) {
    let (channel, reason) = (destination.channel().as_str(), detail.as_str());
    tracing::warn!(channel, reason, "a platform refused files; they are only told of");
}

/// A file's name and content, or its name and why it has none.
type Named<T> = (String, T);

/// The contents of files, and those that are not what they were, with the reason.
pub async fn contents(all: Vec<File>) -> (Vec<Named<Vec<u8>>>, Vec<Named<String>>) {
    let (open, mut lost) = opened(all).await;
    let mut read = Vec::new();
    for file in open {
        let name = file.name.clone();
        let content = FileBody::new(vec![Piece::File(file)]).collect();
        match timeout(OPENING, content).await {
            Ok(Ok(content)) => read.push((name, content.to_bytes().into())),
            Ok(Err(_)) => lost.push((name, GONE.to_owned())),
            Err(_) => lost.push((name, Refusal::TooLate.words().to_owned())),
        }
    }
    (read, lost)
}

/// What became of an upload that nobody sees by itself: there is no doubt about that.
pub fn unseen(lost: Lost) -> Lost {
    match lost {
        Lost::Verdict(Verdict::Unknown { detail }) => {
            Lost::Verdict(Verdict::Retryable { retry_after: None, detail })
        }
        other => other,
    }
}

/// Opens files, off this thread: those that are what they were, and the others with the reason.
pub async fn opened(all: Vec<File>) -> (Vec<OpenFile>, Vec<(String, String)>) {
    if all.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (tell, told) = oneshot::channel();
    let names: Vec<String> = all.iter().map(|file| file.name.clone()).collect();
    let opening = thread::Builder::new().name("files".to_owned()).spawn(move || {
        let (mut open, mut lost) = (Vec::new(), Vec::new());
        for File { path, name, mark, .. } in all {
            match files::open(Path::new(&path), &name, &mark) {
                Ok(file) => open.push(file),
                Err(Refusal::Missing | Refusal::NotAFile) => lost.push((name, GONE.to_owned())),
                Err(refusal) => lost.push((name, refusal.words().to_owned())),
            }
        }
        // Nobody waits any more.
        let _ = tell.send((open, lost));
    });
    match (opening, timeout(OPENING, told).await) {
        (Ok(_), Ok(Ok(done))) => done,
        _ => {
            let late = Refusal::TooLate.words().to_owned();
            (Vec::new(), names.into_iter().map(|name| (name, late.clone())).collect())
        }
    }
}

/// What is said of files that are not sent after all.
pub fn told(lost: &[(String, String)]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (number, (name, why)) in lost.iter().enumerate() {
        let before = if number == 0 { "Not attached after all: " } else { ", " };
        spans.extend([Span::ours(before), Span::quoted(shown(name))]);
        spans.push(Span::ours(format!(" ({why})")));
    }
    spans
}

/// Whether a file is an image, by its ending.
pub fn is_image(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    IMAGES.iter().any(|image| image.eq_ignore_ascii_case(ending))
}

/// The media type of a file, by its ending; bytes where none is known.
pub fn content_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref().unwrap_or_default() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" | "md" | "log" => "text/plain; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" => "application/json",
        "zip" => "application/zip",
        "mp3" => "audio/mpeg",
        "ogg" | "opus" => "audio/ogg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        // What a browser would run is only bytes.
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, size: u64) -> Attachment {
        let (path, mark) = (format!("/x/{name}"), String::new());
        Attachment { path, name: name.to_owned(), size, mark }
    }

    #[test]
    fn what_stands_together_is_bounded_in_number_and_size() {
        let groups = Groups { files: 3, bytes: 10, together: |file| is_image(&file.name) };
        let of = |files: &[Attachment]| -> Vec<Vec<String>> {
            let names = |group: Vec<File>| group.into_iter().map(|file| file.name).collect();
            groups.of(files).into_iter().map(names).collect()
        };
        let all = [
            file("1.png", 1),
            file("a.pdf", 99),
            file("2.JPG", 1),
            file("3.webp", 1),
            file("4.gif", 6),
            file("5.png", 5),
            file("6.png", 50),
        ];
        let found = of(&all);
        assert_eq!(
            found,
            [&["1.png", "2.JPG", "3.webp"][..], &["4.gif"], &["5.png"], &["6.png"], &["a.pdf"],]
        );
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn what_a_browser_would_run_is_only_bytes() {
        assert_eq!(content_type("a.HTML"), "application/octet-stream");
        assert_eq!(content_type("a.svg"), "application/octet-stream");
        assert_eq!(content_type("none"), "application/octet-stream");
        assert_eq!(content_type("a.PNG"), "image/png");
    }
}
