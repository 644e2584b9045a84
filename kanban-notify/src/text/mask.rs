//! Secrets of common shapes are masked before a text goes anywhere, the ledger included.

use std::sync::LazyLock;

use regex_lite::Regex;

/// `text` with every secret of a known shape replaced by a short mask.
pub fn secrets(text: &str) -> String {
    let mut masked = text.to_owned();
    let lower = text.to_ascii_lowercase();
    for Shape { marks, pattern, mask } in SHAPES.iter() {
        // Most texts have none of a shape's marks, and a search for those costs next to nothing.
        if marks.iter().any(|mark| lower.contains(mark)) && pattern.is_match(&masked) {
            masked = pattern.replace_all(&masked, *mask).into_owned();
        }
    }
    masked
}

/// What a secret looks like.
struct Shape {
    /// One of these, in small letters, is in every secret of this shape.
    marks: &'static [&'static str],
    pattern: Regex,
    mask: &'static str,
}

/// Shapes as their vendors document them; each is long enough that prose does not match.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    [
        shape(&["private key-----"], r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)", "[masked key]"),
        shape(&["gh", "glpat-"], r"\b(gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})", "[masked token]"),
        shape(&["xox"], r"\bxox[a-z]-[A-Za-z0-9-]{10,}", "[masked token]"),
        shape(&["sk-"], r"\bsk-[A-Za-z0-9_-]{16,}", "[masked key]"),
        shape(&["akia", "asia"], r"\b(AKIA|ASIA)[A-Z0-9]{16}\b", "[masked key]"),
        shape(&["aiza"], r"\bAIza[A-Za-z0-9_-]{30,}", "[masked key]"),
        shape(&["eyj"], r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "[masked token]"),
        shape(&["0:", "1:", "2:", "3:", "4:", "5:", "6:", "7:", "8:", "9:"], r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b", "[masked token]"),
        shape(&["bearer", "basic"], r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", "$1 [masked]"),
        shape(&["://"], r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+@", "$1[masked]@"),
        shape(
            &["key", "token", "secret", "passw"],
            r#"(?i)\b(api[_-]?key|access[_-]?token|auth[_-]?token|secret|password|passwd)(["']?\s*[=:]\s*["']?)[^\s"',;&]{6,}"#,
            "$1$2[masked]",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
});

fn shape(marks: &'static [&'static str], pattern: &str, mask: &'static str) -> Option<Shape> {
    Some(Shape { marks, pattern: Regex::new(pattern).ok()?, mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_valid_pattern() {
        assert_eq!(SHAPES.len(), 11);
    }

    #[test]
    fn report_48_keys_are_masked_and_the_rest_is_unchanged() {
        // Fake, and visibly so.
        let token = format!("ghp_{}", "FAKE".repeat(9));
        let key = format!("sk-{}", "fake".repeat(6));
        let jwt = format!("eyJ{0}.eyJ{0}.{0}", "FAKEfake1234");
        let text = format!(
            "Pushed with {token}, called with {key} and {jwt}; Authorization: Bearer FAKEFAKEFAKE1 \
             at https://me:fakepass@host.example/x, password=hunter2hunter2 done"
        );
        assert_eq!(
            secrets(&text),
            "Pushed with [masked token], called with [masked key] and [masked token]; Authorization: \
             Bearer [masked] at https://[masked]@host.example/x, password=[masked] done"
        );
    }

    #[test]
    fn prose_is_left_alone() {
        for prose in
            ["the basic idea", "a secret: none", "sk-ip this", "task-force", "12:30 at t_1"]
        {
            assert_eq!(secrets(prose), prose);
        }
    }
}
