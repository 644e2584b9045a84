//! Adds up the result lines of Rust's test runner.

/// What all test programs together reported.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests marked `#[ignore]`.
    pub ignored: u64,
    /// Tests that the command line left out.
    pub filtered: u64,
}

impl Totals {
    /// Adds what `line` reports, if it is a result line.
    pub fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
        for part in result.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let Some(Ok(count)) = words.next().map(str::parse::<u64>) else {
                continue;
            };
            let sum = match words.next() {
                Some("passed") => &mut self.passed,
                Some("failed") => &mut self.failed,
                Some("ignored") => &mut self.ignored,
                Some("filtered") => &mut self.filtered,
                _ => continue,
            };
            *sum = sum.saturating_add(count);
        }
    }

    /// The line that ends a run.
    pub fn line(&self, filtered_is_skipped: bool) -> String {
        let left_out = if filtered_is_skipped { self.filtered } else { 0 };
        let skipped = self.ignored.saturating_add(left_out);
        format!("{} passed, {} failed, {skipped} skipped", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn result_lines_add_up_and_others_do_not_count() {
        let mut totals = Totals::default();
        for line in [
            "running 3 tests\n",
            "test a ... ok\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; \
             finished in 0.00s\n",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; \
             finished in 1.25s\n",
            "9 passed\n",
        ] {
            totals.add(line);
        }
        let wanted = Totals { passed: 7, failed: 2, ignored: 1, filtered: 2 };
        assert_eq!(totals, wanted);
        assert_eq!(totals.line(true), "7 passed, 2 failed, 3 skipped");
        assert_eq!(totals.line(false), "7 passed, 2 failed, 1 skipped");
    }
}
