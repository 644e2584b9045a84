//! The forms that carry files, as a library that we did not write reads them.

use serde_json::{Value, json};

use crate::support::{counterpart::Counterpart, hermes::require, world::World};

const SCRIPT: &str = include_str!("form_receiver.py");

#[tokio::test]
async fn report_43_files_are_in_a_form_under_their_names_byte_for_byte() {
    let Some(hermes) = require() else { return };
    let mut world = World::new().await;
    let home = world.folder().join("forms-home");
    std::fs::create_dir(&home).unwrap();
    let python = hermes.program("python");
    let mut receiver = Counterpart::start(&python, SCRIPT, &[], &home).await;
    let url = format!("http://127.0.0.1:{}", receiver.port);
    for platform in ["telegram", "discord"] {
        world.set(&format!("{platform}.token"), "1:FAKE");
        world.set(&format!("{platform}.url"), &url);
    }
    // Whatever a file holds, it ends no part: boundaries and heads of forms too.
    let large: Vec<u8> = (0..300_003_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let form: &[u8] = b"\r\n--kanban-0--\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n";
    let names = ["日本 \u{1f600} report.pdf", "a'b;c=%22 d.txt"];
    let files: Vec<String> = names
        .iter()
        .zip([&large[..], form])
        .map(|(name, content)| {
            let path = world.folder().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = [
        json!({"filename": names[0], "hex": hex(&large)}),
        json!({"filename": names[1], "hex": hex(form)}),
    ];
    for (platform, chat, parts) in [("telegram", "42", [1, 1].as_slice()), ("discord", "100", &[2])]
    {
        let task = world.cards.task("Build the report");
        let row = world.cards.subscribe(&task, platform, chat);
        let running = world.start();
        let event = world.cards.complete_with(&task, "done", &files);
        let text = receiver.next().await;
        assert_eq!(text["fields"], json!([]), "{text}");
        let mut arrived = Vec::new();
        for files in parts {
            let form = receiver.next().await;
            let fields = form["fields"].as_array().unwrap();
            let found: Vec<&Value> =
                fields.iter().filter(|field| !field["filename"].is_null()).collect();
            assert_eq!(found.len(), *files, "{form}");
            assert_eq!(fields.len(), files + 1, "{form}");
            arrived.extend(found.into_iter().cloned());
        }
        world.settled(&row, event).await;
        running.stop().await.unwrap();
        assert!(
            arrived == expected,
            "{platform}: {:?}",
            arrived.iter().map(|one| &one["filename"]).collect::<Vec<_>>()
        );
    }
    assert_eq!(receiver.rest().await, Vec::<Value>::new());
}
