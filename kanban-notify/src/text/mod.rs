//! All words that leave the gateway, and how foreign text is made safe to stand among them (law W9).

pub mod clean;
pub mod fields;
pub mod files;
pub mod mask;
pub mod ping;
pub mod wake;
mod words;
