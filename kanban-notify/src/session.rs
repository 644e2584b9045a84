//! Raw session ids: which of them an API server accepts, and how rotated ones are followed (law W3).

use std::collections::HashMap;

use crate::ids::ChannelName;

/// Why `session` cannot be a destination; `None` when it can (the server's own rules, and law W2).
pub fn fault(session: &str) -> Option<&'static str> {
    let mut chars = session.chars();
    if session.trim().is_empty() {
        return Some("the session id is empty");
    }
    if session != session.trim() {
        return Some("the session id begins or ends with white space");
    }
    if session.chars().count() > 256 {
        return Some("the session id is longer than 256 characters");
    }
    if session.chars().any(char::is_control) {
        return Some("the session id has control characters");
    }
    if session.contains("..") || session.contains(['/', '\\']) {
        return Some("the session id looks like a path");
    }
    if chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some(':') {
        return Some("the session id looks like a drive letter");
    }
    None
}

/// Which session answers for which: learnt from answers and looks.
#[derive(Clone, Debug, Default)]
pub struct Aliases(HashMap<(ChannelName, String), String>);

impl Aliases {
    /// The session that `session` has become, following chains.
    pub fn resolve(&self, channel: &ChannelName, session: &str) -> String {
        let mut current = session.to_owned();
        // A chain cannot be longer than the map; cycles are refused when learnt.
        for _ in 0..=self.0.len() {
            match self.0.get(&(channel.clone(), current.clone())) {
                Some(next) => current.clone_from(next),
                None => break,
            }
        }
        current
    }

    /// Whether nothing can be learnt from being told that `from` is now `to`.
    pub fn leads_back(&self, channel: &ChannelName, from: &str, to: &str) -> bool {
        fault(to).is_some() || from == to || self.resolve(channel, to) == from
    }

    /// Learns that `from` is now `to`. False when there is nothing to learn: an invalid id, the same
    /// session, or a cycle.
    pub fn learn(&mut self, channel: &ChannelName, from: &str, to: &str) -> bool {
        if self.leads_back(channel, from, to) || self.resolve(channel, from) == to {
            return false;
        }
        self.0.insert((channel.clone(), from.to_owned()), to.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_only_what_the_server_accepts() {
        for good in ["sess-abc", "a b", "user@host", "ünï", "ab:c", "1:2"] {
            assert_eq!(fault(good), None, "{good}");
        }
        let long = "x".repeat(257);
        for bad in ["", "  ", " a", "a\nb", "a/b", "a\\b", "..", "C:x", "é:x", &long] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn w3_chains_are_followed_and_cycles_refused() {
        let channel = ChannelName::api_server("default");
        let mut aliases = Aliases::default();
        assert!(aliases.learn(&channel, "a", "b"));
        assert!(aliases.learn(&channel, "b", "c"));
        assert_eq!(aliases.resolve(&channel, "a"), "c");
        assert!(!aliases.learn(&channel, "c", "a"));
        assert!(!aliases.learn(&channel, "c", "../x"));
        assert_eq!(aliases.resolve(&channel, "c"), "c");
        assert_eq!(aliases.resolve(&ChannelName::api_server("other"), "a"), "a");
    }
}
