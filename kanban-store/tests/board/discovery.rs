//! Where boards are found: homes, names, files (an environment that is given, not the process's).

use std::{collections::HashMap, path::Path};

use kanban_store::{
    StoreError,
    board::discovery::{Homes, discover, parse_slug, resolve},
};

struct Vars(HashMap<&'static str, String>);

impl Vars {
    fn new(vars: &[(&'static str, &Path)]) -> Self {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        Self(vars.iter().map(|(name, path)| (*name, text(path))).collect())
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.insert(name, value.into());
        self
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

fn touch(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, b"").unwrap();
}

#[test]
fn homes_follow_profiles_to_their_root() {
    let find = |vars: &Vars| Homes::find(&|name| vars.get(name));
    let user = Path::new("/home/me");
    let homes = find(&Vars::new(&[("HOME", user)])).unwrap();
    assert_eq!(homes.home, Path::new("/home/me/.hermes"));
    assert_eq!(homes.database("default"), Path::new("/home/me/.hermes/kanban.db"));

    let profile =
        Vars::new(&[("HOME", user)]).with("HERMES_HOME", "/home/me/.hermes/profiles/work");
    let homes = find(&profile).unwrap();
    assert_eq!(homes.root, Path::new("/home/me/.hermes"));
    assert_eq!(homes.home, Path::new("/home/me/.hermes/profiles/work"));

    let elsewhere = Vars::new(&[]).with("HERMES_HOME", "/srv/hermes/profiles/work");
    assert_eq!(find(&elsewhere).unwrap().root, Path::new("/srv/hermes"));
    let plain = Vars::new(&[("HOME", user)])
        .with("HERMES_HOME", "/srv/hermes")
        .with("HERMES_KANBAN_HOME", "~/boards");
    let homes = find(&plain).unwrap();
    assert_eq!(homes.root, Path::new("/srv/hermes"));
    assert_eq!(homes.database("x"), Path::new("/home/me/boards/kanban/boards/x/kanban.db"));
    assert!(matches!(find(&Vars::new(&[])), Err(StoreError::NoHome)));
}

#[test]
fn boards_are_enumerated_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let boards = home.join("kanban/boards");
    touch(&boards.join("zeta/kanban.db"));
    touch(&boards.join("old/kanban.db"));
    std::fs::write(
        boards.join("old/board.json"),
        r#"{"slug": "other", "name": "Old One", "archived": true}"#,
    )
    .unwrap();
    touch(&boards.join("_archived/x-1/kanban.db"));
    touch(&boards.join("Upper/kanban.db"));
    touch(&boards.join("my-board/board.json"));
    std::fs::create_dir_all(boards.join("nothing")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(boards.join("zeta"), boards.join("alias")).unwrap();

    let vars = Vars::new(&[("HERMES_HOME", &home)]);
    let env = |name: &str| vars.get(name);
    let found = discover(&env).unwrap();
    let slugs: Vec<&str> = found.iter().map(|board| board.slug.as_str()).collect();
    // The alias comes first by name, so the file is known by it.
    let first = if cfg!(unix) { "alias" } else { "zeta" };
    assert_eq!(slugs, ["default", first, "my-board", "old", "upper"]);
    assert!(!found[0].present);
    assert_eq!(found[2].name, "My Board");
    assert_eq!((found[3].archived, found[3].name.as_str()), (true, "Old One"));
    // Hermes would make it in a folder of its own, where names differ by their capitals.
    assert_eq!(found[4].path, boards.join("upper/kanban.db"));
    assert_eq!(found[4].present, boards.join("UPPER").exists());

    let pinned =
        Vars::new(&[("HERMES_HOME", &home), ("HERMES_KANBAN_DB", &boards.join("zeta/kanban.db"))]);
    let found = discover(&|name| pinned.get(name)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, boards.join("zeta/kanban.db"));
    assert!(resolve(&|name| pinned.get(name), Some("anything")).is_ok());
}

#[cfg(unix)]
#[test]
fn links_to_the_native_home_lead_to_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().canonicalize().unwrap();
    let native = user.join(".hermes");
    std::fs::create_dir_all(native.join("profiles/work")).unwrap();
    let link = user.join("elsewhere");
    std::os::unix::fs::symlink(native.join("profiles/work"), &link).unwrap();
    for home in [&link, &user.join(".hermes/../.hermes")] {
        let vars = Vars::new(&[("HOME", &user), ("HERMES_HOME", home)]);
        assert_eq!(Homes::find(&|name| vars.get(name)).unwrap().root, native);
    }
}

/// Law B6.
#[cfg(unix)]
#[test]
fn a_board_is_live_while_one_of_its_names_is() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let boards = home.join("kanban/boards");
    touch(&boards.join("alpha/kanban.db"));
    for alias in ["beta", "gamma"] {
        std::fs::create_dir(boards.join(alias)).unwrap();
        let file = boards.join(alias).join("kanban.db");
        std::os::unix::fs::symlink(boards.join("alpha/kanban.db"), file).unwrap();
    }
    let vars = Vars::new(&[("HERMES_HOME", &home)]);
    let archive = |slug: &str, text: &str| {
        std::fs::write(boards.join(slug).join("board.json"), text).unwrap();
    };
    let found = || {
        let found = discover(&|name| vars.get(name)).unwrap();
        let named = found.into_iter().filter(|board| board.slug != "default");
        named.map(|board| (board.slug, board.archived)).collect::<Vec<_>>()
    };
    archive("alpha", r#"{"archived": true}"#);
    assert_eq!(found(), [("beta".to_owned(), false)]);
    // What Hermes takes for a yes, and what it does not.
    archive("beta", r#"{"archived": "yes"}"#);
    archive("gamma", r#"{"archived": 1}"#);
    assert_eq!(found(), [("alpha".to_owned(), true)]);
    archive("gamma", r#"{"archived": 0}"#);
    assert_eq!(found(), [("gamma".to_owned(), false)]);
    archive("gamma", r#"{"archived": true} or so"#);
    assert_eq!(found(), [("gamma".to_owned(), false)]);
}

#[test]
fn a_command_means_the_board_that_is_named_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    touch(&home.join("kanban/boards/one/kanban.db"));
    touch(&home.join("kanban/boards/two/kanban.db"));
    let slug = |vars: &Vars, given| resolve(&|name| vars.get(name), given).map(|board| board.slug);
    let vars = || Vars::new(&[("HERMES_HOME", home)]);
    assert_eq!(slug(&vars(), None).unwrap(), "default");
    std::fs::write(home.join("kanban/current"), "two\n").unwrap();
    assert_eq!(slug(&vars(), None).unwrap(), "two");
    let env = vars().with("HERMES_KANBAN_BOARD", "one");
    assert_eq!(slug(&env, None).unwrap(), "one");
    assert_eq!(slug(&env, Some(" TWO ")).unwrap(), "two");
    let bad = vars().with("HERMES_KANBAN_BOARD", "no such");
    assert_eq!(slug(&bad, None).unwrap(), "two");
    assert!(matches!(slug(&vars(), Some("three")), Err(StoreError::UnknownBoard { .. })));
}

#[test]
fn names_of_boards_are_plain() {
    assert_eq!(parse_slug(" My-Board_2 ").unwrap(), "my-board_2");
    let long = "a".repeat(65);
    for bad in ["", "-x", "_x", "a b", "ü", "a/b", "..", long.as_str()] {
        assert!(parse_slug(bad).is_err(), "{bad}");
    }
}
