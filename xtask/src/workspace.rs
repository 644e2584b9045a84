//! What this workspace consists of, as Cargo sees it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::{MetadataCommand, Package};

/// The folders no task looks into: build output, history, editors' own state.
const SKIPPED: [&str; 5] = ["target", ".git", ".idea", ".vscode", "node_modules"];

/// The root folder, the build folder and the members' manifests.
pub struct Workspace {
    /// Where the root manifest is.
    pub root: PathBuf,
    /// Where Cargo builds; honours `CARGO_TARGET_DIR`.
    pub target: PathBuf,
    /// The members, without what they depend on.
    pub members: Vec<Package>,
}

impl Workspace {
    /// Asks Cargo about the workspace this program was built from.
    pub fn load() -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .no_deps()
            .exec()
            .context("cargo metadata")?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
            members: metadata.packages,
        })
    }

    /// The features of `gateway-adapters` that are a push platform each, as its feature for all of them says.
    pub fn platforms(&self) -> impl Iterator<Item = &str> {
        let adapters = self.members.iter().find(|member| member.name == "gateway-adapters");
        let all = adapters.and_then(|member| member.features.get("platforms"));
        all.into_iter().flatten().map(String::as_str)
    }

    /// All files below the root, as paths relative to it with `/` between the parts, sorted.
    pub fn files(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        collect(&self.root, "", &mut found)?;
        found.sort();
        Ok(found)
    }

    /// The text of a file that `files` named, or nothing where it is not text.
    pub fn text(&self, relative: &str) -> Result<Option<String>> {
        let bytes = fs::read(self.root.join(relative)).with_context(|| relative.to_owned())?;
        Ok(String::from_utf8(bytes).ok())
    }

    /// Where `path` lies, for a person who stands in the root folder.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let relative = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{relative}/"), found)?;
        } else if kind.is_file() {
            found.push(relative);
        }
    }
    Ok(())
}
