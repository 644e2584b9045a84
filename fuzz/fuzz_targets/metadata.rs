//! What a worker hands over, of any text: read or refused, and read back as it was written.

#![no_main]

use kanban_store::write::Metadata;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, Vec<String>)| {
    let (text, artifacts) = input;
    let Ok(mut metadata) = Metadata::parse(text) else {
        return;
    };
    metadata.add_artifacts(&artifacts);
    assert!(metadata.artifacts().iter().all(|path| !path.is_empty()));
    let written = serde_json::to_string(&metadata).unwrap();
    assert_eq!(Metadata::parse(&written).unwrap(), metadata, "{written}");
});
