//! The adapters' bounded reader of whole files, for the configuration and for Hermes' files.

pub(crate) use gateway_adapters::files::{read_whole, read_whole_text};
