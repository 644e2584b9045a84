//! What the operator decides about the files of tasks.

use std::path::{Path, PathBuf};

use kanban_notify::artifacts::{Artifacts, Take};

use super::{push, read::Reader, server};

/// Which files are sent, and from where.
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// Which, and how much.
    pub artifacts: Artifacts,
    /// Folders that files are taken from, wherever they lie.
    pub roots: Vec<PathBuf>,
    /// Whether nothing is taken from elsewhere.
    pub strict: bool,
    /// Files of our own that hold secrets.
    pub kept: Vec<PathBuf>,
}

/// Reads what is set; faults go to the reader's problems.
pub(super) fn files(reader: &mut Reader<'_>) -> FileSettings {
    let takes =
        [("off", Take::Off), ("listed", Take::Listed), ("listed+found", Take::ListedAndFound)];
    FileSettings {
        artifacts: Artifacts {
            take: reader.choice("artifacts", &takes).unwrap_or(Take::Off),
            files: reader.count("artifact_files", 1..=32),
            bytes: reader.count("artifact_bytes", 1..=2_000_000_000),
        },
        roots: roots(reader),
        strict: reader.switch("artifact_strict"),
        kept: server::key_files(reader).into_iter().chain(push::secret_files(reader)).collect(),
    }
}

fn roots(reader: &mut Reader<'_>) -> Vec<PathBuf> {
    let roots = reader.paths("artifact_roots");
    if roots.iter().any(|root| !root.is_absolute() || root.parent().is_none()) {
        reader.wrong("artifact_roots", "must be whole paths of folders, and not the root of all");
    }
    roots
}

/// Adds the file of the configuration itself to what is never sent.
pub(super) fn keep(files: &mut FileSettings, config: Option<&Path>) {
    files.kept.extend(config.map(Path::to_owned));
}

#[cfg(test)]
mod tests {
    use crate::config::{Env, load};

    #[test]
    fn what_cannot_be_a_place_or_a_choice_is_refused() {
        for (key, value, told) in [
            ("ARTIFACTS", "all", "must be \"off\" or \"listed\" or \"listed+found\", not \"all\""),
            ("ARTIFACT_ROOTS", "/", "not the root of all"),
            ("ARTIFACT_ROOTS", "out", "whole paths"),
            ("ARTIFACT_FILES", "0", "must be 1 to 32"),
            ("ARTIFACT_BYTES", "0", "must be 1 to 2000000000"),
        ] {
            let name = format!("KANBAN_GATEWAY_{key}");
            let env = Env::from_iter([("HOME", "/nowhere"), (name.as_str(), value)]);
            let problems = load(None, &env).unwrap_err().to_string();
            assert!(problems.contains(told), "{problems}");
        }
        let env =
            Env::from_iter([("HOME", "/nowhere"), ("KANBAN_GATEWAY_ARTIFACT_ROOTS", "~/o,/p")]);
        let roots = load(None, &env).unwrap().config.files.roots;
        assert_eq!(roots, ["/nowhere/o", "/p"].map(std::path::PathBuf::from));
    }
}
