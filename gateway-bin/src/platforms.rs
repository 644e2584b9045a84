//! The adapters' list of push platforms as plain data: what can be set for each, and under which names;
//! and whether a template can be used.

pub use gateway_adapters::push::{Field, FieldKind, MAX_LENGTH, PLATFORMS, Platform, Settings};
pub use gateway_adapters::template::{
    Place as TemplatePlace, Sources as TemplateSources, check as check_template,
};

/// The names of all platforms that this build has a channel for.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["api_server", "console"].into_iter().chain(PLATFORMS.iter().map(|platform| platform.name))
}
