//! Status or transport fault to verdict: the table that every HTTP channel starts from (laws D7, D8, W7).

use std::time::Duration;

use ::http::StatusCode;
use kanban_notify::verdict::{Detail, Fault, Verdict};

/// Why there is no answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Certainly no byte of the request left: refused, no route, DNS, TLS handshake, connect time-out.
    NotSent(Detail),
    /// Nothing was sent: the address is one that must not be dialled.
    NotAllowed(Detail),
    /// Bytes may have left: reset, cut, time-out after connecting.
    MaybeSent(Detail),
}

impl NoAnswer {
    /// The text for people.
    pub fn detail(&self) -> &Detail {
        match self {
            Self::NotSent(detail) | Self::NotAllowed(detail) | Self::MaybeSent(detail) => detail,
        }
    }
}

impl From<NoAnswer> for Verdict {
    fn from(no_answer: NoAnswer) -> Self {
        match no_answer {
            NoAnswer::NotSent(detail) => Self::Unreachable { detail },
            NoAnswer::NotAllowed(detail) => Self::Permanent { fault: Fault::Target, detail },
            NoAnswer::MaybeSent(detail) => Self::Unknown { detail },
        }
    }
}

/// What a status says before anything else of the answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusClass {
    /// 2xx: accepted, unless the body says otherwise.
    Success,
    /// 401, 403.
    Credential,
    /// 400, 413, 414, 415, 422, 431: the content is refused.
    Payload,
    /// 409, 429, 503: there, and no room now.
    Busy,
    /// 500, redirects (never followed) and every other 4xx, 404 too: refused for now.
    Refused,
    /// 502, 504, every other 5xx and what is no status of a final answer: it may have taken effect.
    Unclear,
}

/// The class of a status.
pub fn class_of(status: StatusCode) -> StatusClass {
    match status.as_u16() {
        200..=299 => StatusClass::Success,
        401 | 403 => StatusClass::Credential,
        400 | 413 | 414 | 415 | 422 | 431 => StatusClass::Payload,
        409 | 429 | 503 => StatusClass::Busy,
        300..=500 => StatusClass::Refused,
        _ => StatusClass::Unclear,
    }
}

/// The verdict of a status alone; `None` for 2xx, where the body decides.
pub fn refusal(
    status: StatusCode,
    retry_after: Option<Duration>,
    detail: Detail,
) -> Option<Verdict> {
    Some(match class_of(status) {
        StatusClass::Success => return None,
        StatusClass::Credential => Verdict::Permanent { fault: Fault::Credential, detail },
        StatusClass::Payload => Verdict::Permanent { fault: Fault::Payload, detail },
        StatusClass::Busy => Verdict::Busy { retry_after, detail },
        StatusClass::Refused => Verdict::Retryable { retry_after, detail },
        StatusClass::Unclear => Verdict::Unknown { detail },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w7_every_status_has_its_class() {
        for code in 100..1000_u16 {
            let expected = match code {
                200..=299 => "none",
                401 | 403 => "credential",
                400 | 413 | 414 | 415 | 422 | 431 => "payload",
                409 | 429 | 503 => "busy",
                500 => "retryable",
                300..=499 => "retryable",
                _ => "unknown",
            };
            let status = StatusCode::from_u16(code).unwrap();
            let verdict = refusal(status, None, Detail::default());
            assert_eq!(verdict.as_ref().map_or("none", Verdict::name), expected, "{code}");
        }
    }

    #[test]
    fn d8_a_hint_goes_with_busy_and_retryable_only() {
        let hint = Some(Duration::from_secs(3));
        for (code, kept) in [(429, true), (503, true), (500, true), (401, false)] {
            let status = StatusCode::from_u16(code).unwrap();
            let has = match refusal(status, hint, Detail::default()) {
                Some(
                    Verdict::Busy { retry_after, .. } | Verdict::Retryable { retry_after, .. },
                ) => retry_after == hint,
                _ => false,
            };
            assert_eq!(has, kept, "{code}");
        }
    }
}
