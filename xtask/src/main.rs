//! What CI and maintainers run.
fn main() {}
