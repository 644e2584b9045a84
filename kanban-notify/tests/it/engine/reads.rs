//! When a board is read whose commits follow each other (law F1).

use super::*;

/// Commits every `every` for `span`; answers how many reads there were, and how many of them came later
/// than the commit that they are for.
fn commits(every: Duration, span: Duration) -> (usize, usize) {
    let mut bench = Bench::new(Policy::default(), world(true, true), Work::default());
    bench.pass(Pass::default(), &[]);
    let (mut reads, mut late) = (0, 0);
    let mut at = seconds(10);
    let end = at.after(span);
    while at < end {
        bench.at(at);
        late += usize::from(bench.read().is_some_and(|read| read_is_over(&mut bench, read)));
        bench.commit();
        reads += usize::from(bench.read().is_some_and(|read| read_is_over(&mut bench, read)));
        at = at.after(every);
    }
    (reads + late, late)
}

fn read_is_over(bench: &mut Bench, (opening, _): (Opening, PassRequest)) -> bool {
    bench.feed(Input::PassRead { opening, pass: Box::default(), copies: Vec::new() });
    true
}

#[test]
fn f1_a_commit_now_and_then_is_read_at_once() {
    let (reads, late) = commits(Duration::from_millis(30), Duration::from_secs(5));
    assert_eq!((reads, late), (167, 0));
}

#[test]
fn f1_a_few_commits_after_each_other_are_read_at_once() {
    let (reads, late) = commits(Duration::from_millis(5), Duration::from_millis(40));
    assert_eq!((reads, late), (8, 0));
}

#[test]
fn f1_a_writer_that_never_rests_is_not_read_all_the_time() {
    let (reads, _) = commits(Duration::from_millis(1), Duration::from_secs(5));
    assert!((250..=265).contains(&reads), "50 a second: {reads}");
}
