//! What one fault case is: what is injected where, the verdict on it, and what becomes of the delivery.

use std::time::Duration;

use gateway_adapters::receiver::RawAct;

/// One way in which a request can end.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, once in the table.
    pub name: &'static str,
    /// What is injected, for people.
    pub injected: String,
    pub place: Place,
    /// What the connection plays.
    pub acts: Vec<RawAct>,
    /// Whether only a time-out ends it.
    pub silent: bool,
    /// `Verdict::name`, or what a look ends in.
    pub verdict: &'static str,
    pub outcome: Outcome,
    /// The laws and the rows of field reports.
    pub cites: &'static str,
}

/// Which request meets the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// All of them: nobody listens.
    Nobody,
    /// All of them: the host has no address.
    NoName,
    /// All of them: the TLS handshake.
    Tls,
    /// The wake.
    Wake,
    /// The wake when it goes again, after a first request that was cut off and ran nothing.
    Second,
    /// The look for a wake that ran and whose answer was cut off.
    Look,
    /// The probe of a key that was refused.
    Probe,
}

/// What becomes of the delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered by the answer.
    Told,
    /// Found out by a look: the same bytes and key again where nothing ran, else not sent again.
    FoundOut,
    /// Sent again, no sooner than that.
    Again(Duration),
    /// Waits for as long as a hint may ask.
    AnHour,
    /// A new turn under a new key.
    NewTurn,
    /// A dead letter with its reason.
    Parked,
    /// The channel rests, and nothing is given up; delivered once the key is right.
    KeyRests,
    /// The channel rests, and nothing leaves; delivered once somebody is there.
    Waits,
    /// Not sent again: a later look finds it.
    LookedAgain,
    /// A look whose key is refused rests the channel; it is made again once the key is taken.
    LookRests,
    /// Sent once more, marked as a possible repeat.
    Marked,
    /// The same bytes and key again: the server joins them to the turn that ran.
    Joined,
    /// Probed again later; the delivery is kept.
    ProbedAgain,
}

impl Outcome {
    /// In words, for the list.
    pub fn words(self) -> String {
        let words = match self {
            Self::Told => "delivered, once",
            Self::FoundOut => {
                "nothing ran: same bytes and key again; it ran: found in the session, not sent again"
            }
            Self::Again(Duration::ZERO) => "sent again after a back-off, delivered once",
            Self::Again(least) => {
                return format!("sent again no sooner than {least:?} later, delivered once");
            }
            Self::AnHour => "kept; not sent again before the longest hint, an hour",
            Self::NewTurn => "another turn under a new key, delivered once",
            Self::Parked => "a dead letter with its reason; not sent again",
            Self::KeyRests => "the channel rests, kept; delivered once when the key is taken",
            Self::Waits => "the channel rests, nothing leaves; delivered once when it answers",
            Self::LookRests => "the channel rests; looked again once the key is taken, and found",
            Self::LookedAgain => "looked again and found; not sent again",
            Self::Marked => "sent once more, marked as a possible repeat",
            Self::Joined => "same bytes and key again, joined by the server: one turn",
            Self::ProbedAgain => "kept, not sent; probed again later",
        };
        words.to_owned()
    }
}

/// Parts of the answers, and the secrets in them.
pub mod parts {
    /// The key of every server of the walks.
    pub const KEY: &str = "walk-key-5f1c7a90b2d34e68";
    const PASSWORD: &str = "pw-83b1e0";
    const TOKEN: &str = "tok-61fa97";
    const BEARER: &str = "bearer-09d7c4e1";
    const BASIC: &str = "YmFzaWM6czNjcmV0";

    /// What no log, error, ledger or output may show.
    pub const SECRETS: [&str; 5] = [KEY, PASSWORD, TOKEN, BEARER, BASIC];

    /// An address with credentials in it, as nobody should configure it.
    pub fn address() -> String {
        format!("http://walker:{PASSWORD}@h.example/hook?token={TOKEN}")
    }

    /// An error that repeats every secret it has seen.
    pub fn error(code: &str) -> String {
        let words = format!("refused {KEY} at {} with Bearer {BEARER} or Basic {BASIC}", address());
        serde_json::json!({"error": {"message": words, "code": code}}).to_string()
    }

    /// A completion with these members in its choice.
    pub fn choice(members: &str) -> String {
        format!(r#"{{"id":"c1","choices":[{{"index":0,{members}}}]}}"#)
    }

    /// A completion with this JSON as its content.
    pub fn content(json: &str) -> String {
        choice(&format!(r#""message":{{"role":"assistant","content":{json}}}"#))
    }

    /// A completion with an answer.
    pub fn noted() -> String {
        content(r#""Noted.""#)
    }

    /// A completion with an answer, `finish_reason: error`, and these members of `hermes`.
    pub fn hermes(members: &str) -> String {
        let ended = r#""message":{"content":"Noted."},"finish_reason":"error""#;
        let open = choice(ended);
        format!("{},\"hermes\":{{{members}}}}}", open.strip_suffix('}').unwrap())
    }
}
