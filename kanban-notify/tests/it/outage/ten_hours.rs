//! Ten hours down, with a restart in the middle (laws D4, D6, D8, S1).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use kanban_notify::{
    engine::Notice, ids::ChannelName, leg::LegState, message::Destination, policy::Policy,
    time::Timestamp,
};

use super::{Down, Outage, START, Try};

const SESSIONS: usize = 200;
const CHATS: usize = 50;
/// The longest rest, and the longest pause, with their spread.
const LONGEST_REST: Duration = Duration::from_secs(450 * 5 / 4);
const LONGEST_PAUSE: Duration = Duration::from_secs(900 * 5 / 4);

fn at(hours: u64) -> Timestamp {
    START.after(Duration::from_secs(hours * 3_600))
}

/// Ten hours, each with something for half of the destinations, and then everybody is back.
fn ten_hours(down: Down) -> Outage {
    let mut outage = Outage::new();
    for number in 0..SESSIONS + CHATS {
        let (platform, task) =
            (if number < SESSIONS { "api_server" } else { "slack" }, task(number));
        outage.board.subscribe(&task, platform, &format!("to-{number}"), START);
    }
    outage.set(Some(down));
    for hour in 0..10 {
        let half = |number: &usize| (number + hour).is_multiple_of(2);
        // Not in the order of the names.
        outage.happen((0..SESSIONS + CHATS).rev().filter(half).map(task));
        outage.run_until(at(u64::try_from(hour).unwrap() + 1));
        if hour == 4 {
            outage.start();
        }
    }
    let before = outage.tries.len();
    assert!(outage.tries.iter().all(|tried| !tried.delivered), "nobody was there");
    assert_eq!(outage.board.rows.len(), SESSIONS + CHATS, "no subscription is gone");
    let open = outage.ledger.legs.iter().filter(|(leg, _)| !leg.state.is_final());
    assert_eq!(open.count(), 5 * (SESSIONS + CHATS), "all of it is owed");
    outage.set(None);
    outage.most = (0, 0);
    outage.run_until(at(12));
    assert!(outage.tries.len() > before);
    outage
}

fn task(number: usize) -> String {
    format!("t_{number:03}")
}

/// The wakes and messages, or the looks, to each destination before the receiver was back.
fn tries(outage: &Outage, look: bool) -> BTreeMap<Destination, Vec<Timestamp>> {
    let mut tries: BTreeMap<_, Vec<Timestamp>> = BTreeMap::new();
    for Try { at, to, .. } in during(outage).filter(|tried| tried.look == look) {
        tries.entry(to.clone()).or_default().push(*at);
    }
    tries
}

fn during(outage: &Outage) -> impl Iterator<Item = &Try> {
    outage.tries.iter().filter(|tried| tried.at < at(10))
}

/// S1, D1, D4: every row is there, each destination was told everything once and oldest first, and every
/// cursor has followed.
fn assert_all_delivered(outage: &Outage) {
    assert_eq!(outage.board.rows.len(), SESSIONS + CHATS);
    let mut told: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (to, body) in &outage.receiver.effects {
        let (Destination::Session { session: name, .. } | Destination::Chat { chat: name, .. }) =
            to;
        let events = body.split(['<', '>']).filter_map(|part| part.parse::<i64>().ok());
        told.entry(name).or_default().extend(events);
    }
    for row in &outage.board.rows {
        let events = outage.board.events.iter().filter(|event| event.task == row.key.task);
        let events: Vec<i64> = events.map(|event| event.id.0).collect();
        assert_eq!(events.len(), 5);
        assert_eq!(told.get(row.key.chat.as_str()), Some(&events), "{:?}", row.key);
        assert_eq!(row.cursor.0, events[4], "{:?}", row.key);
    }
    assert!(outage.ledger.legs.iter().all(|(leg, _)| leg.state == LegState::Delivered));
}

/// D6: what is paced after an outage is how much is under way at once, on a channel and in all.
fn assert_paced(outage: &Outage) {
    let policy = Policy::default();
    assert!(outage.most.0 <= policy.concurrency, "{:?} at once", outage.most);
    assert!(outage.most.1 <= 2 * policy.concurrency, "{:?} at once", outage.most);
    assert!(2 * policy.concurrency <= policy.concurrency_total);
}

/// D8: fewer than a hundred tries of each destination.
fn assert_few_tries(outage: &Outage) {
    for look in [false, true] {
        for (to, times) in tries(outage, look) {
            let count = times.len();
            assert!(count < 100, "{count} tries of {to:?} (looks: {look})");
        }
    }
}

/// D8: a restart costs one try of each destination; from the beginning, there would be three times as many
/// in the hour behind it as in the hour before.
fn assert_a_restart_begins_nothing_anew(outage: &Outage) {
    let mut hours = [0_usize; 10];
    for tried in during(outage) {
        hours[usize::try_from(tried.at.since(START).as_secs() / 3_600).unwrap()] += 1;
    }
    assert!(hours[5] * 2 <= hours[4] * 3, "tries in each hour: {hours:?}");
}

/// D8, report 124: after the first hour no two destinations are tried at the same moments, but for their
/// first try and the one at the restart.
fn assert_not_in_step(outage: &Outage) {
    let restart = at(5)..at(5).after(Duration::from_secs(60));
    let mut together: BTreeMap<Timestamp, Vec<Destination>> = BTreeMap::new();
    for (to, times) in tries(outage, false) {
        let later =
            times.into_iter().skip(1).filter(|time| *time > at(1) && !restart.contains(time));
        for time in later {
            together.entry(time).or_default().push(to.clone());
        }
    }
    let mut pairs: BTreeMap<_, usize> = BTreeMap::new();
    for all in together.values() {
        for (number, first) in all.iter().enumerate() {
            for second in &all[number + 1..] {
                *pairs.entry((first, second)).or_default() += 1;
            }
        }
    }
    let in_step: Vec<_> = pairs.into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(in_step.is_empty(), "{in_step:?}");
}

/// Notices of a kind, by the hour.
fn told(outage: &Outage, wanted: impl Fn(&Notice) -> bool) -> Vec<u64> {
    let notices = outage.notices.iter().filter(|(_, notice)| wanted(notice));
    notices.map(|(when, _)| when.since(START).as_secs() / 3_600).collect()
}

fn recovered(outage: &Outage) -> BTreeMap<&str, usize> {
    let mut recovered = BTreeMap::new();
    for (_, notice) in &outage.notices {
        if let Notice::Recovered { lane } = notice {
            *recovered.entry(lane.as_str()).or_default() += 1;
        }
    }
    recovered
}

#[test]
fn d8_s1_nobody_listens_for_ten_hours() {
    let outage = ten_hours(Down::Refused);
    assert_all_delivered(&outage);
    assert_paced(&outage);
    assert_few_tries(&outage);
    assert_a_restart_begins_nothing_anew(&outage);
    // The channel rests as a whole: it is the channel that is tried fewer than a hundred times.
    let channels = [ChannelName::api_server("default"), ChannelName("slack".into())];
    let of = |channel: &ChannelName| -> Vec<Timestamp> {
        let tries = during(&outage).filter(|tried| tried.to.channel() == channel);
        tries.map(|tried| tried.at).collect()
    };
    let times = channels.each_ref().map(of);
    assert!(times.iter().all(|times| (50..110).contains(&times.len())), "{times:?}");
    let met = times[0].iter().filter(|time| **time > at(1) && times[1].contains(time)).count();
    assert!(met <= 1, "the channels keep step: {met}");
    // Told when it begins in each process, and when it ends.
    for channel in &channels {
        let paused =
            |notice: &Notice| matches!(notice, Notice::Paused { channel: of, .. } if of == channel);
        assert_eq!(told(&outage, paused), [0, 5], "{channel}");
        let resumed =
            |notice: &Notice| matches!(notice, Notice::Resumed { channel: of } if of == channel);
        assert_eq!(told(&outage, resumed), [10], "{channel}");
    }
    assert!(recovered(&outage).is_empty(), "the channel was told of as a whole");
    let sent: Vec<&Try> = outage.tries.iter().filter(|tried| tried.delivered).collect();
    let last = sent.iter().map(|tried| tried.at).max().unwrap();
    assert!(last < at(10).after(LONGEST_REST + Duration::from_secs(30)), "{last:?}");
    for channel in &channels {
        // Whoever tries first is alone until it is answered; then whoever waits for the oldest is first.
        let sent: Vec<_> = sent.iter().filter(|tried| tried.to.channel() == channel).collect();
        let first_bodies = first_events(&outage, channel);
        assert!(first_bodies.is_sorted(), "{channel}: {first_bodies:?}");
        let (first, second) = (sent[0].at, sent[1].at);
        assert!(second > first, "{channel}");
    }
}

/// The oldest event of each destination of a channel, in the order in which they were told.
fn first_events(outage: &Outage, channel: &ChannelName) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    let effects = outage.receiver.effects.iter().filter(|(to, _)| to.channel() == channel);
    let first = effects.filter(|(to, _)| seen.insert(to.clone()));
    first.filter_map(|(_, body)| body.split(['<', '>']).nth(1)?.parse().ok()).collect()
}

#[test]
fn d8_s1_report_20_report_124_report_125_each_destination_is_answered_500_or_503_for_ten_hours() {
    let outage = ten_hours(Down::Errors);
    assert_all_delivered(&outage);
    assert_paced(&outage);
    assert_few_tries(&outage);
    assert_a_restart_begins_nothing_anew(&outage);
    assert_not_in_step(&outage);
    let tries = tries(&outage, false);
    assert_eq!(tries.len(), SESSIONS + CHATS);
    // Those that failed together are tried again at times that are spread by far more than 15 %.
    for number in 8..20 {
        let gaps = tries.values().filter_map(|times| {
            let pair = times.get(number..number + 2)?;
            Some(pair[1].since(pair[0]).as_secs_f64())
        });
        let gaps: Vec<f64> = gaps.collect();
        let (least, most) =
            gaps.iter().fold((f64::MAX, 0.0_f64), |(a, b), gap| (a.min(*gap), b.max(*gap)));
        assert!(gaps.len() > 200 && most / least > 1.15, "gap {number}: {least} to {most}");
    }
    // Once it is back, each is told within its own pause, and so they come one by one.
    let mut first: BTreeMap<&Destination, Timestamp> = BTreeMap::new();
    for tried in outage.tries.iter().filter(|tried| tried.delivered) {
        let first = first.entry(&tried.to).or_insert(tried.at);
        *first = tried.at.min(*first);
    }
    let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
    for time in first.values() {
        assert!(*time < at(10).after(LONGEST_PAUSE + Duration::from_secs(10)), "{time:?}");
        *seconds.entry(time.since(at(10)).as_secs()).or_default() += 1;
    }
    assert!(seconds.values().all(|count| *count <= 10), "{seconds:?}");
    let recovered = recovered(&outage);
    assert_eq!(recovered.len(), SESSIONS + CHATS);
    assert!(recovered.values().all(|count| *count == 1), "{recovered:?}");
    // Each destination is told of once in a process, and its further failures are quiet.
    let loud = |notice: &Notice| matches!(notice, Notice::Postponed { again: false, .. });
    let loud = told(&outage, loud).len();
    assert!(loud <= 2 * (SESSIONS + CHATS), "{loud}");
}

#[test]
fn d8_d7_w6_requests_are_cut_for_ten_hours() {
    let outage = ten_hours(Down::Cut);
    assert_all_delivered(&outage);
    assert_paced(&outage);
    assert_few_tries(&outage);
    assert_a_restart_begins_nothing_anew(&outage);
    assert_not_in_step(&outage);
}

#[test]
fn d8_d7_w6_requests_time_out_for_ten_hours() {
    let outage = ten_hours(Down::Silence);
    assert_all_delivered(&outage);
    assert_paced(&outage);
    assert_few_tries(&outage);
}
