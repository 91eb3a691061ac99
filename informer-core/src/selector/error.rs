//! The error of a selector that cannot be parsed: what is wrong, and where.

use std::fmt;

use super::syntax::Flaw;

/// Why a text is not a [`Selector`](super::Selector), and at which character.
///
/// Its `Display` has three lines: what was expected and what was found, the selector, and a caret under the character. Of a
/// long selector the part around the character is shown, and what is not printable ASCII is replaced there, so that
/// neither a terminal nor a log can be played with.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseSelectorError {
    text: String,
    flaw: Flaw,
}

crate::__debug_is_the_message!(ParseSelectorError);

impl std::error::Error for ParseSelectorError {}

impl ParseSelectorError {
    pub(super) fn new(text: &str, flaw: Flaw) -> Self {
        Self {
            text: text.to_owned(),
            flaw,
        }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it goes wrong, in bytes from its start; its length if more was expected there. It is the start of a character.
    pub fn offset(&self) -> usize {
        self.flaw.offset
    }

    /// What should have been there, in words.
    pub fn expected(&self) -> &'static str {
        self.flaw.expected
    }

    /// The character that is there instead, or `None` at the end of the text.
    pub fn found(&self) -> Option<char> {
        self.text.get(self.offset()..)?.chars().next()
    }
}

/// How many characters are shown before and behind the place.
const AROUND: usize = 36;
/// Stands for what is left out.
const CUT: &str = "...";

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid label selector: expected {}, found ", self.expected())?;
        match self.found() {
            Some(found) => writeln!(f, "`{}`", found.escape_debug())?,
            None => f.write_str("the end\n")?,
        }
        let (before, behind) = self.text.split_at(self.offset());
        let mut left: Vec<char> = before.chars().rev().take(AROUND).map(printable).collect();
        left.reverse();
        let right: String = behind.chars().take(AROUND).map(printable).collect();
        let is_cut = |text: &str| text.chars().nth(AROUND).is_some();
        let (head, tail) = (
            if is_cut(before) { CUT } else { "" },
            if is_cut(behind) { CUT } else { "" },
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
