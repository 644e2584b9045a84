//! The high-water mark against a naive model (law D1).

use std::cell::RefCell;

use diesel::{Connection as _, RunQueryDsl as _};
use kanban_store::ledger::{cursor, plan, states};
use proptest::prelude::*;

use crate::support::{copy, ledger, leg, ping, plan as planned};

#[derive(Clone, Debug)]
struct Case {
    /// Event, state, replay; one for each event.
    legs: Vec<(i64, &'static str, bool)>,
    baseline: i64,
    unneeded: i64,
    cursor: i64,
    before: i64,
}

fn case() -> impl Strategy<Value = Case> {
    let state = prop::sample::select(vec![
        "planned",
        "intended",
        "retrying",
        "unknown",
        "delivered",
        "parked",
        "expired",
        "cancelled",
        "taken",
    ]);
    let leg = (1_i64..40, state, prop::bool::weighted(0.2));
    (prop::collection::vec(leg, 0..8), 0_i64..10, 0_i64..5, 0_i64..45, 0_i64..45).prop_map(
        |(mut legs, baseline, unneeded, cursor, before)| {
            legs.sort_by_key(|leg| leg.0);
            legs.dedup_by_key(|leg| leg.0);
            Case { legs, baseline, unneeded, cursor, before }
        },
    )
}

impl Case {
    fn seen(&self) -> i64 {
        let judged = self.legs.iter().map(|leg| leg.0).max().unwrap_or(0);
        judged.max(self.baseline) + self.unneeded
    }

    /// The greatest mark that leaves nothing owed at or below it, if it is not below an older one.
    fn model(&self) -> i64 {
        let owed = |mark: i64| {
            self.legs
                .iter()
                .any(|(event, state, replay)| *event <= mark && !states::is_final(state) && !replay)
        };
        let judged = self.legs.iter().map(|leg| leg.0);
        let marks = judged.chain([self.seen(), self.cursor]);
        let floor = self.before.max(self.baseline);
        marks.filter(|mark| !owed(*mark)).fold(floor, i64::max)
    }
}

#[test]
fn d1_a_cursor_passes_what_is_settled_and_nothing_else() {
    let (_folder, mut ledger) = ledger();
    ledger.connection().begin_test_transaction().unwrap();
    let ledger = RefCell::new(ledger);
    let count = RefCell::new(0);
    proptest!(ProptestConfig::with_cases(512), |(case in case())| {
        let mut ledger = ledger.borrow_mut();
        let conn = ledger.connection();
        *count.borrow_mut() += 1;
        let task = format!("t_{}", count.borrow());
        // Events are told once, so each case has its own.
        let base = *count.borrow() * 100;
        let mut wanted = copy(
            &task,
            base + case.seen(),
            case.legs.iter().map(|(event, ..)| ping(&task, base + event)).collect(),
        );
        wanted.baseline = base + case.baseline;
        let done = plan::plan(conn, &planned(base, vec![wanted])).unwrap().unwrap();
        let id = done.owed[0].subscription.id;
        for (event, state, replay) in &case.legs {
            let event = base + event;
            diesel::sql_query(format!(
                "UPDATE legs SET state = '{state}', replay = {} WHERE subscription_id = {id} AND event = {event}",
                i32::from(*replay)
            ))
            .execute(conn)
            .unwrap();
        }
        diesel::sql_query(format!(
            "UPDATE subscriptions SET settled = {}, board_cursor = {} WHERE id = {id}",
            base + case.before,
            base + case.cursor
        ))
        .execute(conn)
        .unwrap();
        let raise = cursor::refresh_after(conn, id, 7).unwrap();
        let after = plan::copy(conn, id).unwrap().unwrap();
        prop_assert_eq!(after.settled - base, case.model());
        prop_assert_eq!(raise.is_some(), after.settled > after.board_cursor);
        cursor::refresh_after(conn, id, 8).unwrap();
        prop_assert_eq!(plan::copy(conn, id).unwrap().unwrap(), after);
    });
}

#[test]
fn d1_nothing_is_raised_past_what_is_out() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let legs = vec![ping("t_1", 3), leg("t_1", 5, "expired"), ping("t_1", 7)];
    let done = plan::plan(conn, &planned(9, vec![copy("t_1", 9, legs)])).unwrap().unwrap();
    let owed = &done.owed[0];
    assert_eq!(owed.subscription.settled, 0);
    crate::support::end(conn, &[owed.legs[0].0.id], "delivered");
    let raises = cursor::raises(conn).unwrap();
    assert_eq!(raises[0].subscription.settled, 5);
    crate::support::end(conn, &[owed.legs[1].0.id], "parked");
    let raises = cursor::raises(conn).unwrap();
    assert_eq!(raises[0].subscription.settled, 9);
}
