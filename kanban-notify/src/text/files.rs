//! What a message says of files: which are attached, and which are not and why. Names only.

use super::clean;
use crate::{
    artifacts::{self, Sorted, Take, Wanted, name},
    message::Span,
    record::Facts,
};

/// Names that are told; of others only how many there are.
const TOLD: usize = 10;
/// Longest name told, in characters.
const NAME: usize = 60;

/// The lines about files that were looked at.
pub fn spans(sorted: &Sorted) -> Vec<Span> {
    let attached = sorted.files.iter().map(|file| (file.name.clone(), None)).collect();
    let refused = sorted.refused.iter().map(|(name, why)| (name.clone(), Some(why.words())));
    [line("Attached", attached), line("Not attached", refused.collect())].concat()
}

/// The line about files where none can be sent.
pub fn untaken(wanted: &[Wanted]) -> Vec<Span> {
    let listed = wanted.iter().filter(|wanted| wanted.listed);
    line("Files, not sent here", listed.map(|wanted| (name(&wanted.path), None)).collect())
}

/// The line that there are more files than anybody looks at.
pub fn more(facts: &Facts, take: Take) -> Option<Span> {
    let more = take != Take::Off && artifacts::has_more(facts);
    more.then(|| Span::ours("\nMore files were named than are looked at."))
}

/// The name of a file as it is told.
pub fn shown(name: &str) -> String {
    clean::one_line(name, NAME)
}

fn line(label: &str, names: Vec<(String, Option<&str>)>) -> Vec<Span> {
    if names.is_empty() {
        return Vec::new();
    }
    let rest = names.len().saturating_sub(TOLD);
    let mut spans = vec![Span::ours(format!("\n{label}: "))];
    for (number, (name, why)) in names.into_iter().take(TOLD).enumerate() {
        if number > 0 {
            spans.push(Span::ours(", "));
        }
        spans.push(Span::quoted(shown(&name)));
        spans.extend(why.map(|why| Span::ours(format!(" ({why})"))));
    }
    if rest > 0 {
        spans.push(Span::ours(format!(" and {rest} more")));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        artifacts::{Attachment, Refusal},
        message::flat,
    };

    #[test]
    fn what_is_attached_and_what_is_not_is_told_by_name_alone() {
        let file = |name: &str| Attachment {
            path: format!("/secret/place/{name}"),
            name: name.to_owned(),
            size: 1,
            mark: String::new(),
        };
        let sorted = Sorted {
            files: vec![file("a.pdf"), file("a.pdf")],
            refused: vec![("b".into(), Refusal::Missing), ("[kanban].md".into(), Refusal::Denied)],
        };
        insta::assert_snapshot!(flat(&spans(&sorted)), @r"

        Attached: a.pdf, a.pdf
        Not attached: b (not there), (kanban).md (not allowed)
        ");
        assert!(spans(&Sorted::default()).is_empty());
    }

    #[test]
    fn many_names_are_counted_instead_of_told() {
        let wanted: Vec<Wanted> = (0..13)
            .map(|number| Wanted { path: format!("/a/{number}"), listed: number > 0 })
            .collect();
        let told = flat(&untaken(&wanted));
        assert_eq!(told, "\nFiles, not sent here: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
    }
}
