//! The adapters' list of push platforms as plain data: what can be set for each, and under which names.

pub use gateway_adapters::push::{Field, FieldKind, PLATFORMS, Platform, Settings};
