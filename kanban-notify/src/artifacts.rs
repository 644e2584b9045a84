//! The files that a completed task names: which are wanted, which go with a message, and why others do not.

mod scan;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    event::{Event, Kind, Task},
    payload,
    record::Facts,
    text::clean,
};

/// Most files of one event that are looked at.
pub const MOST_WANTED: usize = 32;
/// Longest path of a file that is looked at, in bytes.
pub const PATH_BYTES: usize = 1_024;
/// Longest name of a file, in characters.
pub const NAME_CHARS: usize = 100;

/// A file that the worker named as its deliverable.
const LISTED: &str = "artifact";
/// A file whose path stands in what the worker wrote.
const FOUND: &str = "found";
/// Files were named that are not looked at: how many, or nothing where nobody knows.
const MORE: &str = "artifacts_more";

/// What the operator decided about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Artifacts {
    /// Which are wanted.
    pub take: Take,
    /// The most files of one message.
    pub files: usize,
    /// The most bytes of one file.
    pub bytes: u64,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self { take: Take::Listed, files: 10, bytes: 20 << 20 }
    }
}

/// Which files of a task are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// None.
    Off,
    /// Those that the worker listed.
    Listed,
    /// Those, and those whose paths stand in the summary or in the result.
    ListedAndFound,
}

/// A file that is wanted, before anybody looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its path as it was given.
    pub path: String,
    /// Whether the worker listed it: only then is it told that it is missing.
    pub listed: bool,
}

/// A file that was looked at and may be sent, as it was at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Where it really is.
    pub path: String,
    /// Its name for people.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What tells it from another file, and from itself after a change.
    pub mark: String,
}

/// Why a file is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there.
    Missing,
    /// It is a folder, a pipe, a device, or its path is none.
    NotAFile,
    /// It lies where nothing is taken from.
    Denied,
    /// It cannot be read.
    Unreadable,
    /// It is larger than is allowed here.
    TooLarge,
    /// There are more files than are allowed.
    TooMany,
    /// Nobody could look at it in time.
    TooLate,
}

impl Refusal {
    /// The reason in words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Missing => "not there",
            Self::NotAFile => "not a file",
            Self::Denied => "not allowed",
            Self::Unreadable => "cannot be read",
            Self::TooLarge => "too large",
            Self::TooMany => "too many files",
            Self::TooLate => "could not be looked at in time",
        }
    }
}

/// What a channel takes besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The most bytes of one file; 0 where it takes none.
    pub file: u64,
    /// The most bytes of all files of a message.
    pub total: u64,
}

impl Takes {
    /// Text alone.
    pub const NOTHING: Self = Self { file: 0, total: 0 };

    /// Files up to a size, as many as the operator allows.
    pub const fn files(file: u64) -> Self {
        Self { file, total: u64::MAX }
    }
}

/// The files of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Those that go.
    pub files: Vec<Attachment>,
    /// The names of those that were listed and do not, with the reason.
    pub refused: Vec<(String, Refusal)>,
}

/// The files that an event lists, as notes of its facts.
pub(crate) fn notes(payload: &Value, cut: bool) -> Vec<(String, String)> {
    let listed = payload.get("artifacts").and_then(Value::as_array);
    let mut listed: Vec<&str> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|path| is_fit(path))
        .collect();
    let mut more = String::new();
    if cut && listed.pop().is_some() {
        // The cut may go through the last one.
        more.push('?');
    } else if let Some(rest) = listed.len().checked_sub(MOST_WANTED).filter(|rest| *rest > 0) {
        more = rest.to_string();
    }
    listed.truncate(MOST_WANTED);
    let notes = listed.into_iter().map(|path| (LISTED.to_owned(), path.to_owned()));
    notes.chain((!more.is_empty()).then(|| (MORE.to_owned(), more))).collect()
}

/// Adds the files whose paths stand in what the worker wrote: first the summary, then the result.
pub fn find(facts: &mut Facts, event: &Event, task: Option<&Task>) {
    if event.kind != Kind::Completed {
        return;
    }
    let text = event.payload.as_deref().unwrap_or_default();
    let payload = payload::parse(text, event.payload_cut.is_some());
    let summary = payload.get("summary").and_then(Value::as_str);
    let result = task.and_then(|task| task.result.as_deref());
    let texts = [summary, result].into_iter().flatten();
    let found: Vec<String> = texts.flat_map(scan::paths).filter(|path| is_fit(path)).collect();
    for path in found {
        let known = facts.notes.iter().any(|(name, known)| is_path(name) && *known == path);
        if !known && facts.notes.iter().filter(|(name, _)| is_path(name)).count() < MOST_WANTED {
            facts.notes.push((FOUND.to_owned(), path));
        }
    }
}

/// The files of an event that are wanted.
pub fn wanted(facts: &Facts, take: Take) -> Vec<Wanted> {
    let wanted = |(name, path): &(String, String)| {
        let listed = name == LISTED && take != Take::Off;
        let found = name == FOUND && take == Take::ListedAndFound;
        (listed || found).then(|| Wanted { path: path.clone(), listed })
    };
    facts.notes.iter().filter_map(wanted).collect()
}

/// Whether files were named that nobody looks at.
pub(crate) fn has_more(facts: &Facts) -> bool {
    facts.notes.iter().any(|(name, _)| name == MORE)
}

/// Which of the files that were looked at go, in their order, within these limits.
///
/// What has no answer was not looked at in time.
pub fn sort(
    wanted: &[Wanted],
    checked: Vec<Result<Attachment, Refusal>>,
    policy: &Artifacts,
    takes: Takes,
) -> Sorted {
    let mut sorted = Sorted::default();
    let (mut seen, mut total) = (BTreeSet::new(), 0_u64);
    let checked = checked.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    for (wanted, checked) in wanted.iter().zip(checked) {
        let refusal = match checked.unwrap_or(Err(Refusal::TooLate)) {
            // One file by two names.
            Ok(file) if seen.contains(&file.path) => continue,
            Ok(file) if file.size > policy.bytes.min(takes.file) => Refusal::TooLarge,
            Ok(_) if sorted.files.len() >= policy.files => Refusal::TooMany,
            Ok(file) if total.saturating_add(file.size) > takes.total => Refusal::TooMany,
            Ok(file) => {
                total = total.saturating_add(file.size);
                seen.insert(file.path.clone());
                sorted.files.push(file);
                continue;
            }
            Err(refusal) => refusal,
        };
        // Nobody promised what was only mentioned.
        if wanted.listed {
            sorted.refused.push((name(&wanted.path), refusal));
        }
    }
    sorted
}

/// The name of a file for people and for receivers: one line, bounded, with its ending, and nothing that
/// could be a path or end a header.
pub fn name(path: &str) -> String {
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    let shown: String = last
        .chars()
        .filter(|c| !clean::is_invisible(None, *c))
        .map(|c| if c.is_control() || matches!(c, '"' | '\\' | '/') { '_' } else { c })
        .collect();
    let (stem, ending) = match shown.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.chars().count() <= 10 => {
            (stem, format!(".{ending}"))
        }
        _ => (shown.as_str(), String::new()),
    };
    let room = NAME_CHARS.saturating_sub(ending.chars().count());
    let stem: String = stem.chars().take(room).collect();
    match format!("{stem}{ending}").trim() {
        "" | "." | ".." => "file".to_owned(),
        name => name.to_owned(),
    }
}

fn is_path(name: &str) -> bool {
    matches!(name, LISTED | FOUND)
}

fn is_fit(path: &str) -> bool {
    (1..=PATH_BYTES).contains(&path.trim().len()) && path.len() <= PATH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts, ids::EventId, time::Timestamp};

    fn event(payload: &str) -> Event {
        Event {
            id: EventId(1),
            task: "t_1".into(),
            kind: Kind::Completed,
            payload: Some(payload.to_owned()),
            payload_cut: None,
            run: None,
            created_at: Timestamp::from_secs(5),
        }
    }

    fn paths(facts: &Facts, take: Take) -> Vec<String> {
        wanted(facts, take).into_iter().map(|wanted| wanted.path).collect()
    }

    fn file(path: &str, size: u64) -> Result<Attachment, Refusal> {
        let (path, name) = (path.to_owned(), name(path));
        Ok(Attachment { path, name, size, mark: String::new() })
    }

    fn listed(path: &str) -> Wanted {
        Wanted { path: path.to_owned(), listed: true }
    }

    #[test]
    fn a_bad_entry_spoils_only_itself() {
        let long = format!("/{}", "x".repeat(PATH_BYTES));
        let payload =
            format!(r#"{{"artifacts":["/a.pdf", 5, null, [], "", " ", "{long}", "/b c"]}}"#);
        let facts = facts::facts(&event(&payload), None);
        assert_eq!(paths(&facts, Take::Listed), ["/a.pdf", "/b c"]);
        assert!(paths(&facts, Take::Off).is_empty());
        for payload in [r#"{"artifacts":"/a"}"#, r#"{"artifacts":{"0":"/a"}}"#, "[]", "{"] {
            assert!(paths(&facts::facts(&event(payload), None), Take::Listed).is_empty());
        }
    }

    #[test]
    fn a_list_is_bounded_and_one_that_was_cut_loses_its_last_entry() {
        let many: Vec<String> = (0..40).map(|number| format!("\"/{number}\"")).collect();
        let payload = format!("{{\"artifacts\":[{}]}}", many.join(","));
        let facts = facts::facts(&event(&payload), None);
        assert_eq!(paths(&facts, Take::Listed).len(), MOST_WANTED);
        assert!(has_more(&facts));
        let mut cut = event(r#"{"artifacts":["/a.pdf","/b.p"#);
        cut.payload_cut = Some(99_999);
        let facts = facts::facts(&cut, None);
        assert_eq!(paths(&facts, Take::Listed), ["/a.pdf"]);
        assert!(has_more(&facts));
    }

    #[test]
    fn report_44_paths_in_prose_are_wanted_only_when_they_are_asked_for() {
        let event = event(r#"{"summary":"see /home/u/.hermes/state.json and /home/u/out.pdf"}"#);
        let mut facts = facts::facts(&event, None);
        find(&mut facts, &event, None);
        assert!(paths(&facts, Take::Listed).is_empty());
        let found = paths(&facts, Take::ListedAndFound);
        assert_eq!(found, ["/home/u/.hermes/state.json", "/home/u/out.pdf"]);
        let wanted = wanted(&facts, Take::ListedAndFound);
        assert!(wanted.iter().all(|wanted| !wanted.listed));
        // Who never promised anything breaks no promise.
        let none = vec![Err(Refusal::Denied), Err(Refusal::Missing)];
        let takes = Takes::files(1);
        assert_eq!(sort(&wanted, none, &Artifacts::default(), takes), Sorted::default());
    }

    #[test]
    fn report_43_what_goes_and_what_does_not_is_sorted_within_the_limits() {
        let policy = Artifacts { files: 2, bytes: 10, ..Artifacts::default() };
        let wanted: Vec<Wanted> =
            ["/a", "/gone", "/big", "/a2", "/b", "/c", "/late"].map(listed).into();
        let checked = vec![
            file("/a", 10),
            Err(Refusal::Missing),
            file("/big", 11),
            file("/a", 10),
            file("/b", 0),
            file("/c", 1),
        ];
        let sorted = sort(&wanted, checked, &policy, Takes::files(100));
        let names: Vec<&str> = sorted.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let refused: Vec<_> =
            sorted.refused.iter().map(|(name, why)| (name.as_str(), *why)).collect();
        assert_eq!(
            refused,
            [
                ("gone", Refusal::Missing),
                ("big", Refusal::TooLarge),
                ("c", Refusal::TooMany),
                ("late", Refusal::TooLate),
            ]
        );
        let takes = Takes { file: 100, total: 5 };
        let sorted =
            sort(&[listed("/a"), listed("/b")], vec![file("/a", 6), file("/b", 5)], &policy, takes);
        assert_eq!((sorted.files.len(), sorted.refused[0].1), (1, Refusal::TooMany));
    }

    #[test]
    fn a_name_is_one_bounded_line_with_its_ending() {
        for (path, shown) in [
            ("/a/b.pdf", "b.pdf"),
            ("/a/b/", "b"),
            ("/x/a\r\nB: c\".pdf", "a__B: c_.pdf"),
            ("/x/\u{202e}fdp.exe", "fdp.exe"),
            ("/..", "file"),
            ("", "file"),
            ("/é.png", "é.png"),
        ] {
            assert_eq!(name(path), shown, "{path}");
        }
        let long = name(&format!("/{}.tar.gz", "x".repeat(300)));
        assert!(long.ends_with("x.gz") && long.chars().count() == NAME_CHARS, "{long}");
    }
}
