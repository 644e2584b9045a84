//! Events of any payload: what is told of them is bounded, in single lines, and always the same.

#![no_main]

use fuzz::{Told, assert_tame};
use kanban_notify::facts::{HANDOFF_CHARS, NAME_CHARS, TITLE_CHARS, facts_and_cut};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|told: Told| {
    let (event, task) = told.event();
    let (facts, cut) = facts_and_cut(&event, task.as_ref());
    assert_tame(&facts.task, 64);
    assert_tame(&facts.title, TITLE_CHARS);
    assert_tame(facts.handoff.as_deref().unwrap_or_default(), HANDOFF_CHARS);
    assert_tame(facts.assignee.as_deref().unwrap_or_default(), NAME_CHARS);
    for (_, value) in &facts.notes {
        assert_tame(value, 64);
    }
    assert!(event.payload_cut.is_none() || cut.is_some());
    if let Some(cut) = cut {
        assert!(cut.told <= 4 * 1_024, "{cut:?}");
    }
    assert_eq!(facts_and_cut(&event, task.as_ref()), (facts, cut));
});
