//! How the work is shared with Hermes: gates, set-ups, ownership, and changes of all that.

use super::*;

#[test]
fn what_gates_mean_depends_on_the_generation() {
    use Generation::{Newer, Old, Unknown};
    let gate = |dispatch: bool, notify: bool| {
        let machine = Machine::new();
        let config =
            format!("kanban: {{dispatch_in_gateway: {dispatch}, notify_in_gateway: {notify}}}");
        machine.write("h/config.yaml", &config);
        machine.gateway("h", 41, "", &[API]);
        let live = machine.hermes().lives[0].clone();
        [Old, Newer, Unknown].map(|generation| match live.notifier(generation) {
            Notifier::On => 1,
            Notifier::Off => 0,
            Notifier::Unknown(_) => 2,
        })
    };
    assert_eq!(gate(true, true), [1, 1, 1]);
    assert_eq!(gate(false, true), [0, 1, 2]);
    assert_eq!(gate(true, false), [1, 0, 2]);
    assert_eq!(gate(false, false), [0, 0, 0]);
}

#[test]
fn a_gate_that_was_closed_under_a_running_gateway_is_not_trusted() {
    let machine = Machine::new();
    machine.gateway("h", 41, "", &[API]);
    let mut watch = machine.watch();
    let closed = "kanban: {dispatch_in_gateway: false}\n";
    machine.write_at("h/config.yaml", closed, BOOT + 5_000);
    // We saw it open when the gateway had read it.
    watch.poll();
    assert_eq!(watch.hermes().lives[0].notifier(Generation::Old), Notifier::On);
    // We came later: nobody knows.
    let live = machine.hermes().lives[0].clone();
    assert!(live.changed_since);
    assert!(matches!(live.notifier(Generation::Old), Notifier::Unknown(_)));
    assert!(world(&machine.hermes(), Generation::Old).hermes.contains_key("api_server"));
    // The next gateway reads it.
    machine.process(43, 900_000, "");
    machine.state("h", &sample(43, 900_000, &[API]));
    watch.poll();
    assert_eq!(watch.hermes().lives[0].notifier(Generation::Old), Notifier::Off);
}

#[test]
fn the_set_ups_are_told_apart() {
    let machine = Machine::new();
    machine.gateway("h", 41, "", &[API]);
    assert_eq!(setup(&machine, Generation::Old), Setup::Beside);
    machine.process(41, 59_239, "HERMES_PROFILE=kanban-gateway");
    assert_eq!(setup(&machine, Generation::Old), Setup::BornOurs);
    machine.process(41, 59_239, "HERMES_PROFILE=kanban-gateways");
    assert_eq!(setup(&machine, Generation::Old), Setup::Beside);
    machine.process(41, 59_239, "HERMES_KANBAN_NOTIFY_IN_GATEWAY=0");
    assert_eq!(setup(&machine, Generation::Old), Setup::Beside);
    assert_eq!(setup(&machine, Generation::Newer), Setup::HandedOver);
    machine.process(41, 59_239, "HERMES_KANBAN_DISPATCH_IN_GATEWAY=0");
    assert_eq!(setup(&machine, Generation::Old), Setup::HandedOver);
    machine.gateway("h/profiles/dispatch", 42, "", &[]);
    machine.lock("h/kanban/.dispatcher.lock", 42);
    let hermes = machine.hermes();
    assert_eq!(hermes.setup("kanban-gateway", Generation::Old), Setup::Split);
    assert!(hermes.lives[1].dispatcher && !hermes.lives[0].dispatcher);
    assert!(world(&hermes, Generation::Old).hermes.is_empty());
}

#[test]
fn ownership_is_told_platform_by_platform() {
    let machine = Machine::new();
    let served = ["telegram", "slack", "discord"].map(|name| (name, "connected"));
    machine.gateway("h", 41, "", &served);
    let hermes = machine.hermes();
    let channels = ["telegram", "slack", "discord", "matrix", "api_server/default"]
        .map(|name| (ChannelName(name.to_owned()), Ability::default()));
    let world = hermes.world(Generation::Old, channels.into(), set(["slack"]));
    let policy = Policy { adopt: Adopt::Platforms(set(["discord"])), ..Policy::default() };
    let lines = hermes.ownership(&policy, &world);
    let line = |platform: &str| lines.iter().find(|one| one.platform == platform).unwrap();
    let contested: Vec<&str> =
        lines.iter().filter(|one| one.contested).map(|one| one.platform.as_str()).collect();
    assert_eq!(contested, ["telegram"]);
    assert!(
        line("telegram").line.contains("Hermes (profiles default) has the rest; sent by telegram")
    );
    assert!(line("slack").line.contains("beside Hermes"));
    assert!(line("discord").line.contains("by adoption"));
    assert_eq!(line("matrix").line, "matrix: every row is ours; sent by matrix");
    assert_eq!(line("api_server").channels, ["api_server/default"]);
    let bare = self::world(&hermes, Generation::Old);
    let lines = hermes.ownership(&Policy::default(), &bare);
    let line = |platform: &str| lines.iter().find(|one| one.platform == platform).unwrap();
    assert_eq!(line("api_server").line, "api_server: nobody's: no API server is known");
    assert!(line("slack").line.ends_with("has its rows; ours wait for a channel"));
    assert!(lines.iter().all(|one| !one.contested));
}

#[test]
fn polling_tells_only_of_real_changes() {
    let machine = Machine::new();
    let mut watch = machine.watch();
    assert!(!watch.poll());
    machine.gateway("h", 41, "", &[API]);
    assert!(watch.poll() && !watch.poll());
    assert_eq!(watch.hermes().lives.len(), 1);
    // A turn began: the file is another one, what we take from it is the same.
    let mut busy = sample(41, 59_239, &[API]);
    busy["active_agents"] = json!(12);
    machine.state("h", &busy);
    assert!(!watch.poll());
    // A damaged file says nothing about a process that lives.
    machine.write("h/gateway_state.json", "{");
    assert!(!watch.poll() && watch.hermes().lives.len() == 1);
    machine.lock("h/kanban/.dispatcher.lock", 41);
    assert!(watch.poll() && watch.hermes().lives[0].dispatcher);
    machine.write("h/profiles/new/.env", "API_SERVER_KEY=0123456789abcdef\n");
    assert!(watch.poll() && watch.hermes().profiles.len() == 2);
    machine.write("h/profiles/new/.env", "API_SERVER_KEY=0123456789abcdef0\n");
    assert!(watch.poll());
    machine.write("h/config.yaml", "a: [\n");
    assert!(watch.poll() && watch.hermes().problems().len() == 1);
    machine.end(41);
    assert!(watch.poll() && watch.hermes().lives.is_empty());
    fs::remove_file(machine.path("proc/locks")).unwrap();
    assert!(watch.poll() && watch.hermes().dispatcher.is_none());
}
