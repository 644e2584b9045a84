//! What a plan does to the ledger, and what it must not do.

use kanban_store::ledger::{
    backlog, boards, claims, cursor, ends, outcomes, plan,
    plan::{CopyPlan, LegPlan, OwedRows},
    states::{CANCELLED, EXPIRED, GONE, LIVE, OFFERED, PARKED, PLANNED, RELEASED, TAKEN, THEIRS},
};

use crate::support::{content, copy, end, intent, ledger, leg, number, ping, plan as planned};

#[test]
fn a_plan_twice_is_a_plan_once() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let wanted = planned(
        9,
        vec![
            copy("t_1", 9, vec![ping("t_1", 7), leg("t_1", 9, EXPIRED)]),
            copy("t_2", 8, vec![ping("t_2", 8)]),
        ],
    );
    let first = plan::plan(conn, &wanted).unwrap().unwrap();
    let before = content(conn);
    let second = plan::plan(conn, &wanted).unwrap().unwrap();
    assert_eq!(content(conn), before);
    assert_eq!(first.owed, second.owed);
    assert_eq!(first.raises, second.raises);
    let events: Vec<i64> = first.owed[0].legs.iter().map(|(leg, ..)| leg.event).collect();
    assert_eq!(events, [7], "what is final at once is not owed");
    assert_eq!(first.owed[0].legs[0].1.title, "Build report");
}

#[test]
fn a_leg_that_exists_is_left_as_it_is() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let first =
        plan::plan(conn, &planned(7, vec![copy("t_1", 7, vec![ping("t_1", 7)])])).unwrap().unwrap();
    let id = first.owed[0].legs[0].0.id;
    claims::intend(conn, "me", &intent(&[id], "lane")).unwrap();
    let again = copy("t_1", 7, vec![leg("t_1", 7, PARKED)]);
    let second = plan::plan(conn, &planned(7, vec![again])).unwrap().unwrap();
    assert_eq!(second.owed[0].legs[0].0.state, "intended");
}

#[test]
fn one_event_is_told_once_to_many() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let mut other = copy("t_1", 7, vec![ping("t_1", 7)]);
    other.key.chat = "43".to_owned();
    plan::plan(conn, &planned(7, vec![copy("t_1", 7, vec![ping("t_1", 7)]), other]))
        .unwrap()
        .unwrap();
    assert_eq!(number(conn, "SELECT COUNT(*) FROM events"), 1);
    assert_eq!(number(conn, "SELECT COUNT(*) FROM legs"), 2);
}

#[test]
fn what_was_noted_of_an_event_is_what_later_ones_are_told() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    plan::plan(conn, &planned(7, vec![copy("t_1", 7, vec![ping("t_1", 7)])])).unwrap().unwrap();
    let later = |chat: &str| {
        let mut renamed = ping("t_1", 7);
        renamed.event.title = "Another title".to_owned();
        let mut later = copy("t_1", 9, vec![ping("t_1", 9), renamed]);
        later.key.chat = chat.to_owned();
        later
    };
    let planned = plan::plan(conn, &planned(9, vec![later("43"), later("44")])).unwrap().unwrap();
    let ids: Vec<i64> = planned.owed.iter().map(|owed| owed.subscription.id).collect();
    for owed in &planned.owed {
        let told = |at: usize| (owed.legs[at].0.event, owed.legs[at].1.title.as_str());
        assert_eq!([told(0), told(1)], [(7, "Build report"), (9, "Build report")]);
    }
    assert_eq!(backlog::owed(conn, &ids).unwrap(), planned.owed, "as a start would read it");
}

#[test]
fn a_copy_is_answered_as_a_start_would_read_it() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let wake = LegPlan { kind: "wake".to_owned(), ..ping("t_1", 9) };
    let mut renamed = ping("t_1", 7);
    renamed.event.title = "Another title".to_owned();
    let twice = vec![ping("t_1", 9), ping("t_1", 7), wake, leg("t_1", 8, EXPIRED), renamed.clone()];
    let mut other = copy("t_1", 9, vec![renamed]);
    other.key.chat = "43".to_owned();
    let mut again = copy("t_1", 12, vec![ping("t_1", 12)]);
    again.life = THEIRS.to_owned();
    let wanted = planned(12, vec![copy("t_1", 9, twice), other, again]);
    let planned = plan::plan(conn, &wanted).unwrap().unwrap();
    let [first, other, again] = &planned.owed[..] else { panic!("{:?}", planned.owed) };
    let told = |owed: &OwedRows| -> Vec<(i64, String, String)> {
        let legs = owed.legs.iter();
        legs.map(|(leg, event, _)| (leg.event, leg.kind.clone(), event.title.clone())).collect()
    };
    let of = |event: i64, kind: &str| (event, kind.to_owned(), "Build report".to_owned());
    assert_eq!(told(first), [of(7, "ping"), of(9, "ping"), of(9, "wake")]);
    assert_eq!(told(other), [of(7, "ping")], "an event is noted once, for everybody");
    assert_eq!(again.legs[..3], first.legs, "a second plan for a copy of the same pass");
    let ids = [other.subscription.id, again.subscription.id];
    assert_eq!(backlog::owed(conn, &ids).unwrap(), [other.clone(), again.clone()]);
}

#[test]
fn marks_only_rise_and_the_previous_owner_is_kept() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let adopt = |owner: Option<&str>, seen, cursor| CopyPlan {
        adopted: Some(owner.map(str::to_owned)),
        cursor,
        ..copy("t_1", seen, Vec::new())
    };
    let mut upsert = |copy| {
        let done = plan::plan(conn, &planned(9, vec![copy])).unwrap().unwrap();
        done.owed[0].subscription.clone()
    };
    let first = upsert(adopt(None, 9, 5));
    assert_eq!((first.adopted, first.previous_owner), (1, None));
    let second = upsert(adopt(Some("kanban-gateway.default"), 3, 2));
    assert_eq!((second.adopted, second.previous_owner), (1, None), "O2");
    assert_eq!((second.seen, second.settled, second.board_cursor), (9, 9, 5));
}

#[test]
fn lives_follow_the_plan_but_undo_no_release_and_no_confirmed_stamp() {
    for (before, wanted, after) in [
        (OFFERED, LIVE, LIVE),
        (LIVE, OFFERED, LIVE),
        (LIVE, GONE, GONE),
        (GONE, LIVE, LIVE),
        (RELEASED, LIVE, RELEASED),
        (RELEASED, OFFERED, RELEASED),
        (RELEASED, GONE, GONE),
    ] {
        let (_folder, mut ledger) = ledger();
        let conn = ledger.connection();
        let mut life = before;
        for _ in 0..2 {
            let copy = CopyPlan { life: life.to_owned(), ..copy("t_1", 1, Vec::new()) };
            plan::plan(conn, &planned(1, vec![copy])).unwrap().unwrap();
            life = wanted;
        }
        let board = boards::get(conn, 1).unwrap().unwrap();
        let copies = plan::copies(conn, &board, &["t_1".to_owned()]).unwrap();
        assert_eq!(copies[0].life, after, "{before} and then {wanted}");
    }
}

#[test]
fn only_what_is_unsent_can_be_closed() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let legs = vec![ping("t_1", 1), ping("t_1", 2), ping("t_1", 3)];
    let first = plan::plan(conn, &planned(3, vec![copy("t_1", 3, legs)])).unwrap().unwrap();
    let ids: Vec<i64> = first.owed[0].legs.iter().map(|(leg, ..)| leg.id).collect();
    end(conn, &ids[..1], "delivered");
    claims::intend(conn, "me", &intent(&ids[1..2], "lane")).unwrap();
    let mut close = planned(3, Vec::new());
    close.closes = ids.iter().map(|id| (*id, TAKEN.to_owned(), "by Hermes".to_owned())).collect();
    let done = plan::plan(conn, &close).unwrap().unwrap();
    let states = |conn: &mut diesel::SqliteConnection| -> Vec<String> {
        ids.iter()
            .map(|id| {
                crate::support::text(conn, &format!("SELECT state FROM legs WHERE id = {id}"))
            })
            .collect()
    };
    assert_eq!(states(conn), ["delivered", "intended", "taken"]);
    assert_eq!(done.raises[0].subscription.settled, 1, "2 is still out");

    close.closes = vec![(ids[1], PLANNED.to_owned(), String::new())];
    plan::plan(conn, &close).unwrap().unwrap();
    assert_eq!(states(conn), ["delivered", "intended", "taken"], "no way to close");
}

#[test]
fn b6_a_plan_from_a_replaced_file_is_void() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let mut stale = planned(7, vec![copy("t_1", 7, vec![ping("t_1", 7)])]);
    stale.incarnation = 2;
    let before = content(conn);
    assert!(plan::plan(conn, &stale).unwrap().is_none());
    assert_eq!(content(conn), before);
}

#[test]
fn a_position_is_not_taken_back() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    for (position, stored) in [(5, 5), (3, 5), (8, 8)] {
        plan::plan(conn, &planned(position, Vec::new())).unwrap();
        let board = boards::get(conn, 1).unwrap().unwrap();
        assert_eq!(board.position().event, stored);
    }
}

#[test]
fn s2_what_ends_with_its_row_and_what_is_owed_all_the_same() {
    for (adopted, platform, after) in [
        (None, "telegram", CANCELLED),
        (Some(None), "telegram", CANCELLED),
        (None, "api_server", CANCELLED),
        (Some(None), " API_Server ", PLANNED),
    ] {
        let (_folder, mut ledger) = ledger();
        let conn = ledger.connection();
        let mut copy = copy("t_1", 1, vec![ping("t_1", 1)]);
        copy.adopted.clone_from(&adopted);
        copy.key.platform = platform.to_owned();
        let done = plan::plan(conn, &planned(1, vec![copy])).unwrap().unwrap();
        let id = done.owed[0].subscription.id;
        ends::vanished(conn, id, 5_000).unwrap();
        let state = crate::support::text(conn, "SELECT state FROM legs");
        assert_eq!(state, after, "O3: {platform} {adopted:?}");
        assert_eq!(cursor::raises(conn).unwrap(), []);
    }
}

#[test]
fn s2_what_was_out_when_its_row_vanished_is_not_sent_again() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let done =
        plan::plan(conn, &planned(1, vec![copy("t_1", 1, vec![ping("t_1", 1)])])).unwrap().unwrap();
    let leg = done.owed[0].legs[0].0.id;
    let claims::Intended::Won(claim) = claims::intend(conn, "me", &intent(&[leg], "lane")).unwrap()
    else {
        panic!("not won");
    };
    ends::vanished(conn, done.owed[0].subscription.id, 5_000).unwrap();
    let state = "SELECT state FROM legs";
    assert_eq!(crate::support::text(conn, state), "intended");
    let settlement = crate::support::outcome(claim, &[leg], "retrying");
    outcomes::settle_all(conn, "me", &[settlement]).unwrap();
    assert_eq!(crate::support::text(conn, state), "cancelled");
}

#[test]
fn s3_the_last_event_is_told_with_the_raise() {
    let (_folder, mut ledger) = ledger();
    let conn = ledger.connection();
    let archived = CopyPlan { archived: Some(3), ..copy("t_1", 3, vec![ping("t_1", 1)]) };
    let done = plan::plan(conn, &planned(3, vec![archived])).unwrap().unwrap();
    assert_eq!(done.raises, [], "1 is open");
    end(conn, &[done.owed[0].legs[0].0.id], "delivered");
    let raises = cursor::raises(conn).unwrap();
    assert_eq!(raises.len(), 1);
    assert_eq!(raises[0].subscription.settled, 3);
    assert!(raises[0].archived);
    ends::note_raised(conn, raises[0].subscription.id, 3, 9).unwrap();
    assert_eq!(cursor::raises(conn).unwrap(), []);
}
