//! Tasks that a worker names when it completes its own: are they there, and did it make them?

use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, sqlite::SqliteConnection};
use serde::Serialize;

use super::{
    event, parents,
    task::Found,
    text::{first_line, strip},
};
use crate::board::schema::{task_links, tasks};

/// What a worker says that it made.
pub(super) struct Cards {
    /// Those that it did make.
    pub verified: Vec<String>,
    /// The others.
    pub phantom: Vec<String>,
}

#[derive(Serialize)]
struct Refused<'a> {
    phantom_cards: &'a [String],
    verified_cards: &'a [String],
    summary_preview: Option<String>,
}

#[derive(Serialize)]
struct Suspected<'a> {
    phantom_refs: &'a [String],
    source: &'static str,
}

/// The longest preview of a summary, in characters.
const PREVIEW_CHARS: usize = 200;

/// Sorts what a worker says that it made: a task counts if the worker or the completed task made
/// it, or if it waits for the completed task.
pub(super) fn verify(
    connection: &mut SqliteConnection,
    task: &str,
    found: &Found,
    named: &[String],
) -> QueryResult<Cards> {
    let mut cards = Cards { verified: Vec::new(), phantom: Vec::new() };
    for card in unique(named.iter().map(|card| strip(card)).filter(|card| !card.is_empty())) {
        let maker: Vec<Option<String>> =
            tasks::table.find(&card).select(tasks::created_by).load(connection)?;
        let maker = maker.into_iter().next().flatten();
        let linked: i64 = task_links::table
            .filter(task_links::parent_id.eq(task))
            .filter(task_links::child_id.eq(&card))
            .count()
            .get_result(connection)?;
        let worker = found.assignee.as_deref().filter(|name| !name.is_empty());
        let ours = maker.is_some_and(|maker| {
            linked > 0 || maker == task || worker.is_some_and(|worker| worker == maker)
        });
        if ours { &mut cards.verified } else { &mut cards.phantom }.push(card);
    }
    Ok(cards)
}

/// Says on the task that it was not completed because of them.
pub(super) fn refuse(
    connection: &mut SqliteConnection,
    task: &str,
    cards: &Cards,
    said: Option<&str>,
    now: i64,
) -> QueryResult<()> {
    let payload = Refused {
        phantom_cards: &cards.phantom,
        verified_cards: &cards.verified,
        summary_preview: said.and_then(|said| first_line(said, PREVIEW_CHARS)),
    };
    let kind = "completion_blocked_hallucination";
    event::append(connection, task, None, kind, Some(&payload), now).map(drop)
}

/// Says on the task which ids in these texts are no tasks. Only a hint: nothing is refused.
pub(super) fn suspect(
    connection: &mut SqliteConnection,
    task: &str,
    run: Option<i64>,
    texts: &str,
    now: i64,
) -> QueryResult<()> {
    let named = unique(ids_in(texts));
    let phantom = parents::missing(connection, &named)?;
    if phantom.is_empty() {
        return Ok(());
    }
    let payload = Suspected { phantom_refs: &phantom, source: "completion_summary" };
    let kind = "suspected_hallucinated_references";
    event::append(connection, task, run, kind, Some(&payload), now).map(drop)
}

fn unique<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for id in ids {
        if all.iter().all(|known| known != id) {
            all.push(id.to_owned());
        }
    }
    all
}

/// The words of a text that look like ids of tasks: `t_` and at least eight hexadecimal digits.
fn ids_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| {
        word.strip_prefix("t_").is_some_and(|digits| {
            digits.len() >= 8 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_whole_words() {
        let text = "t_0123456789ab, (t_deadbeef) xt_11111111 t_1234567 t_22222222g t_DEADBEEF \
                    _t_33333333 ét_44444444 t_55555555é t_66666666-t_77777777";
        let found: Vec<&str> = ids_in(text).collect();
        assert_eq!(found, ["t_0123456789ab", "t_deadbeef", "t_66666666", "t_77777777"]);
    }
}
