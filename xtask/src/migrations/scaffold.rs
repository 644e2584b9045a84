//! Makes the two scripts of a new migration, named by the time and what it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};

/// Answers the folder it made below `migrations`.
pub fn make(migrations: &Path, name: &str) -> Result<PathBuf> {
    if !is_name(name) {
        bail!("`{name}` is no name: lower-case letters, digits and underscores, as in `add_lane`");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let folder = migrations.join(format!("{}_{name}", stamp(now.as_secs())));
    fs::create_dir_all(migrations).with_context(|| migrations.display().to_string())?;
    fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
    let scripts = [("up.sql", UP), ("down.sql", DOWN)];
    for (file, text) in scripts {
        fs::write(folder.join(file), text).with_context(|| format!("writing {file}"))?;
    }
    Ok(folder)
}

const UP: &str = "\
-- BIGINT, INTEGER and TEXT only; time as UTC microseconds, JSON as TEXT.
";

const DOWN: &str = "\
-- Undo every statement of up.sql, the last one first.
";

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Seconds since 1970 as `YYYYMMDDhhmmss` in UTC.
fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// The Gregorian date of a day counted from 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let mut left = days;
    let mut year = 1970;
    while left >= days_of_year(year) {
        left = left.saturating_sub(days_of_year(year));
        year = year.saturating_add(1);
    }
    let february = days_of_year(year).saturating_sub(337);
    let mut month = 1_u64;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < length {
            break;
        }
        left = left.saturating_sub(length);
        month = month.saturating_add(1);
    }
    (year, month, left.saturating_add(1))
}

fn days_of_year(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_are_utc_dates() {
        let cases = [
            (0, "19700101000000"),
            (951_782_399, "20000228235959"),
            (951_782_400, "20000229000000"),
            (1_709_251_199, "20240229235959"),
            (1_709_251_200, "20240301000000"),
            (1_767_225_599, "20251231235959"),
            (4_107_542_400, "21000301000000"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(stamp(seconds), wanted);
        }
    }

    #[test]
    fn names_are_lower_case_words() {
        assert!(is_name("add_lane_2"));
        for name in ["", "Add", "add-lane", "../x", "2fast", "_x"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
