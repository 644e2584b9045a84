#![doc = include_str!("../README.md")]

pub mod artifacts;
pub mod backoff;
pub mod driver;
pub mod engine;
pub mod error;
pub mod event;
pub mod facts;
pub mod history;
pub mod ids;
pub mod key;
pub mod leg;
pub mod message;
pub mod ownership;
mod payload;
pub mod plan;
pub mod policy;
pub mod ports;
pub mod record;
pub mod session;
pub mod subscription;
pub mod text;
pub mod time;
pub mod verdict;
