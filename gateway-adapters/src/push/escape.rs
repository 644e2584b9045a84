//! Quoted text as data: escaped for a platform's markup, and with mentions that call nobody.

/// A mark of no width that is put behind the sign of a mention: it reads the same and calls nobody.
pub const BREAK: char = '\u{200b}';

/// Text in which no `@name` is a mention. For platforms that find mentions in plain text.
pub fn mentions(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        safe.push(c);
        if matches!(c, '@' | '\u{ff20}') {
            safe.push(BREAK);
        }
    }
    safe
}

/// Text for Slack, where `<`, `>` and `&` begin everything that is more than text.
pub fn slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text for HTML.
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Text for dialects of Markdown that take a backslash before any sign of ASCII.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '-')
            || matches!(c, '!' | '|' | '<' | '>' | '~' | ':')
        {
            safe.push('\\');
        }
        safe.push(c);
        if c == '@' {
            safe.push(BREAK);
        }
    }
    safe
}

/// Text in which nothing is a template of Jinja, which Home Assistant runs wherever it comes from.
pub fn templates(text: &str) -> String {
    text.replace('{', &format!("{{{BREAK}"))
}

/// Text for Mattermost, whose clients agree on few escapes: what only means something at the beginning of
/// a line does not stand there, and links stay links.
pub fn mattermost(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']') {
            safe.push('\\');
        }
        match c {
            // A webhook would find a link in <a|b>, whatever stands before the line.
            '|' => safe.push_str("&#124;"),
            c => safe.push(c),
        }
        if matches!(c, '@' | '\u{ff20}' | '<' | '&' | '~' | '\n') {
            safe.push(BREAK);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_116_signs_of_markup_are_text() {
        assert_eq!(html("<b>&\"x\""), "&lt;b&gt;&amp;&quot;x&quot;");
        assert_eq!(markdown("*a* [b](c) `d` @e"), "\\*a\\* \\[b\\]\\(c\\) \\`d\\` @\u{200b}e");
    }

    #[test]
    fn report_77_a_mention_of_slack_is_text() {
        assert_eq!(slack("<!channel> & @all"), "&lt;!channel&gt; &amp; @all");
    }

    #[test]
    fn report_77_text_for_mattermost_calls_nobody_and_keeps_links() {
        for text in ["https://example.org/a-b/c?d=1#e.", "1.2 + 3 (x) {y} !"] {
            assert_eq!(mattermost(text), text);
        }
        let b = BREAK;
        assert_eq!(mattermost("<!channel> @all"), format!("<{b}!channel> @{b}all"));
        assert_eq!(mattermost("a\n# b"), format!("a\n{b}# b"));
        assert_eq!(
            mattermost("**a_b** `c` ~~d~~"),
            format!("\\*\\*a\\_b\\*\\* \\`c\\` ~{b}~{b}d~{b}~{b}")
        );
        assert_eq!(mattermost("[a](b) <c|d> &lt;"), format!("\\[a\\](b) <{b}c&#124;d> &{b}lt;"));
    }

    #[test]
    fn a_template_is_text() {
        let b = BREAK;
        assert_eq!(templates("{{ a }} {% b %}"), format!("{{{b}{{{b} a }}}} {{{b}% b %}}"));
    }

    #[test]
    fn a_mention_calls_nobody_and_reads_the_same() {
        assert_eq!(mentions("@all and a@b"), "@\u{200b}all and a@\u{200b}b");
        assert_eq!(mentions("plain"), "plain");
    }
}
