//! How long to wait before the next attempt: exponential, spread, and bent by the receiver's hint.

use std::time::Duration;

/// The pause before attempt `failures + 1`: doubling from `first` to `longest`, spread by a quarter
/// either way so that no two destinations keep step, and never shorter than the receiver's `hint`.
///
/// `seed` decides the spread: the same seed and count give the same pause, so nothing here is random.
pub fn pause(
    (first, longest): (Duration, Duration),
    failures: u32,
    seed: u64,
    hint: Option<Duration>,
) -> Duration {
    let doublings = failures.saturating_sub(1).min(30);
    let plain = first.saturating_mul(1_u32 << doublings).min(longest);
    let spread = spread(plain, mix(seed ^ (u64::from(failures) << 48)));
    hint.map_or(spread, |hint| spread.max(hint))
}

/// `span` times a factor from 0.75 to 1.25 that `random` chooses.
fn spread(span: Duration, random: u64) -> Duration {
    let quarter = span / 4;
    let steps = u32::try_from(random % 1_001).unwrap_or(0);
    span.saturating_sub(quarter).saturating_add(quarter.saturating_mul(2) / 1_000 * steps)
}

/// SplitMix64's finaliser: every input bit reaches every output bit.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(900));

    #[test]
    fn doubles_up_to_the_longest() {
        let at = |failures| pause(BOUNDS, failures, 7, None).as_secs_f64();
        assert!((1.5..=2.5).contains(&at(1)), "{}", at(1));
        assert!((12.0..=20.0).contains(&at(4)), "{}", at(4));
        assert!((675.0..=1_125.0).contains(&at(40)), "{}", at(40));
    }

    #[test]
    fn destinations_do_not_keep_step() {
        let mut pauses: Vec<_> = (0..100).map(|seed| pause(BOUNDS, 6, seed, None)).collect();
        pauses.sort();
        // Field report 124: failures at one moment must come back spread by at least 15 %.
        assert!(pauses[99].as_secs_f64() / pauses[0].as_secs_f64() > 1.4);
        pauses.dedup();
        assert!(pauses.len() > 80);
    }

    proptest! {
        #[test]
        fn never_shorter_than_the_hint(failures in 0_u32..u32::MAX, seed: u64, hint in 0_u64..10_000) {
            let hint = Duration::from_secs(hint);
            prop_assert!(pause(BOUNDS, failures, seed, Some(hint)) >= hint);
        }
    }
}
