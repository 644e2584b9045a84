//! `board`: boards by name.

use std::process::ExitCode;

use super::{
    args::BoardCommand,
    ask::list,
    exit,
    output::{field, print_json},
};
use crate::ops::{Context, boards};

pub(super) fn board(command: BoardCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        BoardCommand::List { json } => {
            return list(
                json,
                &boards::list(ctx)?,
                &["", "SLUG", "NAME", "STATE", "PATH"],
                |board| {
                    let state = match (board.present, board.archived) {
                        (_, true) => "archived",
                        (true, false) => "present",
                        (false, false) => "no file yet",
                    };
                    let current = if board.current { "*" } else { "" };
                    [current, &board.slug, &board.name, state, &board.path]
                        .map(str::to_owned)
                        .to_vec()
                },
            );
        }
        BoardCommand::Show { slug, json } => {
            let shown = boards::show(ctx, slug.as_deref())?;
            if json.json {
                return print_json(&shown);
            }
            let current = if shown.line.current { " (the current one)" } else { "" };
            field("board", &format!("{}{current}", shown.line.slug));
            field("name", &shown.line.name);
            field("file", &shown.line.path);
            let tasks: Vec<String> =
                shown.tasks.iter().map(|(status, count)| format!("{count} {status}")).collect();
            field("tasks", &if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") });
            field("newest event", &shown.newest_event.to_string());
            field(
                "writable",
                if shown.writable { "yes" } else { "no: nothing is delivered from it" },
            );
            field("slow", shown.slow.as_deref().unwrap_or_default());
            field("columns", &shown.columns.join(", "));
        }
        BoardCommand::Create { slug, name } => {
            say!("{}", boards::create(ctx, &slug, name.as_deref())?);
        }
        BoardCommand::Archive { slug, force } => {
            say!("{}", boards::archive(ctx, &slug, force)?);
        }
        BoardCommand::Use { slug } => {
            let slug = slug.trim().to_lowercase();
            if let Some(other) = boards::use_board(ctx, &slug)? {
                say!("`{slug}` is the current board; here the environment names `{other}`.");
                return Ok(exit::PARTLY.into());
            }
            say!("Commands mean `{slug}` now, here and in Hermes.");
        }
    }
    Ok(ExitCode::SUCCESS)
}
