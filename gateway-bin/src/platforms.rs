//! The adapters' list of push platforms as plain data: what can be set for each, and under which names;
//! and whether a template can be used.

pub use gateway_adapters::push::{Field, FieldKind, PLATFORMS, Platform, Settings};
pub use gateway_adapters::template::{
    Place as TemplatePlace, Sources as TemplateSources, check as check_template,
};
