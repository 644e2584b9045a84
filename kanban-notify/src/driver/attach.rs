//! The files of a message are looked at before its bytes are made; what hangs holds up nobody else.

use std::time::Duration;

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, Either, select},
};

use super::{Done, Ports, log};
use crate::{
    artifacts::{Artifacts, Takes, sort},
    record::Intent,
    text::files,
};

/// So long the files of one message may take; what was not looked at by then is not sent.
const LONGEST: Duration = Duration::from_secs(5);

/// Finds out what becomes of the files of an intent; one that wants none, or that was begun with bytes
/// of its own (law D5), is given back at once.
pub(super) fn attach(
    ports: &Ports,
    policy: Artifacts,
    mut intent: Intent,
) -> Result<Intent, BoxFuture<'static, Done>> {
    if intent.message.wanted.is_empty() || !intent.body.is_empty() {
        return Ok(intent);
    }
    let channel = ports.channels.get(intent.destination.channel());
    let takes = channel.map_or(Takes::NOTHING, |channel| channel.takes());
    if takes == Takes::NOTHING {
        intent.message.spans.extend(files::untaken(&intent.message.wanted));
        return Ok(intent);
    }
    let ports = ports.clone();
    let looked = async move {
        let wanted = intent.message.wanted.clone();
        let mut checks = ports.files.check(wanted.clone());
        let until = ports.clock.now().after(LONGEST);
        let mut end = ports.clock.sleep_until(until);
        let mut checked = Vec::new();
        while let Either::Left((Some(one), left)) = select(checks.next(), end).await {
            checked.push(one);
            end = left;
        }
        log::files(&intent, &wanted, &checked);
        let sorted = sort(&wanted, checked, &policy, takes);
        intent.message.spans.extend(files::spans(&sorted));
        intent.message.files = sorted.files;
        Done { intents: vec![intent], ..Done::default() }
    };
    Err(looked.boxed())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_executor::block_on;
    use futures_util::stream;

    use super::*;
    use crate::{
        artifacts::{Attachment, Refusal, Wanted},
        ids::ChannelName,
        message::{Destination, Message},
        ports::{
            Channel, Channels, Clock, MockBacklog, MockBoards, MockChannel, MockClaims, MockFiles,
            MockPlanner,
        },
        time::Timestamp,
    };

    struct One(Arc<dyn Channel>);

    impl Channels for One {
        fn get(&self, _: &ChannelName) -> Option<Arc<dyn Channel>> {
            Some(Arc::clone(&self.0))
        }
    }

    /// Every time is over at once.
    struct Over;

    #[async_trait::async_trait]
    impl Clock for Over {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }

        async fn sleep_until(&self, _: Timestamp) {}
    }

    fn ports(takes: Takes, files: MockFiles) -> Ports {
        let mut channel = MockChannel::new();
        channel.expect_takes().return_const(takes);
        Ports {
            boards: Arc::new(MockBoards::new()),
            planner: Arc::new(MockPlanner::new()),
            claims: Arc::new(MockClaims::new()),
            backlog: Arc::new(MockBacklog::new()),
            channels: Arc::new(One(Arc::new(channel))),
            files: Arc::new(files),
            clock: Arc::new(Over),
        }
    }

    fn intent(wanted: &[&str]) -> Intent {
        let listed = |path: &&str| Wanted { path: (*path).to_owned(), listed: true };
        let channel = ChannelName("x".to_owned());
        Intent {
            draft: 1,
            lane: String::new(),
            destination: Destination::Chat { channel, chat: "c".into(), thread: String::new() },
            legs: vec![],
            tallies: vec![],
            key: String::new(),
            reference: String::new(),
            message: Message { wanted: wanted.iter().map(listed).collect(), ..Message::default() },
            body: String::new(),
            at: Timestamp::default(),
        }
    }

    fn looked(ports: &Ports, intent: Intent) -> Message {
        let looking = attach(ports, Artifacts::default(), intent).expect_err("files are looked at");
        block_on(looking).intents.remove(0).message
    }

    #[test]
    fn a_message_without_files_and_one_that_was_begun_cost_nothing() {
        // Neither is asked for anything.
        let ports = ports(Takes::files(1), MockFiles::new());
        let begun = Intent { body: "pinned".to_owned(), ..intent(&["/a"]) };
        for intent in [intent(&[]), begun] {
            let same = attach(&ports, Artifacts::default(), intent.clone());
            assert_eq!(same.ok(), Some(intent));
        }
    }

    #[test]
    fn where_none_can_be_sent_their_names_are_told_and_nobody_looks() {
        let ports = ports(Takes::NOTHING, MockFiles::new());
        let told = attach(&ports, Artifacts::default(), intent(&["/a/b.pdf"])).ok();
        let message = told.map(|intent| intent.message).unwrap();
        assert_eq!(message.text(), "\nFiles, not sent here: b.pdf");
    }

    #[test]
    fn d4_what_hangs_is_left_out_and_said_so_and_what_was_looked_at_goes() {
        let mut files = MockFiles::new();
        files.expect_check().returning(|wanted| {
            let name = wanted[0].path.clone();
            let one = Attachment { path: name.clone(), name, size: 1, mark: String::new() };
            stream::iter([Ok(one), Err(Refusal::Missing)]).chain(stream::pending()).boxed()
        });
        let message = looked(&ports(Takes::files(1), files), intent(&["a", "/b", "/c"]));
        assert_eq!(message.files.len(), 1);
        let told = "\nAttached: a\nNot attached: b (not there), c (could not be looked at in time)";
        assert_eq!(message.text(), told);
    }
}
