//! `doctor`: everything that a delivery depends on, with what to do, and without a message.

use std::time::{Duration, Instant, SystemTime};

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, ntfy, telegram};

use crate::{
    process::{Process, printed},
    support::world::World,
};

const TOKEN: &str = "123456:FAKE-token_for_tests";

async fn world(platform: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    world.set("telegram.token", TOKEN);
    world.set("telegram.url", &platform.url());
    world
}

fn holds(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.contains(line), "{line:?} is missing in:\n{said}");
    }
    assert!(!said.contains("FAKE"), "{said}");
}

#[tokio::test]
async fn where_all_is_well_each_line_is_ok_and_no_message_is_sent() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let mut world = world(&platform).await;
    world.set("signed_webhook.targets", "ops=https://hooks.example.org/x");
    world.set("signed_webhook.secret", "FAKE-secret-of-twenty-four-and-more");
    let mut run = Process::run(&world);
    run.says("ready").await;
    let said = printed(&world, &["doctor"], 0).await;
    let url = world.receiver.url();
    holds(
        &said,
        &[
            "ok    configuration: `run` can start with it",
            "ok    clock: it is 20",
            "ok    board default: can be read and written, 0 subscriptions, as Hermes 0.19 and earlier",
            "ok    watching: changes of 1 folder are heard at once",
            "ok    hermes: alone: no Hermes gateway is alive",
            "ok    rows telegram: every row is ours; sent by telegram",
            &format!("ok    process: process {} since ", run.id()),
            &format!("ok    channel api_server/default: {url}: answers and takes the credential"),
            "ok    channel telegram: answers and takes the credential",
            "ok    channel console: prints to the standard output of `run`",
            "ok    channel signed_webhook: set up; it cannot be asked without a message",
            "ok, 0 to look at, 0 that fail",
        ],
    );
    assert!(
        said.contains(&format!("ok    ledger {}: can be used, with ", world.ledger().display())),
        "{said}"
    );
    assert!(platform.seen().is_empty() && world.receiver.wakes().is_empty());
}

#[tokio::test]
async fn what_fails_is_named_with_what_to_do() {
    let platform = PushServer::start(telegram("another:FAKE-token")).await.unwrap();
    let mut world = world(&platform).await;
    world.set("email.host", "smtp.example.org");
    world.set("slack.max_length", "100");
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    let (url, key) = (world.receiver.url(), "wrong-key-0123456789");
    world.server("work", &url, key);
    let task = world.cards.task("Build the report");
    world.cards.subscribe_as(&task, "carrier", "x", Some("kanban-gateway"));
    let said = printed(&world, &["doctor"], 4).await;
    holds(
        &said,
        &[
            "fail  configuration: `run` cannot start with it: 1 of the channels below",
            "warn  process: no process delivers\n      -> start `kanban-gateway run`",
            "fail  channel api_server/default: http://127.0.0.1:9: unreachable: ",
            "fail  channel api_server/work: ",
            "the credential is refused: the key of `api_server` for profile work",
            "fail  channel telegram: the credential is refused: the credential of `telegram.token` in",
            "-> put the right one there",
            "fail  channel email: KANBAN_GATEWAY_EMAIL__HOST: `email.address` is not set\n      -> mend it",
            "warn  channel slack: KANBAN_GATEWAY_SLACK__MAX_LENGTH: what is set for `slack` has no effect",
            "warn  deliveries: board default: 1 row of carrier served by nobody: no channel is configured for this platform: this build has no platform",
        ],
    );
    assert!(!said.contains(key), "{said}");
    let asked = platform.requests().len();
    let offline = printed(&world, &["doctor", "--offline"], 4).await;
    holds(&offline, &["ok    channel telegram: set up; not asked", "fail  channel email: "]);
    assert_eq!(platform.requests().len(), asked, "nobody is asked");
}

#[tokio::test]
async fn a_place_that_will_not_do_is_named() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    let board = std::fs::File::options().append(true).open(world.cards.path()).unwrap();
    board.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    let said = printed(&world, &["doctor", "--offline"], 4).await;
    holds(&said, &["warn  clock: it is 20", "-> set the clock of this machine", "not there yet"]);
    // A file where the folder is to be.
    let folder = world.ledger().parent().unwrap().to_owned();
    std::fs::write(&folder, "").unwrap();
    let said = printed(&world, &["doctor", "--offline"], 4).await;
    holds(
        &said,
        &["fail  ledger ", "its folder cannot be written: ", "-> make the folder writable"],
    );
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(world.ledger(), [7_u8; 9_000]).unwrap();
    let said = printed(&world, &["doctor", "--offline"], 4).await;
    holds(&said, &["fail  ledger ", "-> see the reason"]);
    assert_eq!(std::fs::read(world.ledger()).unwrap(), [7_u8; 9_000], "nothing is mended unasked");
}

#[tokio::test]
async fn channels_are_asked_at_the_same_time_and_each_has_its_limit() {
    let first = PushServer::start(telegram(TOKEN)).await.unwrap();
    let second = PushServer::start(ntfy("Bearer FAKE-token")).await.unwrap();
    let mut world = world(&first).await;
    world.set("ntfy.token", "FAKE-token");
    world.set("ntfy.url", &second.url());
    first.play([PushAct::Hang]);
    second.play([PushAct::Hang]);
    let began = Instant::now();
    let said = printed(&world, &["doctor"], 4).await;
    holds(
        &said,
        &[
            "fail  channel telegram: no answer within 10s\n      -> see whether the server runs",
            "fail  channel ntfy: no answer within 10s",
            "ok    channel api_server/default: ",
        ],
    );
    assert!(began.elapsed() < Duration::from_secs(19), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_is_asked_without_a_message_is_sought_in_no_chat() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    platform.play([PushAct::Answer(PushAnswer::new(200, "<html>a login page</html>"))]);
    let said = printed(&world, &["doctor"], 4).await;
    holds(
        &said,
        &[
            "fail  channel telegram: unknown: 200",
            "-> see whether the address is the platform's own",
        ],
    );
    assert!(!said.contains("it may be there"), "{said}");
}

#[tokio::test]
async fn each_step_fits_what_was_found() {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let world = world(&platform).await;
    std::fs::write(world.hermes().join(".env"), "NTFY_SERVER_URL=nonsense://x\n").unwrap();
    std::fs::write(world.board("ops").path(), [7_u8; 9_000]).unwrap();
    let status = printed(&world, &["status"], 4).await;
    assert!(status.contains("no row needs it, so nothing is missed"), "{status}");
    let (task, _) = world.cards.asked("Wake nobody", "..");
    world.cards.complete(&task, "no such session");
    printed(&world, &["once"], 3).await;
    let said = printed(&world, &["doctor", "--offline"], 4).await;
    holds(
        &said,
        &[
            "warn  deliveries: 1 dead letter (1 parked, 0 expired)\n      -> see `kanban-gateway dead list`",
            "-> set or mend what it names, or take the rest out",
            "-> do as it says; nothing is delivered from it until then",
        ],
    );
}
