//! One board, every platform of the list at once, a thousand completions.

mod platforms;
mod watch;

use std::{collections::BTreeMap, sync::Arc};

use gateway_adapters::{
    push::PLATFORMS,
    receiver::push::{MailServer, PushServer},
};
use kanban_store::{
    board::RowKey,
    write::{self, Completion, NewSubscription, NewTask},
};
use platforms::{ROWS, Row, Server};
use watch::{Place, Watch};

use crate::support::{cards::now, wait::eventually, world::World};

const COMPLETIONS: usize = 1_000;
/// The chat whose answers are slow: one for so many messages to others of its platform, which would never
/// come if they waited for it.
const SLOW: (&str, &str) = ("telegram", "1");
const EVERY: usize = 6;

/// A stand-in that runs.
enum Running {
    Http(PushServer),
    Mail(MailServer),
}

impl Running {
    /// How many letters it has taken, if it takes letters.
    fn letters(&self) -> usize {
        match self {
            Self::Http(_) => 0,
            Self::Mail(server) => server.seen().len(),
        }
    }
}

#[test]
fn every_platform_of_the_list_takes_part() {
    let met: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    let missing: Vec<&str> =
        PLATFORMS.iter().map(|of| of.name).filter(|name| !met.contains(name)).collect();
    assert!(missing.is_empty(), "no row in all_channels/platforms.rs: {missing:?}");
    let room: usize = ROWS.iter().map(|row| row.most).sum();
    assert!(room >= COMPLETIONS, "there is room for {room} messages only");
}

/// Which chat each completion is for: all in turn, and none more than its platform has room for.
fn dealt() -> Vec<Place> {
    let mut left: Vec<usize> = ROWS.iter().map(|row| row.most).collect();
    let mut dealt = Vec::new();
    for round in 0.. {
        for (row, left) in ROWS.iter().zip(&mut left).filter(|(_, left)| **left > 0) {
            if dealt.len() == COMPLETIONS {
                return dealt;
            }
            *left -= 1;
            dealt.push((row.name, row.chats[round % row.chats.len()].to_owned()));
        }
    }
    dealt
}

async fn start(world: &mut World, row: &'static Row, watch: &Arc<Watch>) -> Running {
    let (running, url, port) = match row.server {
        Server::Http(platform) => {
            let server = PushServer::start(watch.over(row, platform())).await.unwrap();
            let url = server.url();
            (Running::Http(server), url, String::new())
        }
        Server::Mail => {
            let server = MailServer::start("kanban@example.org", "FAKE-password").await.unwrap();
            let port = server.port().to_string();
            (Running::Mail(server), String::new(), port)
        }
    };
    for (key, value) in row.settings {
        let value = value.replace("{url}", &url).replace("{port}", &port);
        world.set(&format!("{}.{key}", row.name), &value);
    }
    running
}

/// What each chat was told, by the numbers in the titles.
fn told(watch: &Watch, servers: &[Running]) -> BTreeMap<Place, Vec<usize>> {
    let mut texts = watch.texts();
    for server in servers {
        if let Running::Mail(server) = server {
            for letter in server.seen() {
                let place = ("email", letter.message.chat);
                texts.entry(place).or_default().push(letter.message.text);
            }
        }
    }
    let number = |text: &String| {
        assert!(text.contains("was completed.") && !text.contains("repeat"), "{text}");
        text["Report ".len()..][..4].parse().unwrap()
    };
    texts.into_iter().map(|(place, texts)| (place, texts.iter().map(number).collect())).collect()
}

/// Each completion's task and row.
fn written(world: &World, dealt: &[Place]) -> Vec<(String, RowKey)> {
    let mut board = world.cards.open();
    let task = |number| NewTask {
        title: format!("Report {number:04} <b> @all *x*"),
        assignee: Some("writer".to_owned()),
        ..NewTask::default()
    };
    let mut written = Vec::new();
    for (number, (platform, chat)) in dealt.iter().enumerate() {
        let task = write::create_task(&mut board, &task(number), now()).unwrap();
        let (platform, chat) = ((*platform).to_owned(), chat.clone());
        let key = RowKey { task: task.clone(), platform, chat, thread: String::new() };
        let new = NewSubscription { key: key.clone(), user: None, owner: None, mode: None };
        assert!(write::subscribe(&mut board, &new, now()).unwrap());
        written.push((task, key));
    }
    written
}

/// Completes all of them in their order, and answers where each row's cursor must come to.
fn completed(world: &World, written: Vec<(String, RowKey)>) -> Vec<(RowKey, i64)> {
    let mut board = world.cards.open();
    let done = Completion { result: None, summary: Some("14 pages".to_owned()) };
    let complete = |(task, key): (String, RowKey)| {
        (key, write::complete(&mut board, &task, &done, now()).unwrap())
    };
    written.into_iter().map(complete).collect()
}

#[tokio::test]
async fn d4_d5_a_thousand_completions_each_once_in_order_per_chat_within_limits_and_nobody_waits() {
    let mut world = World::new().await;
    let dealt = dealt();
    let is_other = |(name, chat): &&Place| *name == SLOW.0 && chat != SLOW.1;
    let others = dealt.iter().filter(is_other).count();
    let watch = Watch::new((SLOW.0, SLOW.1.to_owned()), EVERY, others);
    let mut servers = Vec::new();
    for row in ROWS {
        let server = start(&mut world, row, &watch).await;
        if let (Running::Http(server), true) = (&server, row.name == SLOW.0) {
            server.slow(SLOW.1, &watch.gate);
        }
        servers.push(server);
    }
    let written = written(&world, &dealt);
    let running = world.start();
    let cursors = completed(&world, written);
    for hundreds in 1..=COMPLETIONS / 100 {
        eventually(&format!("{hundreds} hundred messages"), || {
            assert_eq!(watch.refused(), Vec::<String>::new());
            let letters = servers.iter().map(Running::letters).sum::<usize>();
            (watch.count() + letters >= hundreds * 100).then_some(())
        })
        .await;
    }
    world.legs("delivered", i64::try_from(COMPLETIONS).unwrap()).await;
    eventually("every cursor is at its event", || {
        let rows: BTreeMap<RowKey, i64> =
            world.cards.rows().into_iter().map(|row| (row.key, row.cursor)).collect();
        cursors.iter().all(|(key, event)| rows[key] >= *event).then_some(())
    })
    .await;
    running.stop().await.unwrap();
    let mut wanted = BTreeMap::<Place, Vec<usize>>::new();
    for (number, place) in dealt.into_iter().enumerate() {
        wanted.entry(place).or_default().push(number);
    }
    assert_eq!(told(&watch, &servers), wanted);
}
