#![doc = include_str!("../README.md")]

pub mod error;
pub mod event;
pub mod history;
pub mod ids;
pub mod leg;
pub mod message;
pub mod policy;
pub mod ports;
pub mod record;
pub mod subscription;
pub mod time;
pub mod verdict;
