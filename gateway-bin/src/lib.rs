//! The gateway as a library: what `main.rs` and the integration tests run.
