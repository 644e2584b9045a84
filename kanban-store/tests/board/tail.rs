//! Law O2's second tail: new rows by rowid, although rowids are used again.

use kanban_store::board::{Board, Mark, PassQuery};

use super::support::{TestBoard, chats, tail};

fn fresh(board: &mut Board, mark: &mut Mark) -> Vec<String> {
    let pass = board.read(&tail(mark)).unwrap();
    *mark = pass.next.clone();
    chats(&pass).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_reused_rowid_is_a_new_row() {
    let mut test = TestBoard::new();
    for chat in ["a", "b", "c", "d"] {
        test.subscribe("t_1", chat, 0);
    }
    let mut board = test.open();
    let mut mark = Mark::default();
    assert_eq!(fresh(&mut board, &mut mark), ["a", "b", "c", "d"]);
    assert_eq!(fresh(&mut board, &mut mark), [""; 0]);

    test.run("DELETE FROM kanban_notify_subs WHERE chat_id = 'd'");
    test.subscribe("t_1", "e", 0);
    assert_eq!(test.int("SELECT max(rowid) FROM kanban_notify_subs"), Some(4));
    assert!(fresh(&mut board, &mut mark).contains(&"e".to_owned()));
    assert_eq!(fresh(&mut board, &mut mark), [""; 0]);

    // The newest goes and nothing comes: later rows are still found.
    test.run("DELETE FROM kanban_notify_subs WHERE chat_id IN ('e', 'c')");
    fresh(&mut board, &mut mark);
    assert_eq!(mark.rowid, 2);
    test.subscribe("t_1", "f", 0);
    assert_eq!(fresh(&mut board, &mut mark), ["f"]);

    // Everything goes.
    test.run("DELETE FROM kanban_notify_subs");
    test.subscribe("t_1", "g", 0);
    assert_eq!(fresh(&mut board, &mut mark), ["g"]);
    test.run("DELETE FROM kanban_notify_subs");
    fresh(&mut board, &mut mark);
    assert_eq!((mark.rowid, mark.row_print.clone()), (0, None));
    test.subscribe("t_1", "h", 0);
    assert_eq!(fresh(&mut board, &mut mark), ["h"]);
}

#[test]
fn rows_made_anew_in_the_same_second_hide_no_other_row() {
    let mut test = TestBoard::new();
    for chat in ["a", "b", "c"] {
        test.subscribe("t_1", chat, 0);
    }
    let mut board = test.open();
    let mut mark = Mark::default();
    fresh(&mut board, &mut mark);
    // `c` comes back under its rowid and with its print, but `x` has taken the place of `b`.
    test.run("DELETE FROM kanban_notify_subs WHERE chat_id IN ('b', 'c')");
    test.subscribe("t_1", "x", 0);
    test.subscribe("t_1", "c", 0);
    assert!(fresh(&mut board, &mut mark).contains(&"x".to_owned()));
}

#[test]
fn few_rows_come_again_when_the_newest_of_many_goes() {
    let mut test = TestBoard::new();
    test.run("BEGIN");
    for n in 0..1000 {
        test.subscribe("t_1", &format!("c{n}"), 0);
    }
    test.run("COMMIT");
    let mut board = test.open();
    let mut mark = Mark::default();
    let all = PassQuery { limit: 2000, ..tail(&mark) };
    mark = board.read(&all).unwrap().next;
    test.run("DELETE FROM kanban_notify_subs WHERE rowid >= 998");
    test.subscribe("t_1", "new", 0);
    let again = fresh(&mut board, &mut mark);
    assert!(again.contains(&"new".to_owned()) && again.len() <= 4, "{again:?}");
}

#[test]
fn random_comings_and_goings_lose_no_row() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut test = TestBoard::new();
    let mut board = test.open();
    let mut mark = Mark::default();
    let mut unseen = std::collections::BTreeSet::new();
    for n in 0..600 {
        for _ in 0..random.usize(0..4) {
            if random.u8(0..5) < 3 {
                let chat = format!("c{n}-{}", random.u32(..));
                test.subscribe("t_1", &chat, 0);
                unseen.insert(chat);
            } else {
                let order = if random.bool() { "rowid DESC" } else { "random()" };
                let gone = test.text(&format!(
                    "SELECT chat_id FROM kanban_notify_subs ORDER BY {order} LIMIT 1"
                ));
                if let Some(gone) = gone {
                    test.run(&format!("DELETE FROM kanban_notify_subs WHERE chat_id = '{gone}'"));
                    unseen.remove(&gone);
                }
            }
        }
        if random.bool() {
            let limit = random.usize(1..4);
            loop {
                let pass = board.read(&PassQuery { limit, ..tail(&mark) }).unwrap();
                for chat in chats(&pass) {
                    unseen.remove(chat);
                }
                mark = pass.next;
                if !pass.more {
                    break;
                }
            }
            assert!(unseen.is_empty(), "{unseen:?} after {n}");
        }
    }
}
