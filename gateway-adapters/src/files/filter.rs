//! Which files may leave, by where they really lie. Every list of this is here.

use std::path::Path;

use super::Places;

/// Below a Hermes home: what its tools make for people.
const CACHES: &[&str] = &[
    "audio_cache",
    "browser_screenshots",
    "cache/audio",
    "cache/documents",
    "cache/images",
    "cache/screenshots",
    "cache/videos",
    "document_cache",
    "image_cache",
    "video_cache",
];

/// Below the folder of a board: where workers work, and what they handed over.
const WORK: &[&str] = &["attachments", "workspaces"];

/// Nothing below these is taken, wherever else it may be.
const SYSTEM: &[&str] = &[
    "/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/var/lib", "/var/log", "/var/run",
];

/// Folders of keys, wherever they are.
const KEYS: &[&str] =
    &[".aws", ".azure", ".docker", ".gcloud", ".gnupg", ".kube", ".ssh", "mcp-tokens"];

/// The same, below the home of whoever we run as.
const OF_USER: &[&str] =
    &[".config", ".local/share/keyrings", ".password-store", "Library/Keychains"];

/// Files of keys, wherever they are.
const KEY_FILES: &[&str] = &[".env", ".git-credentials", ".netrc", ".npmrc", ".pgpass", ".pypirc"];

/// Files of Hermes that hold keys, anywhere below its homes.
const OF_HERMES: &[&str] = &[
    ".anthropic_oauth.json",
    "auth.json",
    "auth.lock",
    "bws_cache.json",
    "config.yaml",
    "credentials",
    "google_oauth.json",
    "google_oauth_pending.json",
    "google_token.json",
    "slack_tokens.json",
    "webhook_subscriptions.json",
];

/// Folders of Hermes that hold keys, anywhere below its homes.
const FOLDERS_OF_HERMES: &[&str] = &["credentials", "pairing"];

/// Whether a file may leave; its path has no links in it any more, and those of the places neither.
pub(super) fn may_leave(path: &Path, places: &Places) -> bool {
    if is_secret(path, places) {
        return false;
    }
    let is_below = |folder: &Path| is_inside(path, folder);
    let mut homes = places.homes.iter();
    let is_cache = homes.any(|home| CACHES.iter().any(|cache| is_below(&home.join(cache))));
    if is_cache || places.allowed.iter().any(|folder| is_below(folder)) {
        return true;
    }
    if places.strict {
        return false;
    }
    let mut homes = places.homes.iter().filter(|home| is_below(home)).peekable();
    if homes.peek().is_some() {
        // Everything else there is Hermes' own.
        return homes.any(|home| is_work(path, home));
    }
    let is_own = places.user.as_deref().is_some_and(is_below);
    is_own || !SYSTEM.iter().any(|folder| is_below(Path::new(folder)))
}

fn is_secret(path: &Path, places: &Places) -> bool {
    let is_one = |part: &str, of: &[&str]| of.iter().any(|one| one.eq_ignore_ascii_case(part));
    let names = || path.iter().filter_map(|part| part.to_str());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_hermes = places.homes.iter().any(|home| is_inside(path, home));
    names().any(|part| is_one(part, KEYS))
        || is_one(name, KEY_FILES)
        || name.starts_with(".env.")
        || (of_hermes && is_one(name, OF_HERMES))
        || (of_hermes && names().any(|part| is_one(part, FOLDERS_OF_HERMES)))
        || places
            .user
            .as_deref()
            .is_some_and(|user| OF_USER.iter().any(|folder| is_inside(path, &user.join(folder))))
}

/// Whether a file lies where workers work: of the default board, or of another one.
fn is_work(path: &Path, home: &Path) -> bool {
    let Ok(rest) = path.strip_prefix(home.join("kanban")) else {
        return false;
    };
    let parts: Vec<&str> = rest.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["boards", _, folder, _, ..] | [folder, _, ..] => WORK.contains(folder),
        _ => false,
    }
}

/// Whether a path is below a folder; nothing is below the root, which would be everything.
fn is_inside(path: &Path, folder: &Path) -> bool {
    folder.parent().is_some() && path != folder && path.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            user: Some("/home/u".into()),
            homes: vec!["/home/u/.hermes".into(), "/home/u/.hermes/profiles/w".into()],
            allowed: vec!["/srv/out".into(), "/var/lib/work".into()],
            kept: Vec::new(),
            strict: false,
        }
    }

    #[test]
    fn report_44_what_is_internal_stays_and_what_was_made_goes() {
        for (path, leaves) in [
            ("/home/u/out.pdf", true),
            ("/tmp/work/out.pdf", true),
            ("/home/u/.hermes/state.json", false),
            ("/home/u/.hermes/kanban.db", false),
            ("/home/u/.hermes/logs/agent.log", false),
            ("/home/u/.hermes/cache/images/a.png", true),
            ("/home/u/.hermes/cache/bws_cache.json", false),
            ("/home/u/.hermes/profiles/w/browser_screenshots/a.png", true),
            ("/home/u/.hermes/profiles/w/config.yaml", false),
            ("/home/u/.hermes/kanban/workspaces/t_1/out.pdf", true),
            ("/home/u/.hermes/kanban/workspaces/t_1/auth.json", false),
            ("/home/u/.hermes/kanban/boards/ops/attachments/t_1/a.csv", true),
            ("/home/u/.hermes/kanban/boards/ops/kanban.db", false),
            ("/home/u/.hermes/kanban/boards/workspaces", false),
            ("/home/u/.hermes/pairing/a.json", false),
            ("/home/u/.ssh/id_ed25519", false),
            ("/home/u/project/.SSH/key", false),
            ("/home/u/.config/x/token.txt", false),
            ("/home/u/project/.config/x.toml", true),
            ("/home/u/project/config.yaml", true),
            ("/home/u/project/.env", false),
            ("/home/u/project/.env.local", false),
            ("/etc/passwd", false),
            ("/etcetera/a.txt", true),
            ("/proc/1/environ", false),
            ("/var/lib/x/a.db", false),
            ("/var/www/a.html", true),
            ("/var/lib/work/a.txt", true),
            ("/var/lib/work/.ssh/key", false),
            ("/srv/out/a.txt", true),
        ] {
            assert_eq!(may_leave(Path::new(path), &places()), leaves, "{path}");
        }
    }

    #[test]
    fn the_home_of_whoever_we_run_as_is_no_system_folder() {
        let root = Places { user: Some("/var/lib/me".into()), ..Places::default() };
        assert!(may_leave(Path::new("/var/lib/me/out.pdf"), &root));
        assert!(!may_leave(Path::new("/var/lib/me/.config/token"), &root));
        // A home at the root is none.
        let everything = Places { user: Some("/".into()), allowed: vec!["/".into()], ..root };
        assert!(!may_leave(Path::new("/etc/shadow"), &everything));
    }

    #[test]
    fn strictly_only_what_is_allowed_goes() {
        let strict = Places { strict: true, ..places() };
        for (path, leaves) in [
            ("/home/u/out.pdf", false),
            ("/srv/out/a.txt", true),
            ("/home/u/.hermes/cache/documents/a.pdf", true),
            ("/home/u/.hermes/kanban/workspaces/t_1/out.pdf", false),
        ] {
            assert_eq!(may_leave(Path::new(path), &strict), leaves, "{path}");
        }
    }
}
