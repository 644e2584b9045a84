#![doc = include_str!("../README.md")]

#[cfg(feature = "api_server")]
pub mod api_server;
#[cfg(feature = "console")]
pub mod console;
pub mod error;
#[cfg(feature = "push")]
pub mod files;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "push")]
pub mod push;
#[cfg(feature = "test-support")]
pub mod receiver;
#[cfg(feature = "template")]
pub mod template;

pub use error::AdapterError;
