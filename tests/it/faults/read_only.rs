//! A board that cannot be written, through a whole gateway whose process has no more rights than anybody.

use std::{
    fs::{File, Permissions, set_permissions},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

use gateway_bin::ops::status;

use super::child;
use crate::support::{wait::eventually, world::World};

const NOBODY: u32 = 65_534;

fn allow(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The lines of a log about the board that is not served, at this level.
fn lines(log: &Path, level: &str) -> usize {
    let log = std::fs::read_to_string(log).unwrap();
    let about = log.lines().filter(|line| line.contains("board is not served"));
    about.filter(|line| line.contains(level)).count()
}

#[tokio::test]
async fn b7_report_62_a_read_only_board_is_told_once_tried_less_and_less_and_left_as_it_is() {
    const SELF: &str = "faults::read_only::\
        b7_report_62_a_read_only_board_is_told_once_tried_less_and_less_and_left_as_it_is";
    if let Some(folder) = child::folder() {
        return read_only(&folder.join("log")).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let (log, program) = (folder.path().join("log"), folder.path().join("program"));
    let exe = std::env::current_exe().unwrap();
    if std::fs::hard_link(&exe, &program).is_err() {
        std::fs::copy(&exe, &program).unwrap();
    }
    allow(folder.path(), 0o777);
    let told = child::command(SELF, folder.path(), "debug");
    // For root, permissions are no hindrance: the child gives that up. It may have no way to this program.
    let mut command = Command::new(&program);
    command.args(told.get_args()).env("TMPDIR", folder.path());
    command.envs(told.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ended = command.current_dir(folder.path()).stderr(File::create(&log).unwrap()).output();
    let (ended, said) = (ended.unwrap(), std::fs::read_to_string(&log).unwrap());
    assert!(ended.status.success(), "{said}");
}

/// What the child does, whose log goes into that file.
async fn read_only(log: &Path) {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let event = world.cards.complete(&task, "done once");
    let path = world.cards.path().to_owned();
    let (folder, before) = (path.parent().unwrap(), world.cards.schema());
    let written = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let at_first = written();
    allow(&path, 0o444);
    allow(folder, 0o555);
    let running = world.start();
    eventually("it is tried for the third time", || (lines(log, "DEBUG") >= 2).then_some(())).await;
    assert_eq!(lines(log, "WARN"), 1, "the first time");
    let now = status::status(&world.context());
    assert_eq!(now.health, status::Health::Degraded);
    assert!(now.boards[0].state.contains("readonly database"), "{:?}", now.boards);
    assert_eq!(written(), at_first, "nobody wrote");
    assert!(world.receiver.wakes().is_empty());
    allow(folder, 0o755);
    allow(&path, 0o644);
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!((world.receiver.turns("sess-abc"), world.cards.schema()), (1, before));
}
