//! A channel over a platform that takes each part by one request: prepared, paced, sent once, judged.

use std::sync::Arc;

use ::http::Request;
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Fault, Receipt, Verdict},
};
use serde_json::Value;

use super::{
    attach::{Groups, carry},
    call::{Answer, Caller, Lost},
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files, unfit},
    split::Format,
};
use crate::files::OpenFile;

/// A platform that takes each part by one request, and what its answers mean.
#[async_trait]
pub trait Post: Send + Sync {
    /// What it sends with.
    fn line(&self) -> &Line;

    /// One part of a message, with its number from 0: its text as [`Format`] writes it.
    fn part(&self, _number: usize, spans: &[Span]) -> Part {
        Part { text: self.line().format.written(spans), rich: None }
    }

    /// What belongs to a message besides its text; each part has it.
    fn data(&self, _message: &Message) -> Value {
        Value::Null
    }

    /// What a part counts to besides the token, and how fast that may go.
    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap);

    /// The request for a part.
    ///
    /// # Errors
    ///
    /// The verdict, where there is none to be made.
    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict>;

    /// The verdict of the answer to a part. Where it is busy, nothing goes there meanwhile.
    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict;

    /// What it takes besides text.
    fn takes(&self) -> Takes {
        Takes::NOTHING
    }

    /// Whether a chat has threads; one that a subscription names is refused where it has none.
    fn has_threads(&self) -> bool {
        true
    }

    /// How the files of a message are divided into parts.
    fn groups(&self) -> Groups {
        Groups::ALONE
    }

    /// Sends the files of a part, with a caption that may be empty; asked only where it [takes](Post::takes) any.
    async fn upload(
        &self,
        _next: &Next<'_>,
        _files: Vec<OpenFile>,
        _caption: String,
    ) -> Result<Verdict, Lost> {
        Err(Lost::Changed)
    }

    /// What it means that there is no answer.
    fn unanswered(&self, verdict: Verdict) -> Verdict {
        verdict
    }

    /// A request that checks the credential and sends nothing.
    ///
    /// # Errors
    ///
    /// The verdict, where there is none to be made.
    fn probe(&self) -> Result<Request<Bytes>, Verdict>;

    /// What the answer to a probe means.
    ///
    /// # Errors
    ///
    /// The verdict, where it does not say that we are known.
    fn probed(&self, answer: &Answer) -> Result<(), Verdict>;
}

/// What such a platform sends with.
pub struct Line {
    /// The name of the channel.
    pub name: ChannelName,
    /// How messages are measured and written.
    pub format: Format,
    /// What sends.
    pub caller: Caller,
    /// How fast.
    pub pace: Pace,
}

/// The channel of a platform.
pub fn channel(platform: impl Post + 'static) -> Arc<dyn Channel> {
    Arc::new(Posting(platform))
}

struct Posting<P>(P);

impl<P: Post> Posting<P> {
    async fn sent(&self, parcel: &Parcel) -> Result<Verdict, Verdict> {
        let Line { caller, pace, .. } = self.0.line();
        let mut next = next(parcel)?;
        if !next.thread.is_empty() && !self.0.has_threads() {
            return Err(unfit(Fault::Thread, "this platform has no threads"));
        }
        let now = next.clone();
        let (to, cap) = self.0.cap(&now);
        let write = |spans: &[Span]| self.0.part(1, spans);
        let upload = |files, caption| async {
            pace.wait(to, cap).await?;
            self.0.upload(&now, files, caption).await
        };
        let verdict = match carry(parcel, &mut next, write, upload).await {
            Some(verdict) => verdict,
            None => {
                let request = self.0.request(&next)?;
                pace.wait(to, cap).await?;
                let answer = caller.call(request).await;
                self.0.judge(&next, &answer.map_err(|verdict| self.0.unanswered(verdict))?)
            }
        };
        if let Verdict::Busy { retry_after: Some(wait), .. } = &verdict {
            pace.hold(to, *wait, cap);
        }
        Ok(verdict)
    }

    async fn tested(&self) -> Result<Verdict, Verdict> {
        let answer = self.0.line().caller.call(self.0.probe()?).await?;
        self.0.probed(&answer)?;
        Ok(Verdict::Delivered(Receipt::default()))
    }
}

#[async_trait]
impl<P: Post> Channel for Posting<P> {
    fn takes(&self) -> Takes {
        self.0.takes()
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let data = self.0.data(message);
        let part = |number, spans: &[Span]| self.0.part(number, spans);
        let files = self.0.groups().of(&message.files);
        pin_files(message, &self.0.line().format, data, part, files)
    }

    #[tracing::instrument(level = "debug", name = "push.send", skip_all, fields(channel = %self.0.line().name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        self.sent(parcel).await.unwrap_or_else(|verdict| verdict)
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        self.tested().await.unwrap_or_else(|verdict| verdict)
    }
}
