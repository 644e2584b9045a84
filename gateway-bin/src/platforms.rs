//! The adapters' list of push platforms as plain data: what can be set for each, and under which names.

pub use gateway_adapters::push::{Field, FieldKind, MAX_LENGTH, PLATFORMS, Platform, Settings};

/// The names of all platforms that this build has a channel for.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["api_server", "console"].into_iter().chain(PLATFORMS.iter().map(|platform| platform.name))
}
