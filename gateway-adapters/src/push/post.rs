//! A channel over a platform that takes each part by one request: prepared, paced, sent once, judged.

use std::sync::Arc;

use ::http::Request;
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Receipt, Verdict},
};
use serde_json::Value;

use super::{
    call::{Answer, Caller},
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_each},
    split::Format,
};

/// A platform that takes each part by one request, and what its answers mean.
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
        let next = next(parcel)?;
        let request = self.0.request(&next)?;
        let (to, cap) = self.0.cap(&next);
        pace.wait(to, cap).await?;
        let answer = caller.call(request).await.map_err(|verdict| self.0.unanswered(verdict))?;
        let verdict = self.0.judge(&next, &answer);
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
    fn encode(&self, _: &Destination, message: &Message) -> String {
        let data = self.0.data(message);
        pin_each(message, &self.0.line().format, data, |number, spans| self.0.part(number, spans))
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
