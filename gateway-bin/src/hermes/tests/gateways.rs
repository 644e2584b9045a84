//! Which gateways are taken for alive, and what they serve.

use super::*;

#[test]
fn without_a_gateway_we_are_alone() {
    let machine = Machine::new();
    let hermes = machine.hermes();
    assert!(hermes.lives.is_empty() && world(&hermes, Generation::Old).hermes.is_empty());
    assert_eq!(hermes.setup("kanban-gateway", Generation::Old), Setup::Alone);
    assert!(hermes.setup_line("kanban-gateway", Generation::Old).starts_with("alone: "));
}

#[test]
fn a_running_gateway_is_seen_with_what_it_serves() {
    let machine = Machine::new();
    machine.gateway(
        "h",
        41,
        "",
        &[API, ("telegram", "retrying"), ("slack", "disconnected"), ("discord", "fatal")],
    );
    machine.lock("h/kanban/.dispatcher.lock", 41);
    let hermes = machine.hermes();
    let live = &hermes.lives[0];
    assert_eq!(
        (live.profile.as_str(), live.pid, live.started),
        ("default", Some(41), Some(59_239))
    );
    assert_eq!(live.state, "running");
    assert_eq!(live.platforms, set(["api_server", "telegram"]));
    assert!(live.dispatcher && hermes.dispatcher == Some(true));
    assert_eq!(live.notifier(Generation::Unknown), Notifier::On);
    let world = world(&hermes, Generation::Old);
    assert_eq!(
        world.hermes.keys().cloned().collect::<BTreeSet<_>>(),
        set(["api_server", "telegram"])
    );
    assert_eq!(world.hermes["telegram"], set(["default"]));
    let line = hermes.setup_line("kanban-gateway", Generation::Old);
    assert!(line.starts_with("beside: "), "{line}");
    assert!(line.contains("default profile (pid 41, running, notifier on, dispatcher)"), "{line}");
}

#[test]
fn a_dead_process_is_no_gateway() {
    let machine = Machine::new();
    machine.gateway("h", 41, "", &[API]);
    machine.end(41);
    assert!(machine.hermes().lives.is_empty());
}

#[test]
fn a_recycled_process_number_is_no_gateway() {
    let machine = Machine::new();
    machine.gateway("h", 41, "", &[API]);
    machine.process(41, 70_000, "");
    assert!(machine.hermes().lives.is_empty());
}

#[test]
fn without_a_start_time_the_command_line_decides() {
    let machine = Machine::new();
    machine.process(41, 59_239, "");
    let mut state = sample(41, 0, &[API]);
    state["start_time"] = Value::Null;
    machine.state("h", &state);
    assert_eq!(machine.hermes().lives.len(), 1);
    machine.write("proc/41/cmdline", "/bin/sleep\x001000\0");
    assert!(machine.hermes().lives.is_empty());
}

#[test]
fn a_gateway_that_wrote_its_end_is_dead_and_a_damaged_file_is_not_fatal() {
    let machine = Machine::new();
    machine.process(41, 59_239, "");
    for end in ["stopped", "startup_failed"] {
        let mut state = sample(41, 59_239, &[API]);
        state["gateway_state"] = json!(end);
        machine.state("h", &state);
        assert!(machine.hermes().lives.is_empty(), "{end}");
    }
    for text in ["", "[]", "{\"pid\": \"x\"", "{\"pid\": -1, \"gateway_state\": \"running\"}"] {
        machine.write("h/gateway_state.json", text);
        assert!(machine.hermes().lives.is_empty(), "{text}");
    }
}

#[test]
fn a_platform_that_a_crash_left_connected_is_not_served_by_the_next_gateway() {
    let machine = Machine::new();
    machine.process(41, 59_239, "");
    let mut state = sample(41, 59_239, &[API, ("telegram", "connected")]);
    state["platforms"]["telegram"]["updated_at"] = json!("2026-01-01T00:00:00.000001+00:00");
    machine.state("h", &state);
    assert_eq!(machine.hermes().lives[0].platforms, set(["api_server"]));
}

#[test]
fn a_gateway_in_a_container_is_seen_by_its_lock() {
    let machine = Machine::new();
    machine.write("h/.env", "TELEGRAM_BOT_TOKEN=x\n");
    // Its own number for itself means nothing here.
    machine.state("h", &sample(7, 59_239, &[("slack", "connected")]));
    machine.lock("h/gateway.lock", 500);
    let live = machine.hermes().lives[0].clone();
    assert_eq!((live.pid, live.platforms), (None, set(["slack"])));
    machine.process(500, 60_000, "");
    let mut state = sample(7, 59_239, &[]);
    state["gateway_state"] = json!("stopped");
    machine.state("h", &state);
    let live = machine.hermes().lives[0].clone();
    assert_eq!((live.pid, live.state.as_str()), (Some(500), "unknown"));
    assert_eq!(live.platforms, set(["telegram"]));
}
