//! What each test came to, as Rust's test runner tells it.

/// What a test came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It is marked `#[ignore]`.
    Ignored,
}

/// Every test that was told of, by its path.
#[derive(Debug, Default)]
pub struct Results(Vec<(String, Outcome)>);

impl Results {
    /// Adds what `line` reports, if it is the line of a test.
    pub fn add(&mut self, line: &str) {
        let told = line.trim_end().strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
        let Some((path, outcome)) = told else {
            return;
        };
        let outcome = match outcome {
            "ok" => Outcome::Passed,
            "FAILED" => Outcome::Failed,
            outcome if outcome.starts_with("ignored") => Outcome::Ignored,
            _ => return,
        };
        self.0.push((path.to_owned(), outcome));
    }

    /// Each path with its outcome.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Outcome)> {
        self.0.iter().map(|(path, outcome)| (path.as_str(), *outcome))
    }

    /// How many tests passed that have this in their path.
    pub fn passed(&self, part: &str) -> usize {
        let is_one = |(path, outcome): &(&str, Outcome)| {
            *outcome == Outcome::Passed && format!("::{path}").contains(part)
        };
        self.iter().filter(is_one).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_are_told_from_others() {
        let mut results = Results::default();
        for line in [
            "running 3 tests\n",
            "test push::a::contract_cases::x ... ok\n",
            "test push::a::contract_cases::y ... FAILED\n",
            "test live::z ... ignored, needs accounts\n",
            "test a::should_panic - should panic ... ok\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out\n",
            "a test ... ok\n",
        ] {
            results.add(line);
        }
        let outcomes: Vec<Outcome> = results.iter().map(|(_, outcome)| outcome).collect();
        use Outcome::{Failed, Ignored, Passed};
        assert_eq!(outcomes, [Passed, Failed, Ignored, Passed]);
        assert_eq!((results.passed("::push::"), results.passed("::live::")), (1, 0));
    }
}
