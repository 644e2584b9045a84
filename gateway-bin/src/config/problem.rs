//! What is wrong with a configuration: every fault at once, each with the place to mend it.

use std::fmt;

/// One fault, and the file line or variable that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where to mend it: a file with its line, or a variable.
    pub place: String,
    /// What is wrong and what would be right. Never holds a secret.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A configuration that cannot be used, with all its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The faults, in the order they were found; at least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        let s = if count == 1 { "" } else { "s" };
        write!(f, "the configuration has {count} problem{s}:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for ConfigError {}

/// Collects faults while the rest is still being read.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    /// Notes one fault.
    pub(super) fn add(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem { place: place.into(), message: message.into() });
    }

    /// Notes a key that does not exist, and the existing one that was probably meant.
    pub(super) fn unknown<'a>(
        &mut self,
        place: &str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) {
        let hint = nearest(name, known)
            .map(|meant| format!("; did you mean `{meant}`?"))
            .unwrap_or_default();
        self.add(place, format!("there is no key `{name}`{hint}"));
    }

    /// The value if there was no fault at all, else all faults.
    pub(super) fn unless_any<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.0 }) }
    }
}

/// The known name nearest to `name`, if any is near; the same last level elsewhere counts as near.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    known
        .map(|candidate| {
            let distance = distance(name, candidate);
            let moved = last(name) == last(candidate);
            // Of several that are as near by their last level, the rest decides.
            (if moved { distance.min(1) } else { distance }, distance, candidate)
        })
        .min()
        .filter(|(near, _, candidate)| *near <= 1 + candidate.len().min(name.len()) / 4)
        .map(|(.., candidate)| candidate)
}

/// Edits between two names: insertions, deletions, replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        for (a, b, edits) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }

    #[test]
    fn near_names_and_misplaced_ones_are_suggested() {
        let known = ["owner", "max_age", "wake.busy_wait", "log.level"];
        let meant = |name| nearest(name, known.into_iter());
        assert_eq!(meant("ovner"), Some("owner"));
        assert_eq!(meant("max-age"), Some("max_age"));
        assert_eq!(meant("busy_wait"), Some("wake.busy_wait"));
        assert_eq!(meant("wake.busywait"), Some("wake.busy_wait"));
        assert_eq!(meant("telephone"), None);
    }

    #[test]
    fn all_faults_are_listed() {
        let mut problems = Problems::default();
        problems.add("a.toml line 1", "no");
        problems.unknown("B", "ovner", ["owner"].into_iter());
        let text = problems.unless_any(()).unwrap_err().to_string();
        assert_eq!(
            text,
            "the configuration has 2 problems:\n  a.toml line 1: no\n  B: there is no key `ovner`; \
             did you mean `owner`?"
        );
        assert!(Problems::default().unless_any(()).is_ok());
    }
}
