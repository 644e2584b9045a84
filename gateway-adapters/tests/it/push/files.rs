//! The contract of channels that take files, over real files.

use std::{fs, path::Path};

use futures_util::StreamExt as _;
use gateway_adapters::{
    files::{FileGuard, Places},
    push::split::REPEAT,
    receiver::push::{PushAct, PushAnswer, PushMessage},
};
use kanban_notify::{
    artifacts::{Attachment, Takes, Wanted},
    message::{Message, Parcel, Span},
    ports::Files as _,
    verdict::Verdict,
};

use super::contract::{Bench, Subject, bench, shown, to};

/// What begins a PNG; the strict servers look no further.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// A platform that takes files.
pub struct Carrier {
    pub subject: Subject,
    /// How the platform says that it takes no such file.
    pub refused: fn() -> PushAnswer,
    /// How many requests it refuses before a file is only told of.
    pub tries: usize,
    /// The number of requests that one file takes.
    pub steps: usize,
}

pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes files, and looks at them as the gateway does.
    pub async fn files(&self, files: &[(&str, &[u8])]) -> Vec<Attachment> {
        let wanted = files.iter().map(|(name, content)| {
            let path = self.path(name);
            fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            Wanted { path, listed: true }
        });
        let checked = FileGuard::new(Places::default).check(wanted.collect());
        checked.map(|one| one.unwrap()).collect().await
    }
}

pub fn parcel(carrier: &Carrier, bench: &Bench, files: Vec<Attachment>) -> Parcel {
    let destination = to(&carrier.subject, carrier.subject.thread);
    let message = Message { spans: vec![Span::quoted("t_1 is done")], files, ..Message::default() };
    let body = bench.channel.encode(&destination, &message);
    assert_eq!(body, bench.channel.encode(&destination, &message));
    Parcel::new(destination, "kgw-1".to_owned(), body)
}

/// Sends a parcel from its part on to its end.
pub async fn send(bench: &Bench, mut parcel: Parcel) -> Vec<PushMessage> {
    loop {
        match bench.channel.send(&parcel).await {
            Verdict::Delivered(_) => return bench.server.seen(),
            Verdict::Part { next, .. } => {
                assert_eq!(next, parcel.part + 1);
                parcel.part = next;
            }
            other => panic!("{other:?} {:?}", bench.server.requests().last()),
        }
    }
}

/// What the last message says of files that are not there.
fn told(seen: &[PushMessage]) -> String {
    let last = seen.last().unwrap();
    assert!(last.files.is_empty(), "{last:?}");
    shown(&last.text)
}

pub async fn files_arrive_byte_for_byte_after_the_text(carrier: &Carrier) {
    let (bench, folder) = (bench(&carrier.subject).await, Folder::new());
    let large: Vec<u8> = (0..700_001_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let boundary = b"--kanban-0\r\nContent-Disposition: form-data\r\n\r\n--\r\n";
    let files: [(&str, &[u8]); 4] =
        [("a/report.pdf", b"one"), ("b/report.pdf", &large), ("c.txt", boundary), ("d.png", PNG)];
    let checked = folder.files(&files).await;
    assert!(checked.iter().all(|file| file.size <= bench.channel.takes().file));
    assert_ne!(bench.channel.takes(), Takes::NOTHING);
    let seen = send(&bench, parcel(carrier, &bench, checked)).await;
    assert_eq!((shown(&seen[0].text).as_str(), seen[0].files.len()), ("t_1 is done", 0));
    let mut arrived: Vec<_> = seen.iter().flat_map(|message| message.files.clone()).collect();
    arrived.sort();
    let mut sent: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (name.rsplit('/').next().unwrap().to_owned(), bytes.to_vec().into()))
        .collect();
    sent.sort();
    assert!(arrived == sent, "{:?}", seen.iter().map(|one| &one.text).collect::<Vec<_>>());
    assert!(seen.iter().all(|message| message.chat == carrier.subject.chat));
    assert!(seen.iter().all(|message| message.thread == carrier.subject.thread));
}

pub async fn no_name_of_a_file_is_more_than_a_name(carrier: &Carrier) {
    let (bench, folder) = (bench(&carrier.subject).await, Folder::new());
    for (name, told) in [
        ("a\r\nX-Evil: 1\".txt", "a__X-Evil: 1_.txt"),
        ("b\"; filename=\"c.txt", "b_; filename=_c.txt"),
        ("\u{1f600} \u{5d0} d.txt", "\u{1f600} \u{5d0} d.txt"),
        ("@everyone <!channel> _*`.txt", "@everyone <!channel> _*`.txt"),
        ("%2e%2e%2f.txt", "%2e%2e%2f.txt"),
    ] {
        let checked = folder.files(&[(name, b"x")]).await;
        let parcel = Parcel { part: 1, ..parcel(carrier, &bench, checked) };
        let seen = send(&bench, Parcel { key: format!("kgw-{name:?}"), ..parcel }).await;
        assert_eq!(seen.last().unwrap().files, [(told.to_owned(), "x".into())]);
    }
}

pub async fn report_43_a_file_that_is_gone_by_now_is_told_of_once(carrier: &Carrier) {
    let folder = Folder::new();
    for change in [
        |path: &str| fs::remove_file(path).unwrap(),
        |path: &str| fs::write(path, "other content").unwrap(),
        |path: &str| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        },
    ] {
        let bench = bench(&carrier.subject).await;
        let checked = folder.files(&[("_a_.pdf", b"content")]).await;
        let parcel = parcel(carrier, &bench, checked);
        change(&folder.path("_a_.pdf"));
        let seen = send(&bench, parcel).await;
        assert_eq!(seen.len(), 2);
        assert_eq!(told(&seen), "Not attached after all: _a_.pdf (gone or changed since)");
        fs::remove_file(folder.path("_a_.pdf")).ok();
    }
}

pub async fn a_file_that_the_platform_refuses_is_told_of_and_fails_nothing(carrier: &Carrier) {
    let (bench, folder) = (bench(&carrier.subject).await, Folder::new());
    let checked = folder.files(&[("a.pdf", b"one"), ("b.pdf", b"two")]).await;
    let mut parcel = parcel(carrier, &bench, checked);
    assert!(matches!(bench.channel.send(&parcel).await, Verdict::Part { next: 1, .. }));
    parcel.part = 1;
    bench.server.play(vec![PushAct::Answer((carrier.refused)()); carrier.tries]);
    let verdict = bench.channel.send(&parcel).await;
    assert!(matches!(verdict, Verdict::Delivered(_) | Verdict::Part { .. }), "{verdict:?}");
    let seen = bench.server.seen();
    assert!(told(&seen).starts_with("Not attached after all: a.pdf (refused here)"), "{seen:?}");
}

pub async fn an_upload_without_an_answer_is_in_doubt_and_one_that_broke_off_is_not(
    carrier: &Carrier,
) {
    let (bench, folder) = (bench(&carrier.subject).await, Folder::new());
    let checked = folder.files(&[("a.pdf", b"one")]).await;
    let mut parcel = Parcel { part: 1, ..parcel(carrier, &bench, checked) };
    let before = std::iter::repeat_n(PushAct::Honest, carrier.steps - 1);
    bench.server.play(before.chain([PushAct::Swallow]));
    assert_eq!(bench.channel.send(&parcel).await.name(), "unknown");
    parcel.repeat = true;
    parcel.key = "kgw-2".to_owned();
    let seen = send(&bench, parcel.clone()).await;
    let last = seen.last().unwrap();
    assert_eq!(last.files.len(), 1);
    assert!(last.text.starts_with(REPEAT.trim_end()), "{last:?}");
    // Nobody waits for a platform that fails again and again.
    parcel.failures = 3;
    parcel.key = "kgw-3".to_owned();
    let seen = send(&bench, parcel).await;
    assert!(told(&seen).ends_with("a.pdf (it failed several times)"));
}

/// The contract, as tests of the module that it is written in.
macro_rules! file_contract {
    ($carrier:expr, $($test:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $test() {
                crate::push::files::$test(&$carrier).await;
            }
        )+
    };
    ($carrier:expr) => {
        crate::push::files::file_contract! {
            $carrier,
            files_arrive_byte_for_byte_after_the_text,
            no_name_of_a_file_is_more_than_a_name,
            report_43_a_file_that_is_gone_by_now_is_told_of_once,
            a_file_that_the_platform_refuses_is_told_of_and_fails_nothing,
            an_upload_without_an_answer_is_in_doubt_and_one_that_broke_off_is_not,
        }
    };
}
pub(crate) use file_contract;

/// A server that does this with the first request, once its head is there.
pub fn rude(act: impl FnOnce(std::net::TcpStream) + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::Read as _;
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1_000];
        stream.read_exact(&mut head).unwrap();
        act(stream);
    });
    url
}
