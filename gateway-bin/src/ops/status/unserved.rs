//! Rows that are not served here: why, and what to do where nobody else serves them either.

use std::{collections::BTreeMap, path::Path};

use super::Unserved;
use crate::{
    ops::{
        counted, lacking,
        subs::{Reach, SubLine},
    },
    wiring::Outlook,
};

/// Rows that we do not serve, by board, platform and reason.
pub(super) fn rows(subs: &[SubLine]) -> Vec<Unserved> {
    let mut counts: BTreeMap<(&str, &str, &str, bool), usize> = BTreeMap::new();
    for sub in subs {
        let by_nobody = match sub.reach {
            Reach::Served => continue,
            Reach::Elsewhere => false,
            Reach::Nobody => true,
        };
        *counts.entry((&sub.board, &sub.platform, &sub.served, by_nobody)).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|((board, platform, reason, by_nobody), rows)| Unserved {
            board: board.to_owned(),
            platform: platform.to_owned(),
            rows,
            reason: reason.to_owned(),
            by_nobody,
        })
        .collect()
}

/// What is to be said of rows that nobody serves.
pub(super) fn reasons(all: &[Unserved], outlook: &Outlook, home: &Path) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str), (usize, Vec<&str>)> = BTreeMap::new();
    for rows in all.iter().filter(|rows| rows.by_nobody) {
        let (count, boards) = groups.entry((&rows.platform, &rows.reason)).or_default();
        *count += rows.rows;
        boards.push(&rows.board);
    }
    let said = groups.iter().map(|((platform, reason), (count, boards))| {
        let s = if boards.len() == 1 { "" } else { "s" };
        format!(
            "board{s} {}: {} of {platform} served by nobody: {reason}; {}",
            boards.join(", "),
            counted(*count, "row"),
            advice(outlook, home, platform)
        )
    });
    said.collect()
}

/// What keeps `run` from starting, where it is not a reason above already.
pub(super) fn refused(all: &[Unserved], outlook: &Outlook) -> Vec<String> {
    let is_said =
        |platform: &str| all.iter().any(|rows| rows.by_nobody && rows.platform == platform);
    let wanted = outlook.unusable.iter().filter(|one| one.is_wanted && !is_said(one.platform));
    wanted.map(|one| format!("{}; `run` does not start with it", one.problem)).collect()
}

/// What is set and has no effect, and why that is no reason above where no row needs it to have one.
pub(super) fn problems(all: &[Unserved], outlook: &Outlook) -> Vec<String> {
    let found = outlook.unusable.iter().filter(|one| !one.is_wanted);
    let told = found.map(|one| match all.iter().any(|rows| rows.platform == one.platform) {
        true => one.problem.to_string(),
        false => format!("{}; no row needs it, so nothing is missed", one.problem),
    });
    told.collect()
}

fn advice(outlook: &Outlook, home: &Path, platform: &str) -> String {
    let remove = "take them off, see `kanban-gateway sub list`, with `kanban-gateway sub remove`";
    match lacking::remedy(outlook, home, platform) {
        None => remove.to_owned(),
        // The rows are right, and the settings are not.
        Some(mend) if outlook.unusable.iter().any(|one| one.platform == platform) => mend,
        Some(remedy) => format!("{remedy}; or {remove}"),
    }
}
