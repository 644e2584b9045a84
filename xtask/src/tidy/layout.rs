//! Rules about which files exist, and under which names.

use super::Problem;

/// Takes the paths of all files, relative to the root.
pub fn check(files: &[String]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = REQUIRED
        .iter()
        .filter(|path| !files.iter().any(|file| file == *path))
        .map(|path| Problem::file(path, "is missing"))
        .collect();
    problems.extend(migrations(files));
    problems
}

const REQUIRED: [&str; 8] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/ARCHITECTURE.md",
    "docs/DELIVERY.md",
    "docs/LOGGING.md",
];

const MIGRATIONS: &str = "kanban-store/migrations/";

/// `<back end>/<digits>_<name>/` with an `up.sql` and a `down.sql`, and nothing else.
fn migrations(files: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in files {
        let Some(inside) = path.strip_prefix(MIGRATIONS) else {
            continue;
        };
        let parts: Vec<&str> = inside.split('/').collect();
        match parts.as_slice() {
            // Notes beside the folders.
            [note] if note.ends_with(".md") => {}
            [backend, folder, file @ ("up.sql" | "down.sql")] => {
                if !is_migration(folder) {
                    problems.push(Problem::file(path, "is not in a folder `<digits>_<name>`"));
                }
                let other = if *file == "up.sql" { "down.sql" } else { "up.sql" };
                let pair = format!("{MIGRATIONS}{backend}/{folder}/{other}");
                if !files.contains(&pair) {
                    problems.push(Problem::file(&pair, "is missing"));
                }
            }
            _ => problems.push(Problem::file(path, "is no part of a migration")),
        }
    }
    problems
}

fn is_migration(folder: &str) -> bool {
    let Some((digits, name)) = folder.split_once('_') else {
        return false;
    };
    !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(paths: &[&str]) -> Vec<Problem> {
        let paths: Vec<String> =
            paths.iter().map(|path| format!("{MIGRATIONS}sqlite/{path}")).collect();
        migrations(&paths)
    }

    #[test]
    fn a_missing_document_is_found() {
        assert_eq!(check(&[]).len(), REQUIRED.len());
        let all: Vec<String> = REQUIRED.iter().map(ToString::to_string).collect();
        assert!(check(&all).is_empty());
    }

    #[test]
    fn a_migration_has_both_scripts() {
        assert!(sqlite(&["20260101000000_a/up.sql", "20260101000000_a/down.sql"]).is_empty());
        assert_eq!(sqlite(&["20260101000000_a/up.sql"]).len(), 1);
    }

    #[test]
    fn a_migration_is_named_by_time_and_words() {
        assert_eq!(sqlite(&["first/up.sql", "first/down.sql"]).len(), 2);
        assert_eq!(sqlite(&["20260101_First/up.sql", "20260101_First/down.sql"]).len(), 2);
    }

    #[test]
    fn other_files_beside_migrations_are_found() {
        assert_eq!(sqlite(&["20260101_a/notes.txt"]).len(), 1);
    }
}
