//! The same homes and variables, asked of Hermes' own functions and of us: which board is meant, and
//! which boards there are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gateway_bin::config::{self, Env};
use gateway_bin::hermes::board_variables;
use gateway_bin::ops::{Context, boards};
use kanban_store::board::discovery;

use crate::support::hermes::Release;

/// What somebody finds: the file that a command without `--board` means, and the boards that a
/// notifier serves as (slug, name, file).
type Found = (PathBuf, Vec<(String, String, PathBuf)>);

/// A user's folder with a Hermes home in it, and variables.
struct Place {
    folder: tempfile::TempDir,
    user: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().canonicalize().unwrap();
        fs::create_dir(user.join(".hermes")).unwrap();
        Self { folder, user, variables: Vec::new() }
    }

    /// `{}` in the value is the user's folder.
    fn set(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.replace("{}", self.user.to_str().unwrap())));
        self
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.user.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("{}", self.user.to_str().unwrap())).unwrap();
        self
    }

    /// Boards below a home, by name; each is an empty file.
    fn boards(self, home: &str, names: &[&str]) -> Self {
        let file = |slug: &&str| format!("{home}/kanban/boards/{slug}/kanban.db");
        names.iter().map(file).fold(self, |place, file| place.file(&file, ""))
    }

    fn link(self, to: &str, from: &str) -> Self {
        fs::create_dir_all(self.user.join(to)).unwrap();
        symlink(self.user.join(to), self.user.join(from)).unwrap();
        self
    }

    fn hermes(&self, release: &Release) -> Found {
        let variables: Vec<(&str, &Path)> =
            self.variables.iter().map(|(name, value)| (*name, Path::new(value))).collect();
        let home = [("HOME", self.user.as_path())];
        let said = release.process(&[&home, &*variables].concat()).run(&["where"]).json();
        let mut found: Vec<(String, String, PathBuf)> = Vec::new();
        for board in said["boards"].as_array().unwrap() {
            let text = |at: usize| board[at].as_str().unwrap().to_owned();
            let path = discovery::real(Path::new(&text(2)));
            let archived = !matches!(&*text(3), "" | "False");
            // As its notifier goes over them.
            if !archived && found.iter().all(|(_, _, known)| *known != path) {
                found.push((text(0), text(1), path));
            }
        }
        (discovery::real(Path::new(said["meant"].as_str().unwrap())), found)
    }

    fn ours(&self) -> Found {
        let variables = self.variables.iter().cloned();
        let env: Env =
            variables.chain([("HOME", self.user.to_str().unwrap().to_owned())]).collect();
        let config = config::load(None, &env).unwrap().config;
        let meant = discovery::resolve(&board_variables(&config.hermes_home, &env), None).unwrap();
        let found = boards::list(&Context { config, env }).unwrap();
        let live = found.into_iter().filter(|board| !board.archived);
        (meant.path, live.map(|board| (board.slug, board.name, board.path.into())).collect())
    }
}

#[track_caller]
fn assert_agreed(places: Vec<(&str, Place)>) {
    let Some(release) = Release::require("0.19.0") else { return };
    for (what, place) in places {
        assert_eq!(
            place.ours(),
            place.hermes(&release),
            "{what}; {}",
            place.folder.path().display()
        );
    }
}

#[test]
fn b6_homes_and_profiles() {
    let place = || Place::new().boards(".hermes", &["one"]).boards("data", &["two"]);
    let home = |value: &str| place().set("HERMES_HOME", value);
    assert_agreed(vec![
        ("the native home", place()),
        ("the native home by name", home("{}/.hermes")),
        ("a profile of it", home("{}/.hermes/profiles/work")),
        ("some folder below it", home("{}/.hermes/deep/down")),
        ("a way round to it", home("{}/data/../.hermes")),
        ("another home", home("{}/data")),
        ("a slash at the end", home("{}/data/")),
        ("a profile of another home", home("{}/data/profiles/work")),
        ("a folder called profiles", home("{}/profiles")),
        ("a home that is not there", home("{}/nowhere")),
        ("a link to a native profile", home("{}/link").link(".hermes/profiles/work", "link")),
        ("a link to another home", home("{}/link").link("data", "link")),
        ("a link to another home's profile", home("{}/link").link("data/profiles/work", "link")),
        ("a native home that is a link", {
            let place = home("{}/data");
            fs::remove_dir_all(place.user.join(".hermes")).unwrap();
            place.link("data", ".hermes")
        }),
        ("boards elsewhere", place().set("HERMES_KANBAN_HOME", "{}/data")),
        ("boards elsewhere, from a profile", {
            home("{}/.hermes/profiles/work").set("HERMES_KANBAN_HOME", "{}/data")
        }),
        ("a tilde", place().set("HERMES_KANBAN_HOME", "~/data")),
        ("blanks around", place().set("HERMES_KANBAN_HOME", "  {}/data ")),
        ("only blanks", place().set("HERMES_KANBAN_HOME", "  ")),
        ("nothing in it", place().set("HERMES_KANBAN_HOME", "")),
    ]);
}

#[test]
fn b6_the_board_that_is_meant() {
    let place = || Place::new().boards(".hermes", &["one", "two"]);
    let named = |value: &str| place().set("HERMES_KANBAN_BOARD", value);
    let current = |text: &str| place().file(".hermes/kanban/current", text);
    assert_agreed(vec![
        ("none", place()),
        ("a name", named("one")),
        ("a name that is written otherwise", named(" ONE ")),
        ("the default", named("default").file(".hermes/kanban/current", "two")),
        ("a board that is not there", named("three")),
        ("no name", named("no such")),
        ("a way out", named("../../x")),
        ("a description without a file", {
            named("three").file(".hermes/kanban/boards/three/board.json", "{}")
        }),
        ("the current one", current("two\n")),
        ("the current one, written otherwise", current("  Two  \n\n")),
        ("a current one that is not there", current("three\n")),
        ("two lines", current("one\ntwo\n")),
        ("an empty file", current("")),
        ("a name before the current one", current("two").set("HERMES_KANBAN_BOARD", "one")),
        ("a wrong name before it", current("two").set("HERMES_KANBAN_BOARD", "three")),
        ("a file", place().set("HERMES_KANBAN_DB", "{}/one.db")),
        ("a file before a name", named("one").set("HERMES_KANBAN_DB", "{}/one.db")),
        ("a file with a tilde and blanks", place().set("HERMES_KANBAN_DB", " ~/some/one.db ")),
        ("no file", current("two").set("HERMES_KANBAN_DB", " ")),
    ]);
}

#[test]
fn b6_variables_in_hermes_own_file() {
    let place = || Place::new().boards(".hermes", &["one"]).boards("data", &["two"]);
    let file = |text: &str| place().file(".hermes/.env", text);
    assert_agreed(vec![
        ("boards elsewhere", file("HERMES_KANBAN_HOME={}/data\n")),
        ("quoted", file("export HERMES_KANBAN_HOME=\"~/data\" # there\n")),
        ("a board", file("HERMES_KANBAN_BOARD=one\n")),
        ("a file", file("HERMES_KANBAN_DB={}/one.db\n")),
        ("before the environment", {
            file("HERMES_KANBAN_HOME={}/data\n").set("HERMES_KANBAN_HOME", "{}/nowhere")
        }),
        ("nothing, before the environment", {
            file("HERMES_KANBAN_HOME=\n").set("HERMES_KANBAN_HOME", "{}/data")
        }),
        ("a profile's own file", {
            let place = place().set("HERMES_HOME", "{}/.hermes/profiles/work");
            place.file(".hermes/profiles/work/.env", "HERMES_KANBAN_HOME={}/data\n")
        }),
        ("the root's file, for a profile", {
            file("HERMES_KANBAN_HOME={}/data\n").set("HERMES_HOME", "{}/.hermes/profiles/work")
        }),
    ]);
}

#[test]
fn b6_the_boards_that_there_are() {
    let place = || Place::new().boards(".hermes", &["b", "a-1", "my_board-2"]);
    let about = |slug: &str, text: &str| {
        place().file(&format!(".hermes/kanban/boards/{slug}/board.json"), text)
    };
    let boards = ".hermes/kanban/boards";
    assert_agreed(vec![
        ("names", place()),
        ("names that are none", place().boards(".hermes", &["_archived/x-1", "-x", "a b", ".c"])),
        ("capitals", place().boards(".hermes", &["Upper"])),
        ("capitals beside small letters", place().boards(".hermes", &["Upper", "upper"])),
        ("a folder of the default board", place().boards(".hermes", &["default"])),
        ("empty folders and files", {
            let place = place().file(&format!("{boards}/file"), "");
            fs::create_dir(place.user.join(boards).join("empty")).unwrap();
            place
        }),
        ("a link to a board", place().link(&format!("{boards}/b"), &format!("{boards}/alias"))),
        ("a link that comes later", place().link(&format!("{boards}/b"), &format!("{boards}/z"))),
        ("a description", about("b", r#"{"slug": "other", "name": "Die Über-Liste"}"#)),
        ("the default's description", about("default", r#"{"name": "Main"}"#)),
        ("an archived default", about("default", r#"{"archived": true}"#)),
        ("archived", about("b", r#"{"archived": true}"#)),
        ("archived by another value", about("b", r#"{"archived": "false"}"#)),
        ("not archived by another value", about("b", r#"{"archived": 0}"#)),
        ("a list", about("b", r#"[{"archived": true}]"#)),
        ("broken", about("b", r#"{"archived": true, "name": "#)),
        ("only a description", about("c", r#"{"name": "Soon"}"#)),
        ("one file for all", place().set("HERMES_KANBAN_DB", "{}/one.db")),
        ("one file for all, the default archived", {
            about("default", r#"{"archived": true}"#).set("HERMES_KANBAN_DB", "{}/one.db")
        }),
        ("no boards", Place::new()),
    ]);
}
