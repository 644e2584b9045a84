//! One session that has asked for a task, with the gateway under test beside Hermes.

use super::*;
use crate::support::hermes::{Gateway, answered};

/// The session that asks.
pub(super) const SESSION: &str = "the one that asked";

/// A session whose turn made a task, with the gateway under test beside Hermes.
pub(super) struct Scene {
    pub(super) stub: StubModel,
    pub(super) board: Board,
    pub(super) gateway: Gateway,
    pub(super) ours: Ours,
    pub(super) task: String,
}

impl Scene {
    /// `make` and `set` change what a user has who changes nothing.
    pub(super) async fn new(
        make: impl FnOnce(HomeBuilder) -> HomeBuilder,
        set: impl FnOnce(Ours) -> Ours,
    ) -> Option<Self> {
        let (stub, home) = stage(make).await?;
        let mut ours = set(Ours::new(&home));
        ours.start().await;
        let gateway = home.gateway().start().await;
        let board = home.board();
        gateway.client().post_turn(SESSION, "create task a report").await.ok();
        let task = task_titled(&board, "a report").await;
        Some(Self { stub, board, gateway, ours, task })
    }

    /// Hermes completes the task.
    pub(super) async fn complete(&self) {
        self.board.complete(&self.task, "done once").await;
    }

    /// Waits for the only delivery.
    pub(super) async fn delivered(&self) {
        self.ours.delivered(1, SOON).await;
    }

    /// Exactly one wake was answered, for the task, and no second task came of it. Answers how many
    /// rows of wakes the session has: those that were cut off or failed stay, unanswered.
    pub(super) async fn one_answered_wake(&self) -> usize {
        let wakes = wakes(&self.gateway.client(), SESSION).await;
        assert_eq!(answered(&wakes, MARK), 1, "{wakes:?}");
        for wake in &wakes {
            assert!(wake.user.contains(&self.task) && wake.user.contains("done once"), "{wake:?}");
        }
        assert_eq!(self.board.list().await.len(), 1, "a wake created a task");
        cursors_are_at_the_end(&self.board).await;
        wakes.len()
    }
}
