//! Makes text from the network safe for logs, errors and terminals.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// The maximum length of a printed message, in characters.
const MESSAGE: usize = 1024;
/// The maximum length of a name in Kubernetes.
const NAME: usize = 253;
/// The maximum length of a namespace in Kubernetes.
const NAMESPACE: usize = 63;
/// Room for the suffix of a text that is cut.
const SUFFIX: usize = 32;

/// Prints text that a server or another user wrote.
///
/// Escapes control characters, line separators and characters that change the direction of text, so that it
/// cannot forge a log line or move a terminal's cursor. Cuts a text at its limit and appends its length.
/// The output never exceeds the limit, so printing it again does not change it.
#[derive(Clone, Copy)]
pub(crate) struct Printable<'t> {
    text: &'t str,
    limit: usize,
}

impl<'t> Printable<'t> {
    /// A sentence: at most 1,024 characters.
    pub(crate) fn message(text: &'t str) -> Self {
        Self { text, limit: MESSAGE }
    }

    /// A name, a reason or a version: at most 253 characters.
    pub(crate) fn name(text: &'t str) -> Self {
        Self { text, limit: NAME }
    }

    /// A namespace: at most 63 characters.
    pub(crate) fn namespace(text: &'t str) -> Self {
        Self {
            text,
            limit: NAMESPACE,
        }
    }

    /// Whether the text is printed unchanged.
    pub(crate) fn is_plain(self) -> bool {
        !self.text.chars().any(is_escaped) && self.text.chars().nth(self.limit).is_none()
    }

    /// The printed text.
    pub(crate) fn into_cow(self) -> Cow<'t, str> {
        if self.is_plain() {
            Cow::Borrowed(self.text)
        } else {
            Cow::Owned(self.to_string())
        }
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |character: char| match is_escaped(character) {
            true => character.escape_default().count(),
            false => 1,
        };
        let mut used = 0;
        let mut cut = self.text.len();
        for (at, character) in self.text.char_indices() {
            let next = used + width(character);
            if next <= self.limit - SUFFIX {
                cut = at + character.len_utf8();
            }
            used = next;
            if used > self.limit {
                break;
            }
        }
        let shown = if used > self.limit {
            &self.text[..cut]
        } else {
            self.text
        };
        for character in shown.chars() {
            if is_escaped(character) {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        if used > self.limit {
            write!(f, "… ({} bytes)", self.text.len())?;
        }
        Ok(())
    }
}

fn is_escaped(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // Marks, embeddings, overrides and isolates of bidirectional text.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators, and characters without width.
            | '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200d}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let printed = Printable::message(text).to_string();
        assert_eq!(printed, expected);
        assert_eq!(Printable::message(&printed).to_string(), printed, "printed twice");
        assert_eq!(Printable::message(text).into_cow(), expected);
    }

    #[test]
    fn characters_that_could_forge_a_line_are_escaped() {
        check(
            "pods \"a\" not found: é ß 漢 \\n",
            "pods \"a\" not found: é ß 漢 \\n",
        );
        check("a\nb\r\tc", "a\\nb\\r\\tc");
        check("\u{1b}[2Jx\0\u{9b}", "\\u{1b}[2Jx\\u{0}\\u{9b}");
        check("a\u{202e}b\u{2066}c\u{2028}d", "a\\u{202e}b\\u{2066}c\\u{2028}d");
    }

    #[test]
    fn a_long_text_is_cut_and_followed_by_its_length() {
        for limit in [MESSAGE, NAME, NAMESPACE] {
            let make = |text: &str| Printable { text, limit }.to_string();
            let whole = "x".repeat(limit);
            assert_eq!(make(&whole), whole);
            for text in [
                "x".repeat(limit + 1),
                "漢".repeat(limit + 1),
                "\u{1b}".repeat(limit),
            ] {
                let printed = make(&text);
                assert!(printed.chars().count() <= limit, "{printed}");
                assert!(
                    printed.ends_with(&format!("… ({} bytes)", text.len())),
                    "{printed}"
                );
                assert_eq!(make(&printed), printed, "printed twice");
            }
        }
    }
}
