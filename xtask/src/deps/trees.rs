//! What each member, with one feature set, may pull in: the tree that Cargo resolves for it alone.

use anyhow::Result;

use crate::cmd;
use crate::workspace::Workspace;

/// What the tree of normal dependencies of one member must and must not hold.
pub struct Rule<'a> {
    package: &'a str,
    features: &'a str,
    /// The positive control: were these not found, an empty answer would pass for a clean one.
    holds: &'static [&'static str],
    lacks: &'static [&'static [&'static str]],
}

/// One rule for each member and feature set.
pub fn rules(workspace: &Workspace) -> Vec<Rule<'_>> {
    let platforms = workspace.platforms();
    let platforms = platforms.map(|name| rule("gateway-adapters", name, &["hyper"], ADAPTER));
    RULES.into_iter().chain(platforms).collect()
}

const RULES: [Rule<'static>; 14] = [
    rule("kanban-notify", "", &["sha2", "futures-util"], &[MEMBERS, SQL, NET, MOCKS]),
    rule("kanban-notify", "mock", &["sha2", "mockall"], &[MEMBERS, SQL, NET]),
    rule("kanban-store", "board", &["diesel", "libsqlite3-sys"], &[MEMBERS, DOMAIN, NET, MOCKS]),
    rule("kanban-store", "write", &["diesel", "libsqlite3-sys"], &[MEMBERS, DOMAIN, NET, MOCKS]),
    rule("kanban-store", "ledger", &["diesel_migrations"], &[MEMBERS, DOMAIN, NET, MOCKS]),
    rule("kanban-store", "notify-ports", &["diesel", "kanban-notify"], &[MEMBERS, NET, MOCKS]),
    rule("gateway-adapters", "http", &["hyper", "rustls"], ADAPTER),
    rule("gateway-adapters", "api_server", &["hyper", "kanban-notify"], ADAPTER),
    rule("gateway-adapters", "console", &["kanban-notify"], ADAPTER),
    rule("gateway-adapters", "push", &["hyper", "kanban-notify"], ADAPTER),
    rule(
        "gateway-adapters",
        "template",
        &["minijinja", "kanban-notify"],
        &[MEMBERS, SQL, NET, MOCKS],
    ),
    rule("gateway-adapters", "test-support", &["hyper", "tokio"], ADAPTER),
    rule("gateway-bin", "", &["kanban-store", "gateway-adapters", "kanban-notify"], &[MOCKS]),
    rule("xtask", "", &["anyhow"], &[NET, MOCKS, &["gateway-adapters", "gateway-bin", "tests"]]),
];

const ADAPTER: &[&[&str]] = &[MEMBERS, SQL, MOCKS];
/// Members that no library may pull in. (A member is in its own tree: that is not counted.)
const MEMBERS: &[&str] = &["gateway-bin", "kanban-store", "gateway-adapters", "xtask", "tests"];
const DOMAIN: &[&str] = &["kanban-notify"];
const SQL: &[&str] = &["diesel", "diesel_migrations", "libsqlite3-sys"];
const NET: &[&str] = &["hyper", "hyper-util", "hyper-rustls", "rustls", "http", "tokio"];
const MOCKS: &[&str] = &["mockall"];

/// The names of everything in the tree, the member first.
pub fn resolve(workspace: &Workspace, rule: &Rule<'_>) -> Result<Vec<String>> {
    // Every target, so that a crate which only another system needs is seen as well.
    let mut line = format!(
        "tree -p {} --edges normal --prefix none --target all --no-default-features",
        rule.package
    );
    if !rule.features.is_empty() {
        line.push_str(" --features ");
        line.push_str(rule.features);
    }
    let printed = cmd::capture(cmd::cargo(workspace, &line).args(["--format", "{p}"]))?;
    Ok(names(&printed))
}

/// Compares one resolved tree with its rule.
pub fn check(rule: &Rule<'_>, resolved: &[String]) -> Vec<String> {
    let Rule { package, features, holds, lacks } = rule;
    let is_there = |name: &str| resolved.iter().any(|resolved| resolved == name);
    let mut problems = Vec::new();
    if resolved.first().map(String::as_str) != Some(package) {
        problems.push(format!("the tree of {package} [{features}] does not begin with it"));
    }
    for name in holds.iter().filter(|name| !is_there(name)) {
        problems.push(format!("{package} [{features}] lacks {name}: is the check still right?"));
    }
    for name in lacks.iter().flat_map(|group| group.iter()) {
        if name != package && is_there(name) {
            problems.push(format!("{package} [{features}] pulls in {name}"));
        }
    }
    problems
}

/// Finds the names in the rules that no package has, so that a misspelt one cannot pass.
pub fn check_names(rules: &[Rule<'_>], locked: &[String]) -> Vec<String> {
    let mut unknown: Vec<&str> = rules
        .iter()
        .flat_map(|rule| {
            let lacks = rule.lacks.iter().flat_map(|group| group.iter());
            rule.holds.iter().chain(lacks).chain([&rule.package])
        })
        .filter(|name| !locked.iter().any(|locked| locked == *name))
        .copied()
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    unknown.iter().map(|name| format!("a rule names {name}, which no package is called")).collect()
}

const fn rule<'a>(
    package: &'a str,
    features: &'a str,
    holds: &'static [&'static str],
    lacks: &'static [&'static [&'static str]],
) -> Rule<'a> {
    Rule { package, features, holds, lacks }
}

/// The first word of each line of `cargo tree --prefix none --format {p}`.
fn names(printed: &str) -> Vec<String> {
    printed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: Rule<'static> = rule("kanban-store", "board", &["diesel"], &[MEMBERS, NET]);

    #[test]
    fn a_tree_within_the_rule_passes() {
        let tree = names("kanban-store v0.1.0 (/p)\ndiesel v2.3.14\ndiesel v2.3.14 (*)\n");
        assert_eq!(tree, ["kanban-store", "diesel", "diesel"]);
        assert!(check(&STORE, &tree).is_empty());
    }

    #[test]
    fn a_forbidden_package_is_found() {
        let tree = names("kanban-store v0.1.0\ndiesel v2.3.14\nhyper v1.12.0\n");
        assert_eq!(check(&STORE, &tree), ["kanban-store [board] pulls in hyper"]);
    }

    #[test]
    fn an_empty_tree_is_no_proof() {
        assert_eq!(check(&STORE, &[]).len(), 2);
    }

    #[test]
    fn a_misspelt_name_is_found() {
        let locked: Vec<String> =
            [MEMBERS, DOMAIN, SQL, NET, MOCKS].concat().iter().map(ToString::to_string).collect();
        let unknown = check_names(&RULES, &locked);
        assert!(unknown.iter().any(|problem| problem.contains("sha2")), "{unknown:?}");
        assert!(!unknown.iter().any(|problem| problem.contains(" diesel,")), "{unknown:?}");
    }
}
