//! Where each profile's API server is found.

use super::*;

#[test]
fn named_profiles_have_their_own_gateways_and_servers() {
    let machine = Machine::new();
    machine.write("h/.env", "API_SERVER_KEY=0123456789abcdef\n");
    machine
        .write("h/profiles/work/.env", "API_SERVER_KEY=fedcba9876543210\nAPI_SERVER_PORT=8700\n");
    machine.write("h/profiles/idle/.env", "API_SERVER_KEY=changeme\n");
    machine.gateway("h/profiles/work", 42, "", &[API]);
    let hermes = machine.hermes();
    assert_eq!(hermes.lives.len(), 1);
    assert_eq!(hermes.lives[0].profile, "work");
    // Rows without a profile are taken by any gateway up to 0.19.
    assert_eq!(world(&hermes, Generation::Old).hermes["api_server"], set(["default", "work"]));
    assert_eq!(world(&hermes, Generation::Newer).hermes["api_server"], set(["work"]));
    let servers = hermes.api_servers(&[]);
    for (server, file) in servers.iter().zip(["h/.env", "h/profiles/work/.env"]) {
        let path = machine.path(file).display().to_string();
        let from = format!(
            "`api_server` for profile {}, from {path}, read again when it changes",
            server.profile
        );
        assert_eq!(server.key_from, from);
    }
    let urls: Vec<(&str, &str)> =
        servers.iter().map(|s| (s.profile.as_str(), s.url.as_str())).collect();
    assert_eq!(urls, [("default", "http://127.0.0.1:8642"), ("work", "http://127.0.0.1:8700")]);
    assert_eq!(hermes.problems().len(), 1);
    assert!(hermes.problems()[0].contains("profile idle"));
    assert!(hermes.is_profile("idle") && !hermes.is_profile("kanban-gateway"));
}

#[test]
fn a_multiplexing_gateway_serves_all_profiles_at_its_own_address() {
    let machine = Machine::new();
    machine.write("h/config.yaml", "gateway: {multiplex_profiles: true}\n");
    machine.write("h/.env", "API_SERVER_KEY=0123456789abcdef\n");
    fs::create_dir_all(machine.path("h/profiles/work")).unwrap();
    machine.process(41, 59_239, "");
    let mut state = sample(41, 59_239, &[("telegram", "connected")]);
    state["served_profiles"] = json!(["default", "work"]);
    machine.state("h", &state);
    let hermes = machine.hermes();
    assert_eq!(world(&hermes, Generation::Old).hermes["telegram"], set(["default", "work"]));
    let servers = hermes.api_servers(&[]);
    assert_eq!(servers[1].url, "http://127.0.0.1:8642/p/work");
}

#[test]
fn servers_the_operator_names_take_the_place_of_the_profiles_own() {
    let machine = Machine::new();
    machine.write("h/.env", "API_SERVER_KEY=0123456789abcdef\n");
    let named = |profile: &str| crate::config::ApiServerConfig {
        profile: profile.to_owned(),
        url: "http://named".to_owned(),
        key: "k".into(),
        key_from: "`key` in config.toml".to_owned(),
        model: None,
    };
    let servers = machine.hermes().api_servers(&[named("default"), named("far")]);
    let models: Vec<(&str, &str)> =
        servers.iter().map(|s| (s.url.as_str(), s.model.as_str())).collect();
    assert_eq!(models, [("http://named", "hermes-agent"), ("http://named", "far")]);
    assert_eq!(
        servers[0].key_from,
        "`api_server` for profile default, from `key` in config.toml; restart `run` after changing it"
    );
    // Nothing is known of the process behind a server that the operator names.
    machine.gateway("h", 41, "", &[API]);
    let started = kanban_notify::time::Timestamp::from_secs(1_780_000_592);
    let since = machine.hermes().up_since(&[]);
    assert_eq!(
        since.into_iter().collect::<Vec<_>>(),
        [(ChannelName::api_server("default"), started)]
    );
    assert!(machine.hermes().up_since(&[named("default")]).is_empty());
}

#[test]
fn keys_in_a_gateways_own_environment_are_found() {
    let machine = Machine::new();
    machine.gateway("h", 41, "API_SERVER_KEY=0123456789abcdef API_SERVER_PORT=9999", &[API]);
    assert_eq!(machine.hermes().api_servers(&[])[0].url, "http://127.0.0.1:9999");
    let home = HermesHome::resolve(&machine.path("h"), &machine.env());
    let ours = Env::from_iter([("API_SERVER_KEY", "0123456789abcdef")]);
    machine.end(41);
    let watch = WorldWatch::new(home, ours, Proc::at(machine.path("proc")));
    assert_eq!(watch.hermes().api_servers(&[])[0].url, "http://127.0.0.1:8642");
}
