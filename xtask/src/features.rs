//! The feature sets that must stand alone, for every task that goes through them.

use crate::workspace::Workspace;

/// One member with nothing but these features.
pub struct FeatureSet<'a> {
    /// The member's name.
    pub package: &'a str,
    /// Features, separated by commas; may be empty.
    pub features: &'a str,
    /// Whether this set is one that the README of the member promises by an example.
    pub example: bool,
}

/// Each set of features somebody may choose when they take one member by itself.
///
/// A build of the whole workspace gives every member the features that any other member asked
/// for, so only a build of the member alone shows that a set is complete.
pub fn alone(workspace: &Workspace) -> Vec<FeatureSet<'_>> {
    let platforms = workspace.platforms().map(|name| set("gateway-adapters", name, false));
    ALONE.into_iter().chain(platforms).collect()
}

const ALONE: [FeatureSet<'static>; 12] = [
    set("kanban-notify", "", true),
    set("kanban-notify", "mock", false),
    set("kanban-store", "board", true),
    set("kanban-store", "write", false),
    set("kanban-store", "ledger", false),
    set("kanban-store", "notify-ports", false),
    set("gateway-adapters", "http", false),
    set("gateway-adapters", "api_server", true),
    set("gateway-adapters", "console", false),
    set("gateway-adapters", "push", false),
    set("gateway-adapters", "template", false),
    set("gateway-adapters", "test-support", false),
];

impl FeatureSet<'_> {
    /// The arguments that make Cargo take this set and nothing else.
    pub fn arguments(&self) -> String {
        let mut line = format!("-p {} --no-default-features", self.package);
        if !self.features.is_empty() {
            line.push_str(" --features ");
            line.push_str(self.features);
        }
        line
    }
}

const fn set<'a>(package: &'a str, features: &'a str, example: bool) -> FeatureSet<'a> {
    FeatureSet { package, features, example }
}
