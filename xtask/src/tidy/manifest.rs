//! What every member's manifest must say.

use anyhow::{Context as _, Result};

use super::Problem;

/// The shared lints bind a member only if its manifest takes them.
pub fn check(path: &str, content: &str) -> Result<Vec<Problem>> {
    let manifest: toml::Table = content.parse().with_context(|| path.to_owned())?;
    let inherits = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"))
        .and_then(toml::Value::as_bool)
        .unwrap_or(false);
    let missing = "does not take the shared lints: `[lints] workspace = true`";
    Ok(if inherits { Vec::new() } else { vec![Problem::file(path, missing)] })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn shared_lints_must_be_taken() {
        assert!(check("a/Cargo.toml", "[lints]\nworkspace = true\n").unwrap().is_empty());
        assert_eq!(check("a/Cargo.toml", "[package]\nname = \"a\"\n").unwrap().len(), 1);
        assert_eq!(check("a/Cargo.toml", "[lints]\nworkspace = false\n").unwrap().len(), 1);
    }
}
