//! The adapters' list of push platforms as plain data: what can be set for each, and under which names;
//! whether a template can be used; and their bounded reader of the files that hold settings.

pub(crate) use gateway_adapters::files::{read_whole, read_whole_text};
pub use gateway_adapters::push::{Field, FieldKind, MAX_LENGTH, PLATFORMS, Platform, Settings};
pub use gateway_adapters::template::{
    Place as TemplatePlace, Sources as TemplateSources, check as check_template,
};

/// The names of all platforms that this build has a channel for.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["api_server", "console"].into_iter().chain(PLATFORMS.iter().map(|platform| platform.name))
}
