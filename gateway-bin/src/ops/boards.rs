//! Boards: which there are, and a new one.

use kanban_store::{
    board::discovery::{self, Homes},
    write,
};
use serde::Serialize;

use super::{Context, on_board, unix_now};

/// A board in a list.
#[derive(Clone, Debug, Serialize)]
pub struct BoardLine {
    /// Its name in commands.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Whether the file is there.
    pub present: bool,
    /// Whether it is archived, and so not served.
    pub archived: bool,
}

/// Every board of Hermes' home.
pub fn list(ctx: &Context) -> anyhow::Result<Vec<BoardLine>> {
    let boards = discovery::discover(&|name| ctx.variable(name))?;
    Ok(boards
        .into_iter()
        .map(|board| BoardLine {
            slug: board.slug,
            name: board.name,
            path: board.path.display().to_string(),
            present: board.present,
            archived: board.archived,
        })
        .collect())
}

/// Makes a board that Hermes can open; answers with its file.
pub fn create(ctx: &Context, slug: &str, name: Option<&str>) -> anyhow::Result<String> {
    let homes = Homes::find(&|name| ctx.variable(name))?;
    let path = write::create_named_board(&homes, slug, name, unix_now())
        .map_err(|error| on_board(error, slug))?;
    Ok(path.display().to_string())
}
