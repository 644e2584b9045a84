//! What a look shows, on terminals of several sizes and as lines.

use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::ops::watch::Column;

fn view() -> View {
    let column = |status: &str, count, tasks: &[&str]| Column {
        status: status.to_owned(),
        count,
        tasks: tasks.iter().map(|task| (*task).to_owned()).collect(),
    };
    View {
        board: "ops".to_owned(),
        now: 1_800_000_000,
        columns: vec![
            column("todo", 1, &["t_1 Plan"]),
            column("running", 1, &["t_2 Build"]),
            column("blocked", 3, &["t_3 Ask"]),
            column("done", 70_000, &["t_4 Ship", "t_5 Rest"]),
        ],
        running: vec![Running {
            task: "t_2 Build".to_owned(),
            assignee: "builder".to_owned(),
            since: Some(1_800_000_000 - 3_725),
            heartbeat_at: Some(1_800_000_000 - 300),
        }],
        deliveries: vec![delivery(2, "retrying: HTTP 429"), delivery(1, "delivered")],
        problem: None,
    }
}

fn delivery(id: i64, state: &str) -> Delivery {
    Delivery {
        id,
        at: 1_799_999_990,
        task: format!("t_{id}"),
        event: "completed".to_owned(),
        to: "api_server sess-1".to_owned(),
        state: state.to_owned(),
    }
}

fn screen(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_wide_terminal_shows_every_column_what_runs_and_what_was_told() {
    let screen = screen(&view(), 120, 24);
    for text in [
        "ops",
        "todo 1",
        "running 1",
        "blocked 3",
        "done 70000",
        "t_5 Rest",
        "1h 2m  builder  t_2 Build  silent for 5m",
        "t_2  completed  to api_server sess-1  retrying: HTTP 429",
        "t_1  completed  to api_server sess-1  delivered",
    ] {
        assert!(screen.contains(text), "{text} is missing:\n{screen}");
    }
}

#[test]
fn a_narrow_one_counts_the_columns_that_have_no_room() {
    let narrow = screen(&view(), 60, 20);
    assert!(narrow.contains("blocked 3 (+ done"), "{narrow}");
    // Whatever the size, it is drawn without a panic.
    for (width, height) in [(1, 1), (10, 3), (17, 8), (300, 5)] {
        screen(&view(), width, height);
        screen(&View::default(), width, height);
    }
}

#[test]
fn an_empty_board_and_a_problem_are_said() {
    let mut view = View { board: "ops".to_owned(), ..View::default() };
    view.problem = Some("the board is gone".to_owned());
    let screen = screen(&view, 80, 20);
    for text in ["none", "nobody", "nothing yet", "the board is gone"] {
        assert!(screen.contains(text), "{text} is missing:\n{screen}");
    }
}

#[test]
fn lines_tell_what_changed_and_nothing_twice() {
    let mut seen = Seen::default();
    let first = seen.news(&view());
    assert_eq!(first.len(), 3, "{first:?}");
    assert!(first[0].contains("t_1") && first[1].contains("429"), "the oldest first: {first:?}");
    assert!(first[2].ends_with("ops  todo 1, running 1, blocked 3, done 70000"), "{first:?}");
    assert!(first.is_sorted(), "{first:?}");
    assert_eq!(seen.news(&view()), Vec::<String>::new());
    let mut later = view();
    later.columns[0].count = 2;
    later.deliveries[0].state = "delivered".to_owned();
    later.problem = Some("gone".to_owned());
    let news = seen.news(&later);
    assert_eq!(news.len(), 3, "{news:?}");
    assert!(news[0].contains("t_2") && news[1].contains("todo 2") && news[2].contains("gone"));
    let all: Vec<String> = first.into_iter().chain(news).collect();
    let times: Vec<&str> = all.iter().filter_map(|line| line.split("  ").next()).collect();
    assert!(times.is_sorted(), "what was sent earlier and is heard of late: {all:?}");
}

#[test]
fn it_ends_by_the_usual_keys() {
    let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
    assert!(is_end(&key(KeyCode::Char('q'), KeyModifiers::NONE)));
    assert!(is_end(&key(KeyCode::Esc, KeyModifiers::NONE)));
    assert!(is_end(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(!is_end(&key(KeyCode::Char('c'), KeyModifiers::NONE)));
    assert!(!is_end(&Event::Resize(3, 3)));
}
