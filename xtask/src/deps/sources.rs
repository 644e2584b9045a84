//! Where gateway-bin's own files may name the store, the adapters and the ports.

use anyhow::Result;

use crate::tidy::lexer;
use crate::workspace::Workspace;

/// Checks the sources of gateway-bin.
pub fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut seen = 0_usize;
    for path in workspace.files()? {
        let Some(inside) = path.strip_prefix(ROOT) else {
            continue;
        };
        if !inside.ends_with(".rs") {
            continue;
        }
        seen = seen.saturating_add(1);
        if let Some(text) = workspace.text(&path)? {
            problems.extend(check_file(inside, &lexer::code_only(&text)));
        }
    }
    if seen == 0 {
        problems.push(format!("no source found below {ROOT}"));
    }
    Ok(problems)
}

const ROOT: &str = "gateway-bin/src/";

/// The one place where concrete types meet ports: the file and its modules.
const WIRING: [&str; 2] = ["wiring.rs", "wiring/"];

/// The file that shows the adapters' list of platforms as plain data.
const PLATFORMS: &str = "platforms.rs";

/// Use cases whose very subject is the receiver that the adapters offer for tests.
const RECEIVER: [&str; 2] = ["ops/listen.rs", "ops/demo.rs"];

fn check_file(inside: &str, code: &str) -> Vec<String> {
    if WIRING.iter().any(|wiring| inside.starts_with(wiring)) {
        return Vec::new();
    }
    let names = |word: &str| lexer::has_word(code, word);
    let thin = inside.starts_with("cli/") || inside == "cli.rs" || inside == "main.rs";
    let mut problems = Vec::new();
    let mut found = |what: &str| problems.push(format!("{ROOT}{inside} {what}"));
    if thin && names("kanban_store") {
        found("names the store: commands call use cases only");
    }
    if names("gateway_adapters") && !RECEIVER.contains(&inside) && inside != PLATFORMS {
        found("names the adapters: only wiring.rs does");
    }
    if names("kanban_store") && code.contains("kanban_notify::ports") {
        found("brings the store and the ports together: only wiring.rs does");
    }
    if code.contains("kanban_store::ports") {
        found("names the store's ports: only wiring.rs does");
    }
    if inside.starts_with("ops/") && (names("clap") || code.contains("http::")) {
        found("names the command line or HTTP: a use case knows neither");
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check_file;

    #[test]
    fn commands_do_not_name_the_store() {
        assert_eq!(check_file("cli/status.rs", "use kanban_store::board;").len(), 1);
        assert_eq!(check_file("main.rs", "kanban_store::open()").len(), 1);
        assert!(check_file("ops/status.rs", "use kanban_store::board;").is_empty());
    }

    #[test]
    fn only_wiring_names_the_adapters() {
        assert_eq!(check_file("ops/once.rs", "use gateway_adapters::api_server;").len(), 1);
        assert!(check_file("ops/listen.rs", "use gateway_adapters::receiver;").is_empty());
        for wiring in ["wiring.rs", "wiring/push.rs"] {
            assert!(check_file(wiring, "use gateway_adapters::api_server;").is_empty());
        }
        assert!(
            check_file("platforms.rs", "pub use gateway_adapters::push::PLATFORMS;").is_empty()
        );
        assert_eq!(check_file("config/push.rs", "use gateway_adapters::push;").len(), 1);
    }

    #[test]
    fn only_wiring_joins_the_store_and_the_ports() {
        let both = "use kanban_notify::ports::Events; use kanban_store::board;";
        assert_eq!(check_file("lib.rs", both).len(), 1);
        assert_eq!(check_file("lib.rs", "use kanban_store::ports::Board;").len(), 1);
        assert!(check_file("wiring.rs", both).is_empty());
    }

    #[test]
    fn use_cases_know_no_command_line() {
        assert_eq!(check_file("ops/sub_add.rs", "use clap::Args;").len(), 1);
    }
}
