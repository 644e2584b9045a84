//! kill -9 between and within the parts of a message: no part that was accepted is sent again (law D5).

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, telegram};
use serde_json::json;

use crate::{
    process::{Process, printed},
    support::{
        wait::{eventually, soon},
        world::World,
    },
};

const TOKEN: &str = "123456:FAKE-token_for_tests";
const WORDS: usize = 60;

fn words() -> Vec<String> {
    (0..WORDS).map(|number| format!("w{number}")).collect()
}

/// How often each word was seen.
fn counts(platform: &PushServer) -> Vec<usize> {
    let seen = platform.seen();
    let count = |word: &String| {
        let texts = seen.iter().flat_map(|message| message.text.split_whitespace());
        texts.filter(|one| one == word).count()
    };
    words().iter().map(count).collect()
}

async fn world(platform: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("telegram.token", TOKEN);
    world.set("telegram.url", &platform.url());
    world.set("telegram.max_length", "150");
    world
}

fn limited() -> PushAct {
    let body = json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 1}});
    PushAct::Answer(PushAnswer::new(429, body.to_string()))
}

/// What becomes of the part at which the program is killed, and how often its words are then seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d5_report_74_a_kill_at_a_later_part_repeats_no_earlier_one() {
    for (act, most) in [(PushAct::Hang, 2), (limited(), 1)] {
        for part in [1, 2] {
            let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
            let world = world(&platform).await;
            let honest = std::iter::repeat_n(PushAct::Honest, part);
            platform.play(honest.chain([act.clone()]));
            let task = world.cards.task("Build the report");
            let row = world.cards.subscribe(&task, "telegram", "1");
            let killed = Process::run(&world);
            let event = world.cards.complete(&task, &words().join(" "));
            for _ in 0..=part {
                soon("a part", platform.next()).await.unwrap();
            }
            if most == 1 {
                world.legs("retrying", 1).await;
            }
            killed.kill().await;
            let accepted = platform.seen().len();
            let mut last = Process::run(&world);
            world.settled(&row, event).await;
            last.terminate();
            assert!(last.ended().await.success(), "{}", last.log());

            let counts = counts(&platform);
            assert!(
                counts.iter().all(|count| (1..=most).contains(count)),
                "{act:?} {part}: {counts:?}"
            );
            let seen = platform.seen();
            let marked = seen.iter().filter(|message| message.text.contains("may be a repeat"));
            assert_eq!(marked.count(), most - 1, "{act:?} {part}: {seen:?}");
            // What hung was seen by people; what was limited was not.
            assert_eq!(accepted, part + most - 1);
            let once = counts.iter().take_while(|count| **count == 1).count();
            assert!(once > 0, "the first part is never repeated: {counts:?}");
            eventually("nothing is open", || {
                let counts = world.operator().counts().unwrap();
                (counts.legs.get("delivered") == Some(&1)).then_some(())
            })
            .await;
        }
    }
}

/// Seen by people, and not known to us: once more in all, whatever kills and restarts follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d7_report_87_a_kill_before_the_outcome_is_one_repeat_in_all_and_not_one_for_each_restart()
{
    for kills in [1, 2] {
        let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
        let world = world(&platform).await;
        platform.play(std::iter::repeat_n(PushAct::Hang, kills));
        let task = world.cards.task("Build the report");
        let row = world.cards.subscribe(&task, "telegram", "1");
        let event = world.cards.complete(&task, "14 pages");
        for _ in 0..kills {
            let killed = Process::run(&world);
            soon("the message", platform.next()).await.unwrap();
            killed.kill().await;
        }
        let mut next = Process::run(&world);
        world.settled(&row, event).await;
        next.terminate();
        assert!(next.ended().await.success(), "{}", next.log());
        for _ in 0..2 {
            printed(&world, &["once"], 0).await;
        }
        let marked = platform.seen().into_iter().map(|seen| seen.text.contains("may be a repeat"));
        assert_eq!(marked.collect::<Vec<_>>(), [false, true], "{kills}");
        let state = if kills == 1 { "delivered" } else { "parked" };
        let legs = world.operator().counts().unwrap().legs;
        assert_eq!(legs.get(state), Some(&1), "{legs:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d5_report_74_a_kill_at_a_file_repeats_neither_the_text_nor_a_file_before_it() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    platform.play([PushAct::Honest, PushAct::Honest, PushAct::Honest, PushAct::Hang]);
    let files = ["a.txt", "b.txt"].map(|name| {
        let path = world.folder().join(name);
        std::fs::write(&path, name).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "1");
    let killed = Process::run(&world);
    let event = world.cards.complete_with(&task, &"word ".repeat(20), &files);
    for _ in 0..4 {
        soon("a part", platform.next()).await.unwrap();
    }
    killed.kill().await;
    let mut last = Process::run(&world);
    world.settled(&row, event).await;
    last.terminate();
    assert!(last.ended().await.success(), "{}", last.log());

    let seen = platform.seen();
    let files: Vec<Vec<&str>> = seen
        .iter()
        .map(|message| message.files.iter().map(|(name, _)| name.as_str()).collect())
        .collect();
    assert_eq!(files, [&[][..], &[], &["a.txt"], &["b.txt"], &["b.txt"]]);
    let marked = seen.iter().map(|message| message.text.contains("may be a repeat"));
    assert_eq!(marked.collect::<Vec<_>>(), [false, false, false, false, true], "{seen:?}");
}
