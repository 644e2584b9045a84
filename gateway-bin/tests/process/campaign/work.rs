//! Tasks that end, and what each session and chat must hear of them.

use std::collections::BTreeMap;

use kanban_store::{
    board::RowKey,
    write::{self, Blocked},
};

use crate::support::{
    cards::{Cards, now},
    dice::Dice,
};

/// One event for one row: what must be told once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg {
    pub platform: String,
    pub chat: String,
    /// What the event says: `017b` is the second event of task 17.
    pub mark: String,
}

impl Leg {
    pub fn is_wake(&self) -> bool {
        self.platform == "api_server"
    }

    /// The subscription: the events of one are told in their order.
    pub fn subscription(&self) -> (String, String, String) {
        (self.platform.clone(), self.chat.clone(), self.mark[..3].to_owned())
    }
}

/// The events that a text tells of, in its order.
pub fn marks(text: &str) -> Vec<String> {
    text.split("part-").skip(1).map(|rest| rest[..4].to_owned()).collect()
}

/// Everything that was asked for.
pub struct Work {
    cards: Cards,
    dice: Dice,
    made: usize,
    blocked: Vec<Task>,
    /// What must be told, with its task.
    pub legs: BTreeMap<Leg, String>,
    /// What each event says.
    pub said: BTreeMap<i64, String>,
    /// Every row with its newest event.
    pub rows: BTreeMap<RowKey, i64>,
}

struct Task {
    id: String,
    number: usize,
    rows: Vec<RowKey>,
}

impl Work {
    pub fn new(cards: &Cards, seed: u64) -> Self {
        Self {
            cards: cards.clone(),
            dice: Dice::new(seed),
            made: 0,
            blocked: Vec::new(),
            legs: BTreeMap::new(),
            said: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    pub fn tasks(&self) -> usize {
        self.made
    }

    /// Goes on with the tasks that were blocked before, and makes so many new ones.
    pub fn go_on(&mut self, count: usize) {
        self.finish();
        for _ in 0..count {
            let task = self.ask();
            if self.dice.often(4) {
                self.block(&task);
                self.blocked.push(task);
            } else {
                self.complete(task, 'a');
            }
        }
    }

    /// Completes what is blocked.
    pub fn finish(&mut self) {
        for task in std::mem::take(&mut self.blocked) {
            write::unblock(&mut self.cards.open(), &task.id, now()).unwrap();
            self.complete(task, 'b');
        }
    }

    /// A task with one to three rows; some share their session or chat.
    fn ask(&mut self) -> Task {
        let number = self.made;
        self.made += 1;
        let id = self.cards.task("Build the report");
        let platforms: &[&str] = match self.dice.below(10) {
            0..=3 => &["api_server"],
            4 | 5 => &["console"],
            6..=8 => &["api_server", "console"],
            _ => &["api_server", "console", "api_server"],
        };
        let mut rows = Vec::new();
        for (row, platform) in platforms.iter().enumerate() {
            let chat = match (*platform, self.dice.often(3)) {
                ("console", false) => format!("room-{}", self.dice.below(4)),
                (_, true) if row == 0 => format!("shared-{}", self.dice.below(6)),
                _ => format!("own-{number}-{row}"),
            };
            rows.push(self.cards.subscribe(&id, platform, &chat));
        }
        Task { id, number, rows }
    }

    fn block(&mut self, task: &Task) {
        let said = self.owe(task, 'a');
        let mut board = self.cards.open();
        let blocked = write::block(&mut board, &task.id, Some(&said), None, now()).unwrap();
        let Blocked::Blocked(event) = blocked else { panic!("{blocked:?}") };
        self.said.insert(event, mark(task, 'a'));
    }

    fn complete(&mut self, task: Task, step: char) {
        let said = self.owe(&task, step);
        let event = self.cards.complete(&task.id, &said);
        self.said.insert(event, mark(&task, step));
        self.rows.extend(task.rows.into_iter().map(|row| (row, event)));
    }

    /// Notes what is about to be told of a task; answers its words.
    fn owe(&mut self, task: &Task, step: char) -> String {
        let mark = mark(task, step);
        for row in &task.rows {
            let (platform, chat) = (row.platform.clone(), row.chat.clone());
            let leg = Leg { platform, chat, mark: mark.clone() };
            self.legs.insert(leg, task.id.clone());
        }
        format!("part-{mark} is there")
    }
}

fn mark(task: &Task, step: char) -> String {
    format!("{:03}{step}", task.number)
}
