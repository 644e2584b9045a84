//! Board files of each generation, made by that release itself: read, served, written and given back
//! (laws B1, B2, O2).

mod main_branch;
mod read;
mod served;
mod upgraded;
mod written;

use std::path::Path;

use gateway_adapters::receiver::ReceiverConfig;
use serde_json::Value;

use crate::support::cards::assert_sound;
use crate::support::hermes::{Commands, Release};
use crate::support::world::World;

/// Who made a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// A release from PyPI; it reads and writes the file afterwards too.
    Release(&'static str),
    /// The main branch after 0.19.0, which is no release yet: the file is made by our own SQL, and
    /// 0.19.0 reads and writes it.
    Main,
}

/// A world whose board somebody else made.
struct Scene {
    world: World,
    maker: Maker,
    release: Release,
    schema: String,
}

impl Scene {
    /// `None` where the release is not installed.
    #[track_caller]
    fn of(maker: Maker) -> impl Future<Output = Option<Self>> {
        let release = Release::require(match maker {
            Maker::Release(version) => version,
            Maker::Main => "0.19.0",
        });
        async move {
            let release = release?;
            let make = |path: &Path| match maker {
                Maker::Release(_) => {
                    process(&release, path.parent().unwrap()).run(&["init"]).success();
                }
                Maker::Main => main_branch::make(path),
            };
            let world = World::on(ReceiverConfig::default(), make).await;
            let schema = world.cards.schema();
            Some(Self { world, maker, release, schema })
        }
    }

    /// A process of the release that has not seen the board yet, so that it checks and migrates it.
    fn hermes(&self) -> Commands {
        process(&self.release, &self.world.hermes())
    }

    fn is_main(&self) -> bool {
        self.maker == Maker::Main
    }

    /// The row as the maker writes it.
    fn subscribe(&self, hermes: &mut Commands, task: &str, session: &str) {
        if self.is_main() {
            self.world.cards.sql(&main_branch::subscription(task, session));
        } else {
            let to = ["--platform", "api_server", "--chat-id", session];
            hermes.run(&[&["notify-subscribe", task], &to[..]].concat()).success();
        }
    }

    /// No DDL was written, by anybody, and the file is whole (law B1).
    #[track_caller]
    fn assert_schema_unchanged(&self) {
        assert_eq!(self.world.cards.schema(), self.schema);
        assert_sound(self.world.cards.path());
    }
}

fn process(release: &Release, home: &Path) -> Commands {
    release.process(&[("HERMES_HOME", home), ("HOME", home.parent().unwrap())])
}

/// The event of a kind in what `show --json` says.
#[track_caller]
fn event<'a>(show: &'a Value, kind: &str) -> &'a Value {
    let events = show["events"].as_array().expect("events");
    events.iter().find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {show}"))
}

macro_rules! generation {
    ($name:ident, $maker:expr) => {
        mod $name {
            use super::Maker;

            #[tokio::test(flavor = "multi_thread")]
            async fn b2_is_opened_and_read() {
                super::read::what_hermes_lists_is_what_we_read($maker).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn o2_is_served_and_woken_once() {
                super::served::a_session_is_woken_once($maker).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn b1_is_written_by_us_and_then_by_its_maker() {
                super::written::our_writes_are_its_own($maker).await;
            }
        }
    };
}

generation!(v0_13_0, Maker::Release("0.13.0"));
generation!(v0_15_2, Maker::Release("0.15.2"));
generation!(v0_17_0, Maker::Release("0.17.0"));
generation!(v0_18_2, Maker::Release("0.18.2"));
generation!(v0_19_0, Maker::Release("0.19.0"));
generation!(after_0_19, Maker::Main);
