//! The `kanban-gateway` command: reads the process's arguments and environment, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    gateway_bin::cli::main(std::env::args_os(), std::env::vars_os().collect())
}
