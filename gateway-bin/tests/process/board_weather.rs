//! What becomes of a board's file while the program serves it: that board's trouble alone (laws B6, B7).

use std::{fs, os::unix::fs::FileExt as _, path::Path};

use diesel::connection::SimpleConnection as _;
use kanban_store::{board::RowKey, ledger::beside};

use crate::{
    process::Process,
    small_disk::SmallDisk,
    support::{
        cards::{Cards, assert_sound, connect},
        tally::assert_each_told_once,
        wait::eventually,
        world::World,
    },
};

const PAGE: u64 = 4096;

/// A world with a second board, and a gateway that has told an event of each.
struct Scene {
    world: World,
    side: Cards,
    run: Process,
    asked: Vec<(RowKey, i64)>,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let side = world.board("side");
        Self::over(world, side).await
    }

    async fn over(world: World, side: Cards) -> Self {
        let run = Process::run(&world);
        let mut scene = Self { world, side, run, asked: Vec::new() };
        scene.tell("sess-before").await;
        scene.others_go_on("sess-main-before").await;
        scene
    }

    /// A task of the board in trouble is completed, and told.
    async fn tell(&mut self, session: &str) {
        let side = self.side.clone();
        let (row, event) = done(&side, session);
        eventually(session, || (side.cursor(&row) >= event).then_some(())).await;
        self.asked.push((row, event));
    }

    async fn others_go_on(&mut self, session: &str) {
        let (row, event) = done(&self.world.cards, session);
        self.world.settled(&row, event).await;
        self.asked.push((row, event));
    }

    /// A good copy of the board as it is now.
    fn copy(&self, name: &str) -> std::path::PathBuf {
        let copy = self.world.folder().join(name);
        let into = format!("VACUUM INTO '{}'", copy.display());
        connect(self.side.path()).batch_execute(&into).unwrap();
        copy
    }

    /// Each was told once, and the gateway is well.
    async fn ends(mut self) {
        self.run.terminate();
        assert!(self.run.ended().await.success(), "{}", self.run.log());
        let expected: Vec<_> =
            self.asked.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
        assert_each_told_once(&self.world.receiver, &expected);
        assert_eq!(self.world.receiver.wakes().len(), self.asked.len(), "{}", self.run.log());
        assert_sound(self.side.path());
    }
}

/// A task that was completed, and who asked for it.
fn done(cards: &Cards, session: &str) -> (RowKey, i64) {
    let (task, row) = cards.asked("Build the report", session);
    let event = cards.complete(&task, "done once");
    (row, event)
}

/// Has everything in the file itself, so that what is done to it is done to all.
fn checkpoint(board: &Path) {
    connect(board).batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

/// Puts a good file in the board's place, as a restore does: without the log of the other one.
fn rename_over(good: &Path, board: &Path) {
    for file in ["-wal", "-shm"] {
        drop(fs::remove_file(beside(board, file)));
    }
    fs::rename(good, board).unwrap();
}

/// The same into the file that is there.
fn copy_over(good: &Path, board: &Path) {
    for file in ["-wal", "-shm"] {
        drop(fs::remove_file(beside(board, file)));
    }
    fs::copy(good, board).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b6_a_board_that_is_restored_with_lower_ids_begins_anew() {
    for restore in [rename_over, copy_over] {
        let mut scene = Scene::new().await;
        let backup = scene.copy("backup.db");
        for session in ["sess-1", "sess-2", "sess-3"] {
            scene.tell(session).await;
        }
        restore(&backup, scene.side.path());
        // The ids of what was told are given out again.
        for session in ["sess-4", "sess-5"] {
            scene.tell(session).await;
        }
        scene.others_go_on("sess-main-after").await;
        scene.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b6_a_board_whose_rows_are_set_back_begins_anew() {
    let mut scene = Scene::new().await;
    let backup = scene.copy("backup.db");
    for session in ["sess-1", "sess-2", "sess-3"] {
        scene.tell(session).await;
    }
    // As SQLite's own restore does it: through the database, in one transaction.
    let mut restore = format!("ATTACH '{}' AS backup; BEGIN IMMEDIATE;", backup.display());
    for table in ["kanban_notify_subs", "task_events", "task_runs", "tasks", "sqlite_sequence"] {
        restore += &format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM backup.{table};"
        );
    }
    connect(scene.side.path()).batch_execute(&(restore + "COMMIT")).unwrap();
    for session in ["sess-4", "sess-5"] {
        scene.tell(session).await;
    }
    scene.ends().await;
}

/// What is left of a file that was cut.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Nothing,
    Half,
    Mid,
}

const MOMENTS: [Moment; 3] = [Moment::Nothing, Moment::Half, Moment::Mid];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b7_a_board_that_is_cut_off_is_left_alone_until_a_good_file_is_there() {
    for moment in MOMENTS {
        let mut scene = Scene::new().await;
        checkpoint(scene.side.path());
        let good = scene.copy("good.db");
        let file = fs::OpenOptions::new().write(true).open(scene.side.path()).unwrap();
        let pages = file.metadata().unwrap().len() / PAGE;
        let left = match moment {
            Moment::Nothing => 0,
            Moment::Half => pages / 2 * PAGE,
            Moment::Mid => pages / 2 * PAGE + PAGE / 2,
        };
        file.set_len(left).unwrap();
        drop(file);
        scene.run.says("board is not served").await;
        scene.others_go_on("sess-main-meanwhile").await;
        assert_eq!(fs::metadata(scene.side.path()).unwrap().len(), left, "{moment:?}: written to");
        rename_over(&good, scene.side.path());
        scene.tell("sess-after").await;
        scene.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b7_a_board_that_is_damaged_while_it_is_served_is_left_alone_until_it_is_mended() {
    for restore in [rename_over, copy_over] {
        let mut scene = Scene::new().await;
        checkpoint(scene.side.path());
        let good = scene.copy("good.db");
        let file = fs::OpenOptions::new().write(true).open(scene.side.path()).unwrap();
        for page in 1..file.metadata().unwrap().len() / PAGE {
            file.write_all_at(&[7; 4096], page * PAGE).unwrap();
        }
        drop(file);
        // A commit is what makes the gateway look.
        connect(scene.side.path()).batch_execute("PRAGMA user_version = 7").unwrap();
        scene.run.says("board is not served").await;
        scene.others_go_on("sess-main-meanwhile").await;
        restore(&good, scene.side.path());
        scene.tell("sess-after").await;
        scene.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b6_a_board_that_is_moved_to_the_archive_is_let_go_and_goes_on_when_it_is_back() {
    let mut scene = Scene::new().await;
    let folder = scene.side.path().parent().unwrap().to_owned();
    let archive = folder.with_file_name("_archived");
    fs::create_dir(&archive).unwrap();
    let archived = archive.join("side-20260101");
    fs::rename(&folder, &archived).unwrap();
    scene.run.says("board is not served").await;
    let there = Cards::at(&archived.join("kanban.db"));
    let (row, event) = done(&there, "sess-archived");
    scene.others_go_on("sess-main-meanwhile").await;
    assert!(there.cursor(&row) < event, "what is archived is not served");
    fs::rename(&archived, &folder).unwrap();
    let side = scene.side.clone();
    eventually("it is told", || (side.cursor(&row) >= event).then_some(())).await;
    scene.asked.push((row, event));
    scene.tell("sess-after").await;
    scene.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b7_a_full_disk_under_a_board_delays_its_cursor_and_repeats_nothing() {
    let world = World::new().await;
    let folder = world.hermes().join("kanban/boards/side");
    let Some(disk) = SmallDisk::over(&folder, 8) else { return };
    let side = world.board("side");
    let mut scene = Scene::over(world, side).await;
    for restarts in [false, true] {
        scene.world.receiver.hold();
        let (row, event) = done(&scene.side, &format!("sess-{restarts}"));
        scene.world.receiver.until_running(1).await;
        let filler = disk.fill();
        scene.world.receiver.release_all();
        scene.run.says("database or disk is full").await;
        scene.others_go_on(&format!("sess-main-{restarts}")).await;
        assert!(scene.side.cursor(&row) < event);
        if restarts {
            let run = std::mem::replace(&mut scene.run, Process::run(&scene.world));
            run.kill().await;
            scene.others_go_on("sess-main-again").await;
        }
        fs::remove_file(filler).unwrap();
        let side = scene.side.clone();
        eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
        scene.asked.push((row, event));
    }
    scene.tell("sess-after").await;
    scene.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b4_a_board_that_another_program_keeps_locked_holds_up_itself_alone() {
    let mut scene = Scene::new().await;
    scene.world.receiver.hold();
    let (row, event) = done(&scene.side, "sess-locked");
    scene.world.receiver.until_running(1).await;
    let mut lock = connect(scene.side.path());
    lock.batch_execute("BEGIN IMMEDIATE").unwrap();
    scene.world.receiver.release_all();
    for number in 0..5 {
        scene.others_go_on(&format!("sess-main-{number}")).await;
    }
    assert!(scene.side.cursor(&row) < event);
    lock.batch_execute("COMMIT").unwrap();
    let side = scene.side.clone();
    eventually("it is settled", || (side.cursor(&row) >= event).then_some(())).await;
    scene.asked.push((row, event));
    scene.tell("sess-after").await;
    scene.ends().await;
}
