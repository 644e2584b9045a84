//! Which board is the current one, and boards that are put away: files beside the boards, as Hermes keeps
//! them.

use std::path::{Path, PathBuf};

use crate::{
    board::{
        discovery::{DEFAULT_SLUG, Homes, parse_slug},
        read_small,
    },
    error::StoreError,
};

/// Makes a board the one that commands mean when none is given.
pub fn use_board(homes: &Homes, slug: &str) -> Result<(), StoreError> {
    let slug = known(homes, slug)?;
    let file = homes.current_file();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(failed(&file))?;
    }
    replace(&file, &format!("{slug}\n"))
}

/// Puts a board away, with everything in its folder; answers with the folder's new place.
///
/// Whoever has the board open keeps it open, at its new place: what is written there meanwhile is not
/// lost. `default` stays: it is always there.
pub fn archive_board(homes: &Homes, slug: &str, now: i64) -> Result<PathBuf, StoreError> {
    let slug = known(homes, slug)?;
    if slug == DEFAULT_SLUG {
        return Err(StoreError::BadValue {
            what: "board to put away",
            value: slug,
            advice: "this one is always there; archive its tasks instead",
        });
    }
    let folder = homes.boards().join(&slug);
    let archive = homes.boards().join("_archived");
    std::fs::create_dir_all(&archive).map_err(failed(&archive))?;
    let place = (0_u32..1_000)
        .map(|turn| match turn {
            0 => archive.join(format!("{slug}-{now}")),
            turn => archive.join(format!("{slug}-{now}-{turn}")),
        })
        .find(|place| place.symlink_metadata().is_err());
    let Some(place) = place else {
        return Err(StoreError::BoardExists { path: archive });
    };
    let current = homes.current_file();
    let is_current = read_small(&current).is_ok_and(|text| text.trim() == slug);
    std::fs::rename(&folder, &place).map_err(failed(&folder))?;
    if is_current {
        // Gone already is as good.
        drop(std::fs::remove_file(&current));
    }
    Ok(place)
}

fn known(homes: &Homes, slug: &str) -> Result<String, StoreError> {
    let slug = parse_slug(slug)?;
    if homes.exists(&slug) { Ok(slug) } else { Err(StoreError::UnknownBoard { slug }) }
}

#[expect(clippy::disallowed_methods, reason = "a line of text beside the boards, no board")]
fn replace(file: &Path, text: &str) -> Result<(), StoreError> {
    // Whoever reads it meanwhile sees the old name or the new one.
    let draft = file.with_extension(format!("new-{:016x}", fastrand::u64(..)));
    std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, file)).map_err(failed(file))
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError + use<'_> {
    move |source| StoreError::ArrangeBoards { path: path.into(), source }
}
