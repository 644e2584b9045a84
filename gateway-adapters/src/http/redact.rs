//! Takes secrets out of anything that may be printed or stored.

use std::error::Error;

use kanban_notify::verdict::Detail;
use secrecy::{ExposeSecret as _, SecretString};

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// Masks a client's own secrets, credentials after `Bearer` or `Basic`, and of each address
/// everything but scheme, host and port.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<SecretString>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor that knows these secrets; empty ones are passed over.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut secrets: Vec<SecretString> = secrets
            .into_iter()
            .filter(|secret| !secret.expose_secret().trim().is_empty())
            .collect();
        // A secret that holds another one goes first, or its rest would show.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self { secrets }
    }

    /// `text` without secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for secret in &self.secrets {
            clean = clean.replace(secret.expose_secret().trim(), MASK);
        }
        for secret in &self.secrets {
            mask_cut(&mut clean, secret.expose_secret().trim());
        }
        mask_credentials(&mask_addresses(&clean))
    }

    /// `text` without secrets, as one bounded line.
    pub fn detail(&self, text: &str) -> Detail {
        Detail::new(&self.redact(text))
    }

    /// The causes of an error, outermost first, without secrets; its own words only if it has no cause.
    pub fn chain(&self, error: &(dyn Error + 'static)) -> Detail {
        let mut words: Vec<String> = Vec::new();
        let mut next = Some(error.source().unwrap_or(error));
        while let Some(cause) = next {
            let text = cause.to_string();
            // Some errors repeat the words of their cause.
            if words.last().is_none_or(|last| !last.ends_with(&text)) {
                words.push(text);
            }
            next = cause.source();
        }
        self.detail(&words.join(": "))
    }
}

/// Texts are kept up to a length, so a secret may begin at the end of one and be cut there.
fn mask_cut(text: &mut String, secret: &str) {
    let beginnings = (SHORTEST_CUT..secret.len()).rev().filter_map(|end| secret.get(..end));
    let cut = beginnings.filter_map(|beginning| text.strip_suffix(beginning)).next();
    if let Some(before) = cut {
        *text = format!("{before}{MASK}");
    }
}

/// Fewer letters of a secret than these may end any text, and tell nothing.
const SHORTEST_CUT: usize = 4;

/// Slack, Telegram and Discord carry secrets in the path, so nothing after the host is shown.
fn mask_addresses(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after.find(ends_address).unwrap_or(after.len());
        let (address, beyond) = after.split_at_checked(end).unwrap_or((after, ""));
        let host_end = address.find(['/', '?', '#']).unwrap_or(address.len());
        let (authority, path) = address.split_at_checked(host_end).unwrap_or((address, ""));
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                clean.push_str(MASK);
                clean.push('@');
                clean.push_str(host);
            }
            None => clean.push_str(authority),
        }
        if !matches!(path, "" | "/") {
            clean.push('/');
            clean.push_str(MASK);
        }
        rest = beyond;
    }
    clean.push_str(rest);
    clean
}

fn ends_address(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`' | ')' | '}')
}

fn mask_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find_scheme(rest) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        clean.push_str(before);
        clean.push_str(MASK);
        let token_end = after.find(ends_token).unwrap_or(after.len());
        rest = after.get(token_end..).unwrap_or("");
    }
    clean.push_str(rest);
    clean
}

/// Where the token begins that follows the first authentication scheme.
fn find_scheme(text: &str) -> Option<usize> {
    // ASCII only, so that positions are those of `text`.
    let lower = text.to_ascii_lowercase();
    ["bearer ", "basic "]
        .iter()
        .flat_map(|scheme| {
            lower.match_indices(scheme).map(|(at, found)| at.saturating_add(found.len()))
        })
        .filter(|at| {
            // A sentence may speak of "basic auth"; a credential is longer than a word.
            let token = text.get(*at..).unwrap_or("");
            let end = token.find(ends_token).unwrap_or(token.len());
            end >= SHORTEST_TOKEN && !token.starts_with(MASK)
        })
        .min()
}

const SHORTEST_TOKEN: usize = 8;

fn ends_token(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | ',' | ';' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::new(secrets.iter().map(|secret| SecretString::from(*secret)))
    }

    #[test]
    fn own_secrets_are_masked_also_one_inside_another() {
        let redactor = redactor(&["abc", "abcdef", ""]);
        assert_eq!(redactor.redact("x abcdef abc y"), "x *** *** y");
        assert!(!format!("{redactor:?}").contains("abc"));
    }

    #[test]
    fn a_secret_that_is_cut_off_at_the_end_is_masked() {
        let redactor = redactor(&["s3cret-key", "é3"]);
        assert_eq!(redactor.redact("wrong: s3cret-ke"), "wrong: ***");
        assert_eq!(redactor.redact("wrong: s3cr"), "wrong: ***");
        assert_eq!(redactor.redact("wrong: s3c"), "wrong: s3c");
        assert_eq!(redactor.redact("s3cret or not"), "s3cret or not");
    }

    #[test]
    fn an_empty_secret_does_not_garble() {
        assert_eq!(redactor(&["", " \n"]).redact("plain text"), "plain text");
    }

    #[test]
    fn a_secret_read_with_its_line_break_is_known_without() {
        assert_eq!(redactor(&["s3cret\n"]).redact("s3cret!"), "***!");
    }

    #[test]
    fn addresses_keep_scheme_host_and_port_only() {
        let redactor = Redactor::default();
        for (text, clean) in [
            ("at https://u:p@h.example:8/a?k=v, twice", "at https://***@h.example:8/***, twice"),
            ("(https://hooks.example/T0/B0/x)", "(https://hooks.example/***)"),
            ("http://h/ and http://h", "http://h and http://h"),
            ("https://h?token=x#y", "https://h/***"),
        ] {
            let got = redactor.redact(text);
            assert!(!got.contains("k=v") && !got.contains("T0"), "{got}");
            assert_eq!(got.replace(",", ""), clean.replace(",", ""), "{text}");
        }
    }

    #[test]
    fn credentials_are_masked_and_words_are_not() {
        let redactor = Redactor::default();
        assert_eq!(
            redactor.redact("authorization: Bearer abcdefgh1234, next"),
            "authorization: Bearer ***, next"
        );
        assert_eq!(redactor.redact("BASIC dXNlcjpwYXNz"), "BASIC ***");
        assert_eq!(redactor.redact("no basic auth here"), "no basic auth here");
        assert_eq!(
            redactor.redact("bearer abcdefgh1 bearer abcdefgh2 é"),
            "bearer *** bearer *** é"
        );
    }

    #[test]
    fn a_chain_tells_the_causes_once() {
        let inner = std::io::Error::other("refused by http://u:p@h/x");
        let outer = crate::AdapterError::Console { source: inner };
        assert_eq!(Redactor::default().chain(&outer).as_str(), "refused by http://***@h/***");
    }
}
