//! `watch`: a board live, on the whole terminal, or as lines where there is none.

use std::{collections::BTreeMap, io::IsTerminal as _, process::ExitCode, thread, time::Duration};

use anyhow::Context as _;
use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize as _},
    text::{Line, Span},
    widgets::{Block, List, ListItem, Paragraph},
};

use crate::ops::time::Moment;
use crate::ops::watch::{Delivery, Running, View, Watcher};

/// How often the board is asked whether it changed: one pragma, nothing is read.
const EVERY: Duration = Duration::from_millis(250);
/// A column narrower than this says nothing.
const COLUMN: u16 = 18;

/// Watches until somebody presses `q`, or nobody reads the lines any more.
pub(super) fn watch(mut watcher: Watcher, lines: bool) -> anyhow::Result<ExitCode> {
    if lines || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return follow(&mut watcher);
    }
    let mut terminal = ratatui::try_init().context("the terminal cannot be used; try --lines")?;
    let ended = live(&mut watcher, &mut terminal);
    ratatui::restore();
    ended.map(|()| ExitCode::SUCCESS)
}

fn live(watcher: &mut Watcher, terminal: &mut DefaultTerminal) -> anyhow::Result<()> {
    loop {
        let view = watcher.look();
        terminal.draw(|frame| draw(frame, view))?;
        if event::poll(EVERY)? && is_end(&event::read()?) {
            return Ok(());
        }
    }
}

fn is_end(event: &Event) -> bool {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else {
        return false;
    };
    matches!(code, KeyCode::Char('q') | KeyCode::Esc)
        || (*code == KeyCode::Char('c') && modifiers.contains(KeyModifiers::CONTROL))
}

/// One line for each change of a count and each delivery that moved.
fn follow(watcher: &mut Watcher) -> anyhow::Result<ExitCode> {
    let mut before = Seen::default();
    loop {
        for line in before.news(watcher.look()) {
            if !super::output::heard(format_args!("{line}")) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        thread::sleep(EVERY);
    }
}

/// What was said already.
#[derive(Debug, Default)]
struct Seen {
    counts: BTreeMap<String, i64>,
    deliveries: BTreeMap<i64, String>,
    problem: Option<String>,
    /// The time of the last line.
    last: i64,
}

impl Seen {
    /// In the order of time, also across calls: what is heard of late carries the time of the look.
    fn news(&mut self, view: &View) -> Vec<String> {
        let mut lines = Vec::new();
        let mut told: Vec<&Delivery> = view.deliveries.iter().rev().collect();
        told.sort_by_key(|delivery| delivery.at);
        for delivery in told {
            if self.deliveries.get(&delivery.id) != Some(&delivery.state) {
                let Delivery { at, task, event, to, state, .. } = delivery;
                let at = if *at < self.last { view.now } else { *at };
                lines.push((at, format!("{task}  {event}  to {to}  {state}")));
                self.deliveries.insert(delivery.id, state.clone());
            }
        }
        let counts: BTreeMap<String, i64> =
            view.columns.iter().map(|column| (column.status.clone(), column.count)).collect();
        if counts != self.counts {
            let counts: Vec<String> = view
                .columns
                .iter()
                .map(|column| format!("{} {}", column.status, column.count))
                .collect();
            let counts = if counts.is_empty() { "no tasks".to_owned() } else { counts.join(", ") };
            lines.push((view.now, format!("{}  {counts}", view.board)));
        }
        self.counts = counts;
        if self.problem != view.problem {
            self.problem.clone_from(&view.problem);
            lines.extend(view.problem.iter().map(|problem| (view.now, problem.clone())));
        }
        lines.sort_by_key(|(at, _)| *at);
        self.last = lines.last().map_or(self.last, |(at, _)| *at);
        lines.into_iter().map(|(at, line)| format!("{}  {line}", Moment::from_secs(at))).collect()
    }
}

fn draw(frame: &mut Frame<'_>, view: &View) {
    let running = u16::try_from(view.running.len()).unwrap_or(u16::MAX).clamp(1, 6);
    let [head, columns, work, told] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(4),
        Constraint::Length(running.saturating_add(2)),
        Constraint::Percentage(35),
    ])
    .areas(frame.area());
    frame.render_widget(header(view), head);
    draw_columns(frame, view, columns);
    draw_list(
        frame,
        work,
        "at work",
        view.running.iter().map(|task| working(task, view.now)).collect(),
        "nobody",
    );
    let deliveries = view.deliveries.iter().map(told_line).collect();
    draw_list(frame, told, "told", deliveries, "nothing yet");
}

fn header(view: &View) -> Paragraph<'static> {
    let mut spans = vec![Span::from(format!(" {} ", view.board)).bold().reversed()];
    spans.push(Span::from(format!("  {}   q to leave", Moment::from_secs(view.now))).dim());
    if let Some(problem) = &view.problem {
        spans.push(Span::from(format!("   {problem}")).fg(Color::Red));
    }
    Paragraph::new(Line::from(spans))
}

/// As many columns side by side as have room; the rest by number in the title of the last.
fn draw_columns(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let fit = usize::from((area.width / COLUMN).max(1));
    let shown: Vec<_> = view.columns.iter().take(fit).collect();
    if shown.is_empty() {
        return draw_list(frame, area, "tasks", Vec::new(), "none");
    }
    let hidden: Vec<String> =
        view.columns.iter().skip(fit).map(|c| format!("{} {}", c.status, c.count)).collect();
    let areas = Layout::horizontal(shown.iter().map(|_| Constraint::Fill(1))).split(area);
    let last = shown.len().saturating_sub(1);
    for (at, (column, area)) in shown.iter().zip(areas.iter()).enumerate() {
        let mut title = format!("{} {}", column.status, column.count);
        if at == last && !hidden.is_empty() {
            title = format!("{title} (+ {})", hidden.join(", "));
        }
        let items = column.tasks.iter().map(|task| Line::from(task.clone())).collect();
        draw_list(frame, *area, &title, items, "");
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>, none: &str) {
    let block = Block::bordered().title(format!(" {title} ")).border_style(Style::new().dim());
    if lines.is_empty() {
        frame.render_widget(Paragraph::new(none.to_owned()).dim().block(block), area);
    } else {
        frame.render_widget(List::new(lines.into_iter().map(ListItem::new)).block(block), area);
    }
}

fn working(running: &Running, now: i64) -> Line<'_> {
    let ago = |at: Option<i64>| at.map(|at| now.saturating_sub(at).max(0));
    let for_long = ago(running.since).map_or_else(|| "?".to_owned(), span);
    let mut line = Line::from(format!("{:>8}  {}  {}", for_long, running.assignee, running.task));
    if let Some(silent) = ago(running.heartbeat_at).filter(|silent| *silent > 120) {
        line.push_span(Span::from(format!("  silent for {}", span(silent))).fg(Color::Yellow));
    }
    line
}

fn told_line(delivery: &Delivery) -> Line<'_> {
    let Delivery { at, task, event, to, state, .. } = delivery;
    let color = match state.split(':').next() {
        Some("delivered") => Color::Green,
        Some("parked") => Color::Red,
        Some("expired" | "cancelled" | "taken") => Color::Gray,
        _ => Color::Yellow,
    };
    Line::from(vec![
        Span::from(format!("{}  ", Moment::from_secs(*at))).dim(),
        Span::from(format!("{task}  {event}  to {to}  ")),
        Span::from(state.clone()).fg(color),
    ])
}

fn span(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let rounded = if seconds >= 3_600 { seconds / 60 * 60 } else { seconds };
    humantime::format_duration(Duration::from_secs(rounded)).to_string()
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
