//! Which names may stand in which member's manifest.

use cargo_metadata::{Dependency, DependencyKind, Package};

/// Checks all members' manifests.
pub fn check(members: &[Package]) -> Vec<String> {
    let members: Vec<Member<'_>> = members.iter().map(Member::from).collect();
    let mut problems = Vec::new();
    for member in &members {
        problems.extend(check_edges(member, &members));
        problems.extend(check_owned(member));
    }
    problems.extend(check_table(&members));
    problems
}

/// The edges between members, whatever kind of dependency makes them.
const EDGES: [(&str, &[&str]); 6] = [
    ("kanban-notify", &[]),
    ("kanban-store", &["kanban-notify"]),
    ("gateway-adapters", &["kanban-notify"]),
    ("gateway-bin", &["kanban-notify", "kanban-store", "gateway-adapters"]),
    ("xtask", &["kanban-store"]),
    ("tests", &["kanban-notify", "kanban-store", "gateway-adapters", "gateway-bin"]),
];

/// Crates that only their owners may name; `testers` may as dev-dependencies, for stubs.
const OWNED: [Owned; 8] = [
    Owned {
        name: "diesel",
        owners: &["kanban-store"],
        // Another writer's hand on a board: a lock that is held, a row that no command of ours writes.
        testers: &["gateway-bin", "tests"],
    },
    Owned { name: "diesel_migrations", owners: &["kanban-store"], testers: &[] },
    Owned { name: "libsqlite3-sys", owners: &["kanban-store"], testers: &[] },
    Owned { name: "hyper", owners: &["gateway-adapters"], testers: &["tests"] },
    Owned { name: "hyper-util", owners: &["gateway-adapters"], testers: &["tests"] },
    Owned { name: "hyper-rustls", owners: &["gateway-adapters"], testers: &["tests"] },
    Owned { name: "rustls", owners: &["gateway-adapters"], testers: &["tests"] },
    Owned { name: "anyhow", owners: &["gateway-bin", "xtask"], testers: &[] },
];

struct Owned {
    name: &'static str,
    owners: &'static [&'static str],
    testers: &'static [&'static str],
}

struct Member<'a> {
    name: &'a str,
    needs: Vec<Need<'a>>,
    features: Vec<(&'a str, Vec<&'a str>)>,
}

struct Need<'a> {
    name: &'a str,
    dev: bool,
    optional: bool,
}

impl<'a> From<&'a Package> for Member<'a> {
    fn from(package: &'a Package) -> Self {
        let features = package.features.iter();
        Self {
            name: package.name.as_str(),
            needs: package.dependencies.iter().map(Need::from).collect(),
            features: features
                .map(|(name, turns_on)| {
                    (name.as_str(), turns_on.iter().map(String::as_str).collect())
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a Dependency> for Need<'a> {
    fn from(dependency: &'a Dependency) -> Self {
        Self {
            name: &dependency.name,
            dev: dependency.kind == DependencyKind::Development,
            optional: dependency.optional,
        }
    }
}

fn check_edges(member: &Member<'_>, members: &[Member<'_>]) -> Vec<String> {
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == member.name) else {
        return vec![format!("member {} has no line in the table of edges", member.name)];
    };
    let mut problems = Vec::new();
    for need in &member.needs {
        let is_member = members.iter().any(|other| other.name == need.name);
        if is_member && !allowed.contains(&need.name) {
            problems.push(format!("{} may not depend on {}", member.name, need.name));
        }
        if member.name == "tests" && !need.dev {
            problems.push(format!("tests names {} outside its dev-dependencies", need.name));
        }
        if member.name == "kanban-store" && need.name == "kanban-notify" {
            problems.extend(check_port_edge(member, need));
        }
    }
    problems
}

/// The store's edge to the domain exists under one feature only.
fn check_port_edge(store: &Member<'_>, need: &Need<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    if !need.dev && !need.optional {
        problems.push("kanban-store's edge to kanban-notify is not optional".to_owned());
    }
    for (feature, turns_on) in &store.features {
        let makes_edge = turns_on.iter().any(|item| {
            let item = item.strip_prefix("dep:").unwrap_or(item);
            item.split(['/', '?']).next() == Some("kanban-notify")
        });
        if makes_edge && *feature != "notify-ports" {
            problems.push(format!("kanban-store's feature {feature} turns on kanban-notify"));
        }
        if *feature == "default" && turns_on.contains(&"notify-ports") {
            problems.push("kanban-store turns on notify-ports by default".to_owned());
        }
    }
    problems
}

fn check_owned(member: &Member<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    for need in &member.needs {
        let Some(owned) = OWNED.iter().find(|owned| owned.name == need.name) else {
            continue;
        };
        let tester = need.dev && owned.testers.contains(&member.name);
        if !tester && !owned.owners.contains(&member.name) {
            problems.push(format!("{} names {}, which is not its own", member.name, need.name));
        }
    }
    problems
}

/// The positive control: every line of the two tables speaks of something that exists.
fn check_table(members: &[Member<'_>]) -> Vec<String> {
    let find = |name: &str| members.iter().find(|member| member.name == name);
    let mut problems = Vec::new();
    for (name, allowed) in EDGES {
        for name in allowed.iter().chain([&name]).filter(|name| find(name).is_none()) {
            problems.push(format!("the table of edges names {name}, which is no member"));
        }
    }
    for owned in &OWNED {
        for owner in owned.owners {
            let named = find(owner)
                .is_some_and(|member| member.needs.iter().any(|need| need.name == owned.name));
            if !named {
                problems.push(format!("{owner} owns {} and does not name it", owned.name));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member<'a>(name: &'a str, needs: &[(&'a str, bool)]) -> Member<'a> {
        let needs = needs.iter().map(|&(name, dev)| Need { name, dev, optional: false });
        Member { name, needs: needs.collect(), features: Vec::new() }
    }

    fn others() -> Vec<Member<'static>> {
        EDGES.iter().map(|(name, _)| member(name, &[])).collect()
    }

    #[test]
    fn an_edge_outwards_is_found() {
        let notify = member("kanban-notify", &[("kanban-store", false)]);
        assert_eq!(check_edges(&notify, &others()).len(), 1);
        let adapters = member("gateway-adapters", &[("kanban-store", true)]);
        assert_eq!(check_edges(&adapters, &others()).len(), 1);
    }

    #[test]
    fn nobody_may_depend_on_xtask() {
        for (name, _) in EDGES {
            let dependant = member(name, &[("xtask", true)]);
            assert_eq!(check_edges(&dependant, &others()).len(), 1, "{name}");
        }
    }

    #[test]
    fn a_member_without_a_line_is_found() {
        assert_eq!(check_edges(&member("kanban-extra", &[]), &others()).len(), 1);
    }

    #[test]
    fn tests_have_dev_dependencies_only() {
        let tests = member("tests", &[("gateway-bin", false), ("serde_json", true)]);
        assert_eq!(check_edges(&tests, &others()).len(), 1);
    }

    #[test]
    fn the_port_edge_is_optional_and_under_its_feature() {
        let mut store = member("kanban-store", &[]);
        store.needs = vec![Need { name: "kanban-notify", dev: false, optional: true }];
        store.features = vec![("notify-ports", vec!["dep:kanban-notify"])];
        assert!(check_edges(&store, &others()).is_empty());
        store.features.push(("board", vec!["kanban-notify?/mock"]));
        store.features.push(("default", vec!["board", "notify-ports"]));
        assert_eq!(check_edges(&store, &others()).len(), 2);
        store.needs = vec![Need { name: "kanban-notify", dev: false, optional: false }];
        assert_eq!(check_edges(&store, &others()).len(), 3);
    }

    #[test]
    fn a_crate_of_somebody_else_is_found() {
        assert_eq!(check_owned(&member("gateway-bin", &[("diesel", false)])).len(), 1);
        assert_eq!(check_owned(&member("kanban-store", &[("anyhow", true)])).len(), 1);
        assert_eq!(check_owned(&member("tests", &[("hyper", false)])).len(), 1);
        assert!(check_owned(&member("tests", &[("hyper", true)])).is_empty());
    }

    #[test]
    fn a_table_that_speaks_of_nothing_is_found() {
        assert!(!check_table(&others()).is_empty());
    }
}
