//! Reading a session's history: is a turn running, and was our wake seen and answered (laws W4, W6).

use crate::time::Timestamp;

/// Who wrote a row of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, or a wake.
    User,
    /// The agent.
    Assistant,
    /// A tool's answer, a system note, or anything else.
    Other,
}

/// One row of a session, reduced to what is judged; adapters feed these while they stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRow<'a> {
    /// Who wrote it.
    pub role: Role,
    /// Its text; empty when it has none.
    pub text: &'a str,
    /// Whether it calls tools, so that more of the turn follows.
    pub calls_tools: bool,
    /// When it was stored.
    pub at: Option<Timestamp>,
}

/// The state of a session, as one look saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionView {
    /// The session whose rows these are, as the server named it (law W3).
    pub session: Option<String>,
    /// Whether the server knows the session at all.
    pub exists: bool,
    /// The newest row's time, when it is *not* a final assistant answer: a turn that may be running.
    pub open_since: Option<Timestamp>,
    /// Whether that open turn began with the reference looked for.
    pub open_is_reference: bool,
    /// The oldest row's time: how far back the history reaches.
    pub oldest: Option<Timestamp>,
    /// Where the reference was found, when one was looked for.
    pub reference: Option<ReferenceSeen>,
}

/// A wake's reference, found in a `user` row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceSeen {
    /// Whether a later assistant row, before the next user row, has content and calls no tools.
    pub answered: bool,
    /// When the user row was stored.
    pub at: Option<Timestamp>,
}

/// Folds the rows of a session, oldest first, into a [`SessionView`] in constant memory.
#[derive(Clone, Debug)]
pub struct HistoryFold {
    reference: Option<String>,
    view: SessionView,
    // Whether the newest user row so far carries the reference.
    in_ours: bool,
}

impl HistoryFold {
    /// A fold that looks for `reference`, or only at the end of the history.
    pub fn new(reference: Option<&str>) -> Self {
        Self {
            reference: reference.map(str::to_owned),
            view: SessionView { exists: true, ..SessionView::default() },
            in_ours: false,
        }
    }

    /// Takes the next row.
    pub fn push(&mut self, row: &HistoryRow<'_>) {
        if self.view.oldest.is_none() {
            self.view.oldest = row.at;
        }
        let answer = row.role == Role::Assistant && !row.calls_tools && !row.text.trim().is_empty();
        self.view.open_since = if answer { None } else { row.at.or(Some(Timestamp::default())) };
        match row.role {
            Role::User if is_prompt_within_a_turn(row.text) => {}
            Role::User => {
                self.in_ours =
                    self.reference.as_deref().is_some_and(|wanted| row.text.contains(wanted));
                // The same bytes posted again leave a second row; an answer to either counts.
                if self.in_ours && !self.view.reference.is_some_and(|seen| seen.answered) {
                    self.view.reference = Some(ReferenceSeen { answered: false, at: row.at });
                }
            }
            Role::Assistant if answer && self.in_ours => {
                if let Some(seen) = &mut self.view.reference {
                    seen.answered = true;
                }
            }
            Role::Assistant | Role::Other => {}
        }
    }

    /// The view, for the session that the server named.
    pub fn finish(mut self, session: Option<String>) -> SessionView {
        self.view.session = session;
        self.view.open_is_reference = self.in_ours && self.view.open_since.is_some();
        self.view
    }
}

/// Hermes writes `user` rows of its own while a turn goes on (seen in 0.19.0: after a cut answer, and
/// when the iterations are used up); they begin no new turn.
fn is_prompt_within_a_turn(text: &str) -> bool {
    text.starts_with("[System: ") || text.starts_with("You've reached the maximum number of tool")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(reference: Option<&str>, rows: &[(Role, &str, bool)]) -> SessionView {
        let mut fold = HistoryFold::new(reference);
        for ((role, text, calls_tools), at) in rows.iter().zip(1..) {
            let at = Some(Timestamp::from_secs(at));
            fold.push(&HistoryRow { role: *role, text, calls_tools: *calls_tools, at });
        }
        fold.finish(Some("s".into()))
    }

    const Q: (Role, &str, bool) = (Role::User, "question", false);
    const A: (Role, &str, bool) = (Role::Assistant, "answer", false);
    const CALL: (Role, &str, bool) = (Role::Assistant, "", true);
    const TOOL: (Role, &str, bool) = (Role::Other, "{}", false);
    const WAKE: (Role, &str, bool) = (Role::User, "[kanban] … kgw:1", false);

    #[test]
    fn w4_a_turn_is_open_until_its_final_answer() {
        assert_eq!(view(None, &[]).open_since, None);
        assert_eq!(view(None, &[Q, A]).open_since, None);
        for open in [
            &[Q][..],
            &[Q, CALL],
            &[Q, CALL, TOOL],
            &[Q, A, Q],
            &[Q, (Role::Assistant, " ", false)],
        ] {
            assert!(view(None, open).open_since.is_some(), "{open:?}");
        }
    }

    #[test]
    fn w6_an_answer_counts_for_the_question_before_it() {
        let answered = |rows: &[(Role, &str, bool)]| {
            view(Some("kgw:1"), rows).reference.map(|seen| seen.answered)
        };
        assert_eq!(answered(&[Q, A]), None);
        assert_eq!(answered(&[Q, A, WAKE]), Some(false));
        assert_eq!(answered(&[WAKE, CALL, TOOL]), Some(false));
        assert_eq!(answered(&[WAKE, CALL, TOOL, A]), Some(true));
        assert_eq!(answered(&[WAKE, A, Q]), Some(true));
        // Somebody else's question came between: that answer is not ours.
        assert_eq!(answered(&[WAKE, Q, A]), Some(false));
        // The same bytes again, answered the second time; and a prompt of the server's own within a turn.
        assert_eq!(answered(&[WAKE, WAKE, A]), Some(true));
        assert_eq!(answered(&[WAKE, A, WAKE]), Some(true));
        let own = (Role::User, "[System: go on]", false);
        assert_eq!(answered(&[WAKE, CALL, own, A]), Some(true));
    }

    #[test]
    fn an_open_turn_of_ours_is_told_from_others() {
        assert!(view(Some("kgw:1"), &[Q, A, WAKE]).open_is_reference);
        assert!(!view(Some("kgw:1"), &[WAKE, A, Q]).open_is_reference);
        assert!(!view(Some("kgw:1"), &[WAKE, A]).open_is_reference);
    }
}
