//! The error of a selector that cannot be parsed: what was expected, and where.

use std::fmt;

use super::syntax::SyntaxError;

/// Why a text is not a [`Selector`](super::Selector), and at which character.
///
/// Its `Display` has three lines: what was expected and found, the selector, and a caret under the
/// character. A long selector is cut around the character. Characters that are not printable ASCII are
/// replaced, so that they cannot affect a terminal or a log.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseSelectorError {
    text: String,
    syntax: SyntaxError,
}

crate::__debug_is_the_message!(ParseSelectorError);

impl std::error::Error for ParseSelectorError {}

impl ParseSelectorError {
    pub(super) fn new(text: &str, syntax: SyntaxError) -> Self {
        Self {
            text: text.to_owned(),
            syntax,
        }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The position of the error, in bytes; the length of the text if more was expected. It is a character
    /// boundary.
    pub fn offset(&self) -> usize {
        self.syntax.offset
    }

    /// A description of what was expected.
    pub fn expected(&self) -> &'static str {
        self.syntax.expected
    }

    /// The character that was found, or `None` at the end of the text.
    pub fn found(&self) -> Option<char> {
        self.text.get(self.offset()..)?.chars().next()
    }
}

/// The number of characters shown before and after the position.
const AROUND: usize = 36;
/// Marks text that is left out.
const CUT: &str = "...";

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid label selector: expected {}, found ", self.expected())?;
        match self.found() {
            Some(found) => writeln!(f, "`{}`", found.escape_debug())?,
            None => f.write_str("the end\n")?,
        }
        let (before, after) = self.text.split_at(self.offset());
        let mut left: Vec<char> = before.chars().rev().take(AROUND).map(printable).collect();
        left.reverse();
        let right: String = after.chars().take(AROUND).map(printable).collect();
        let is_cut = |text: &str| text.chars().nth(AROUND).is_some();
        let (head, tail) = (
            if is_cut(before) { CUT } else { "" },
            if is_cut(after) { CUT } else { "" },
        );
        writeln!(f, "  {head}{}{right}{tail}", String::from_iter(&left))?;
        write!(f, "  {:1$}^", "", head.len() + left.len())
    }
}

/// One column for every character.
fn printable(character: char) -> char {
    match character {
        ' '..='~' => character,
        '\t' | '\r' | '\n' => ' ',
        _ => '?',
    }
}
