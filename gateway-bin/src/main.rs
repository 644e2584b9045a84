//! The `kanban-gateway` command.
fn main() {}
