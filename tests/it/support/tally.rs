//! What sessions were told: each task in each session, counted by the turns that name it.

use std::collections::BTreeMap;

use gateway_adapters::receiver::Receiver;

/// How often each (session, task) was told in a turn, over all sessions of a receiver.
pub fn told(receiver: &Receiver) -> BTreeMap<(String, String), usize> {
    let mut told = BTreeMap::new();
    for session in receiver.sessions() {
        for row in receiver.rows(&session).iter().filter(|row| row.role == "user") {
            for task in tasks(&row.content) {
                *told.entry((session.clone(), task)).or_default() += 1;
            }
        }
    }
    told
}

/// The tasks that the text of a wake names, in its order.
pub fn tasks(text: &str) -> Vec<String> {
    let entries = text.split("Task t_").skip(1);
    entries.map(|entry| format!("t_{}", &entry[..8])).collect()
}

/// Every (session, task) of `expected` was told in exactly one turn, and nothing else was; each turn
/// has its answer.
#[track_caller]
pub fn assert_each_told_once(receiver: &Receiver, expected: &[(String, String)]) {
    let told = told(receiver);
    let lost: Vec<_> = expected.iter().filter(|pair| !told.contains_key(*pair)).collect();
    let doubled: Vec<_> = told.iter().filter(|(_, times)| **times != 1).collect();
    assert!(lost.is_empty() && doubled.is_empty(), "lost: {lost:?}; doubled: {doubled:?}");
    assert_eq!(told.len(), expected.len(), "somebody was told who did not ask");
    for session in receiver.sessions() {
        let rows = receiver.rows(&session);
        let answers = rows.iter().filter(|row| row.role == "assistant").count();
        assert_eq!(answers * 2, rows.len(), "{session}: each turn has its answer");
    }
}
