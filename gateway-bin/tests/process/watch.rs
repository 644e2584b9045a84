//! `watch` where there is no terminal: a line for each change.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::{
    process::{Process, command, printed},
    support::{wait::soon, world::World},
};

#[tokio::test]
async fn each_change_of_the_board_and_each_delivery_is_a_line() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    let mut child = command(&world, &["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = soon("the first line", lines.next_line()).await.unwrap().unwrap();
    assert!(first.ends_with("default  ready 1"), "{first}");
    let mut run = Process::run(&world);
    world.cards.complete(&task, "done once");
    let (mut moved, mut told) = (false, false);
    while !(moved && told) {
        let line = soon("a line", lines.next_line()).await.unwrap().unwrap();
        moved |= line.ends_with("default  done 1");
        told |= line.ends_with(&format!("{task}  completed  to api_server sess-abc  delivered"));
    }
    run.terminate();
    run.ended().await;
    child.kill().await.unwrap();
}

#[tokio::test]
async fn it_ends_when_nobody_reads_and_says_what_is_wrong_with_a_name() {
    let world = World::new().await;
    world.cards.task("Build the report");
    let mut child = command(&world, &["watch", "--lines"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // The next line has no reader.
    world.cards.task("Build the next report");
    let ended = soon("its end", child.wait()).await.unwrap();
    assert!(ended.success());
    let printed = printed(&world, &["watch", "--board", "nope"], 5).await;
    assert!(printed.contains("board list"), "{printed}");
}
