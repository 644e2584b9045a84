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

/// After how many failures in a row a pause can be so long: where only the pause outlived a restart, the
/// next one goes on from it.
pub fn failures((first, longest): (Duration, Duration), pause: Duration) -> u32 {
    let mut failures = 1;
    let mut plain = first.max(Duration::from_millis(1));
    // The spread makes a pause longer by a quarter at the most.
    while plain < longest && plain.saturating_add(plain / 4) < pause {
        plain = plain.saturating_mul(2);
        failures += 1;
    }
    failures
}

/// A seed for whatever has a name: FNV-1a, the same in each run, which the standard hasher does not
/// promise.
pub fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// `span` times a factor from 0.75 to 1.25 that `random` chooses, in steps so small that no two of some
/// thousand destinations are likely to meet.
fn spread(span: Duration, random: u64) -> Duration {
    const STEPS: u32 = 1_000_000;
    let quarter = span / 4;
    let steps = u32::try_from(random % u64::from(STEPS + 1)).unwrap_or(0);
    let more = quarter.saturating_mul(2).as_nanos().saturating_mul(u128::from(steps));
    let more = u64::try_from(more / u128::from(STEPS)).unwrap_or(u64::MAX);
    span.saturating_sub(quarter).saturating_add(Duration::from_nanos(more))
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
        assert_eq!(pauses.len(), 100);
    }

    #[test]
    fn a_pause_tells_how_many_failures_led_to_it() {
        for made in 1..=10 {
            for seed in 0..100 {
                let whole = pause(BOUNDS, made, seed, None);
                assert!((made - 1..=made).contains(&failures(BOUNDS, whole)), "{made}: {whole:?}");
                assert!(failures(BOUNDS, whole / 2) + 2 >= made, "half of {whole:?}");
            }
        }
        assert_eq!(failures(BOUNDS, Duration::ZERO), 1);
        assert_eq!(failures(BOUNDS, Duration::MAX), 10);
        assert_eq!(failures((Duration::ZERO, Duration::MAX), Duration::MAX), 75);
    }

    proptest! {
        #[test]
        fn never_shorter_than_the_hint(failures in 0_u32..u32::MAX, seed: u64, hint in 0_u64..10_000) {
            let hint = Duration::from_secs(hint);
            prop_assert!(pause(BOUNDS, failures, seed, Some(hint)) >= hint);
        }
    }
}
