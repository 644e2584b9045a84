//! The guard over real files: links, pipes, folders, databases, and what changes in between.

use std::{fs, os::unix::fs::symlink, path::Path};

use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;

use super::{
    stream::{FileBody, Piece},
    *,
};

struct Scene {
    dir: tempfile::TempDir,
    kept: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), kept: Vec::new() }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn places(&self) -> Places {
        let home = self.dir.path().join("home");
        Places {
            homes: vec![home.join(".hermes")],
            user: Some(home),
            kept: self.kept.clone(),
            ..Places::default()
        }
    }

    fn check(&self, path: &str) -> Result<Attachment, Refusal> {
        check(path, &self.places().resolved())
    }

    fn attach(&self, path: &str) -> OpenFile {
        let file = self.check(path).unwrap();
        open(Path::new(&file.path), &file.name, &file.mark).unwrap()
    }
}

#[test]
fn report_43_what_is_there_goes_and_what_is_gone_does_not() {
    let scene = Scene::new();
    let there = scene.write("out/a.pdf", "content");
    let file = scene.check(&there).unwrap();
    assert_eq!((file.name.as_str(), file.size), ("a.pdf", 7));
    assert_eq!(scene.check(&scene.path("out/gone.pdf")), Err(Refusal::Missing));
    scene.write("home/b.txt", "");
    assert_eq!(scene.check("~/b.txt").unwrap().size, 0);
}

#[test]
fn report_44_links_are_followed_before_they_are_judged() {
    let scene = Scene::new();
    let there = scene.write("out/a.pdf", "content");
    symlink("/etc/passwd", scene.path("passwd.pdf")).unwrap();
    symlink("/etc", scene.path("folder")).unwrap();
    symlink(&there, scene.path("good.pdf")).unwrap();
    symlink(scene.path("circle"), scene.path("circle")).unwrap();
    let good = scene.check(&scene.path("good.pdf")).unwrap();
    assert_eq!((good.name.as_str(), good.path), ("good.pdf", real(&there)));
    for (path, why) in [
        (scene.path("passwd.pdf"), Refusal::Denied),
        (scene.path("folder/passwd"), Refusal::Denied),
        (scene.path("circle"), Refusal::NotAFile),
        (scene.write("home/.hermes/state.json", "{}"), Refusal::Denied),
        (scene.write("home/.ssh/id", "key"), Refusal::Denied),
    ] {
        assert_eq!(scene.check(&path), Err(why), "{path}");
    }
}

fn real(path: &str) -> String {
    fs::canonicalize(path).unwrap().to_str().unwrap().to_owned()
}

/// A pipe that nobody writes to would hold up whoever opens it.
#[test]
fn what_is_no_plain_file_is_refused_without_being_opened() {
    let scene = Scene::new();
    let pipe = scene.path("pipe.txt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(scene.path("folder.d")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    for path in [pipe, scene.path("folder.d"), scene.path("socket"), "/dev/zero".into()] {
        assert_eq!(scene.check(&path), Err(Refusal::NotAFile), "{path}");
    }
    let plain = scene.write("a.txt", "x");
    for path in ["a.txt", "", "~", "~x/a.txt", "./a.txt", &format!("{plain}/b"), "/a\0b"] {
        assert_eq!(scene.check(path), Err(Refusal::NotAFile), "{path:?}");
    }
}

#[test]
fn a_file_of_somebody_else_is_unreadable() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let path = scene.write("a.pdf", "x");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may read everything may read this too.
    let is_root = fs::read(&path).is_ok();
    let expected = if is_root { None } else { Some(Refusal::Unreadable) };
    assert_eq!(scene.check(&path).err(), expected);
}

/// B3: a board is not opened, by whatever name it is asked for.
#[test]
fn b3_boards_and_the_ledger_never_leave_by_any_name() {
    let mut scene = Scene::new();
    let board = scene.write("boards/kanban.db", "SQLite");
    let wal = scene.write("boards/kanban.db-wal", "log");
    scene.kept = vec![board.clone().into(), scene.path("state/ledger.db").into()];
    fs::hard_link(&board, scene.path("report.pdf")).unwrap();
    fs::hard_link(&wal, scene.path("wal.pdf")).unwrap();
    let handle = fs::File::open(&board).unwrap();
    let by_handle = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    for path in [
        board,
        wal,
        scene.path("report.pdf"),
        scene.path("wal.pdf"),
        by_handle,
        scene.write("state/ledger.db.id", "secret"),
        scene.write("state/ledger.db.instances/a.lock", ""),
    ] {
        assert_eq!(scene.check(&path), Err(Refusal::Denied), "{path}");
    }
    assert!(scene.check(&scene.write("state/other.txt", "x")).is_ok());
}

#[test]
fn only_the_file_that_was_looked_at_is_opened_later() {
    let scene = Scene::new();
    let path = scene.write("out/a.pdf", "content");
    let file = scene.check(&path).unwrap();
    let again = || open(Path::new(&file.path), &file.name, &file.mark).map(|open| open.size);
    assert_eq!(again(), Ok(7));
    // Longer.
    fs::write(&path, "content and more").unwrap();
    assert_eq!(again(), Err(Refusal::Missing));
    // Another one at its place, a link at its place, a link on the way, nothing.
    let file = scene.check(&path).unwrap();
    let again = || open(Path::new(&file.path), &file.name, &file.mark).map(|open| open.size);
    fs::rename(&path, scene.path("moved.pdf")).unwrap();
    assert_eq!(again(), Err(Refusal::Missing));
    symlink(scene.path("moved.pdf"), &path).unwrap();
    assert!(again().is_err());
    fs::remove_file(&path).unwrap();
    fs::create_dir(scene.path("other")).unwrap();
    fs::rename(scene.path("moved.pdf"), scene.path("other/a.pdf")).unwrap();
    fs::remove_dir(scene.path("out")).unwrap();
    symlink(scene.path("other"), scene.path("out")).unwrap();
    assert_eq!(again(), Err(Refusal::Missing));
}

#[tokio::test]
async fn a_guard_answers_for_each_in_order_and_a_look_that_hangs_holds_up_no_other() {
    let scene = Scene::new();
    let path = scene.write("a.pdf", "x");
    let (begin, begun) = std::sync::mpsc::channel();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(Some(held));
    let guard = FileGuard::new(move || {
        let first = held.lock().unwrap().take();
        if let Some(held) = first {
            begin.send(()).unwrap();
            let _ = held.recv();
        }
        Places::default()
    });
    let wanted = |path: &str| Wanted { path: path.to_owned(), listed: true };
    let mut hanging = guard.check(vec![wanted(&path)]);
    let first = futures_util::poll!(hanging.next());
    assert!(first.is_pending());
    // Its thread, and no other's, is the one that hangs.
    begun.recv().unwrap();
    let others = guard.check(vec![wanted("/nowhere/a"), wanted(&path), wanted("/dev/null")]);
    let others: Vec<_> = others.map(|one| one.map(|file| file.size)).collect().await;
    assert_eq!(others, [Err(Refusal::Missing), Ok(1), Err(Refusal::NotAFile)]);
    drop(release);
    assert!(hanging.next().await.unwrap().is_ok());
}

async fn body(pieces: Vec<Piece>) -> (Option<Vec<u8>>, u64, stream::Progress) {
    let body = FileBody::new(pieces);
    let (length, progress) = (body.length(), body.progress());
    let read = body.collect().await.ok().map(|all| all.to_bytes().to_vec());
    (read, length, progress)
}

#[tokio::test]
async fn a_body_is_what_the_files_hold_and_as_long_as_it_said() {
    let scene = Scene::new();
    let large = "0123456789".repeat(100_000);
    let files = [scene.write("a", &large), scene.write("b", ""), scene.write("c", "end")];
    let mut pieces: Vec<Piece> = files.iter().map(|path| Piece::File(scene.attach(path))).collect();
    pieces.insert(1, Piece::Bytes("--".into()));
    let (read, length, progress) = body(pieces).await;
    assert_eq!(read.unwrap(), format!("{large}--end").into_bytes());
    assert_eq!(length, 1_000_005);
    assert!(progress.is_whole() && !progress.is_changed());
    let (read, length, progress) = body(vec![Piece::File(scene.attach(&files[1]))]).await;
    assert_eq!((read, length, progress.is_whole()), (Some(Vec::new()), 0, true));
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_is_not_sent_to_its_end() {
    let scene = Scene::new();
    for change in [
        |path: &str| fs::write(path, "shorter").unwrap(),
        |path: &str| fs::write(path, "x".repeat(900_001)).unwrap(),
    ] {
        let path = scene.write("a", &"x".repeat(900_000));
        let file = scene.attach(&path);
        change(&path);
        let (read, _, progress) = body(vec![Piece::File(file), Piece::Bytes("--".into())]).await;
        assert_eq!(read, None);
        assert!(progress.is_changed() && !progress.is_whole());
    }
}
