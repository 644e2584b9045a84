//! What Hermes says of files that may leave: folders that are allowed, folders of work, strictness.

use std::path::{Path, PathBuf};

use super::files::{Files, switch};
use crate::config::Env;

/// Folders and a switch, as `config.yaml`, `.env` and the environment of a home have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// Folders that files may be taken from, wherever they lie.
    pub allowed: Vec<PathBuf>,
    /// Where workers work, and what they hand over is kept, if that was moved.
    pub work: Vec<PathBuf>,
    /// Whether nothing may be taken from elsewhere; so too where nobody can read what is set.
    pub strict: bool,
}

impl Media {
    /// Reads what a home has.
    pub fn read(home: &Path, env: &Env) -> Self {
        let files = Files::read(home);
        let variables = files.variables(env);
        let folders = |name: &str| -> Vec<PathBuf> {
            let text = variables.get(name).unwrap_or_default();
            let folders = text.split([':', ',']).map(str::trim).filter(|folder| !folder.is_empty());
            folders.map(|folder| env.expand(Path::new(folder))).collect()
        };
        let configured = files.config(&["gateway", "strict"]).and_then(switch);
        Self {
            allowed: folders("HERMES_MEDIA_ALLOW_DIRS"),
            work: [
                folders("HERMES_KANBAN_WORKSPACES_ROOT"),
                folders("HERMES_KANBAN_ATTACHMENTS_ROOT"),
            ]
            .concat(),
            strict: configured.unwrap_or_default()
                || variables.is_on("HERMES_MEDIA_DELIVERY_STRICT")
                || !files.problems.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_and_strictness_are_read_from_each_place_and_doubt_is_strict() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from_iter([("HOME", "/h"), ("HERMES_MEDIA_ALLOW_DIRS", "/a:~/b, /c,")]);
        let read = || Media::read(dir.path(), &env);
        assert_eq!(read().allowed, ["/a", "/h/b", "/c"].map(PathBuf::from));
        assert!(!read().strict && read().work.is_empty());
        fs::write(dir.path().join(".env"), "HERMES_KANBAN_WORKSPACES_ROOT=/w\n").unwrap();
        assert_eq!(read().work, [PathBuf::from("/w")]);
        for (file, text, strict) in [
            ("config.yaml", "gateway:\n  strict: yes\n", true),
            ("config.yaml", "gateway:\n  strict: off\n", false),
            ("config.yaml", "gateway: [\n", true),
            ("config.yaml", "", false),
            (".env", "HERMES_MEDIA_DELIVERY_STRICT=1\n", true),
            (".env", "HERMES_MEDIA_DELIVERY_STRICT=0\n", false),
        ] {
            fs::write(dir.path().join(file), text).unwrap();
            assert_eq!(read().strict, strict, "{file} {text:?}");
        }
    }
}
