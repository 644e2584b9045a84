//! The files of a Hermes profile, of any bytes: a picture of it or words about it, and never its key.

#![no_main]

use std::fs;

use gateway_bin::{
    config::{Env, mask_url},
    hermes::{Generation, HermesHome, Proc, WorldWatch},
};
use libfuzzer_sys::fuzz_target;

/// Fake, and nowhere else.
const SECRET: &str = "verysecretfakekey0123";

fuzz_target!(|input: (&[u8], &[u8], &[u8], bool)| {
    let (dotenv, yaml, state, by_yaml) = input;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("hermes");
    fs::create_dir(&home).unwrap();
    // In front, so that nothing before it can make it part of another value.
    let (in_dotenv, in_yaml) = if by_yaml {
        (
            String::new(),
            format!("platforms: {{api_server: {{enabled: true, extra: {{key: {SECRET}}}}}}}\n"),
        )
    } else {
        (format!("API_SERVER_KEY={SECRET}\n"), String::new())
    };
    fs::write(home.join(".env"), [in_dotenv.as_bytes(), dotenv].concat()).unwrap();
    fs::write(home.join("config.yaml"), [in_yaml.as_bytes(), yaml].concat()).unwrap();
    fs::write(home.join("gateway_state.json"), state).unwrap();
    let env: Env = [("HOME", folder.path())].into_iter().collect();
    let found = HermesHome::resolve(&home, &env);
    let mut watch = WorldWatch::new(found, env, Proc::at(folder.path().join("proc")));
    // Nothing changed in between.
    assert!(!watch.poll());
    let hermes = watch.hermes();
    let servers = hermes.api_servers(&[]);
    assert!(servers.len() <= 1);
    for server in &servers {
        assert!(!mask_url(&server.url).is_empty());
    }
    let line = hermes.setup_line("kanban-gateway", Generation::default());
    let said = format!("{hermes:?} {:?} {line}", hermes.problems());
    assert!(said.len() < 20_000 + 50 * (dotenv.len() + yaml.len() + state.len()));
    // `${NAME}` puts one value into another.
    assert!(!said.contains(SECRET) || dotenv.windows(2).any(|two| two == b"${"), "{said}");
});
