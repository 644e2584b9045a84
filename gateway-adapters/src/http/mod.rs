//! The shared HTTP side: one client, its limits, and what it says when things go wrong.

pub mod base;
pub mod client;
pub mod guard;
mod proxy;
pub mod redact;
pub mod retry_after;
pub mod verdict;

pub use client::{BodyEnd, HttpClient, HttpClientConfig, Limits, Reply, Response, Streamed};
pub use guard::{Guard, NOT_PUBLIC};
pub use proxy::{PROXY, PROXY_LOGIN, Proxies};
pub use redact::Redactor;
pub use retry_after::retry_after;
pub use verdict::{NoAnswer, StatusClass, class_of, refusal};
