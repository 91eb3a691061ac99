//! Lines of text: plain in a pipe; with colours and a last line that is rewritten in a terminal.

use std::io::{self, IsTerminal as _, Write};

/// How output looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Lines without any escape code: a pipe, a file, or a terminal that supports no more.
    Plain,
    /// A terminal without colours.
    Mono,
    /// A terminal with colours.
    Colour,
}

impl Look {
    /// The look that suits the standard output.
    pub(super) fn of_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match io::stdout().is_terminal() && !is_dumb {
            false => Self::Plain,
            true if is_set("NO_COLOR") => Self::Mono,
            true => Self::Colour,
        }
    }
}

/// The meaning of a piece of text; in a terminal, its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Change,
    Bad,
    Heading,
    Quiet,
}

/// Writes lines, and in a terminal keeps a footer below them.
pub(super) struct Page<W> {
    out: W,
    look: Look,
    footer: String,
    last: Last,
}

/// The line above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Blank,
    Text,
}

impl<W: Write> Page<W> {
    pub(super) fn new(out: W, look: Look) -> Self {
        Self {
            out,
            look,
            footer: String::new(),
            last: Last::Blank,
        }
    }

    /// Whether [`footer`](Self::footer) shows anything.
    pub(super) fn has_footer(&self) -> bool {
        self.look != Look::Plain
    }

    /// The text in the colour of its meaning, if colours are on.
    pub(super) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Change => "36",
            Tone::Bad => "31",
            Tone::Heading => "1",
            Tone::Quiet => "2",
        };
        match self.look {
            Look::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
            Look::Plain | Look::Mono => text.to_owned(),
        }
    }

    /// Writes one line above the footer. Several empty lines in a row become one.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        let text = text.trim_end();
        let this = if text.is_empty() { Last::Blank } else { Last::Text };
        if (self.last, this) == (Last::Blank, Last::Blank) {
            return Ok(());
        }
        self.last = this;
        self.clear_footer()?;
        writeln!(self.out, "{text}")?;
        self.draw_footer()
    }

    /// Lets something else write above the footer.
    pub(super) fn interrupted_by(&mut self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.clear_footer()?;
        self.out.flush()?;
        write()?;
        self.draw_footer()
    }

    /// Replaces the footer. A pipe has none: nothing is written to it.
    pub(super) fn footer(&mut self, text: &str) -> io::Result<()> {
        if self.has_footer() && self.footer != text {
            self.clear_footer()?;
            text.clone_into(&mut self.footer);
        }
        self.draw_footer()
    }

    fn clear_footer(&mut self) -> io::Result<()> {
        match self.footer.is_empty() {
            true => Ok(()),
            false => write!(self.out, "\r\x1b[2K"),
        }
    }

    fn draw_footer(&mut self) -> io::Result<()> {
        if !self.footer.is_empty() {
            // Wrapping is off meanwhile: the first half of a footer wider than the window would never be
            // cleared.
            write!(self.out, "\r\x1b[?7l{}\x1b[?7h", self.footer)?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(look: Look, write: impl FnOnce(&mut Page<Vec<u8>>) -> io::Result<()>) -> String {
        let mut page = Page::new(Vec::new(), look);
        write(&mut page).unwrap();
        String::from_utf8(page.out).unwrap()
    }

    #[test]
    fn a_pipe_gets_lines_without_escape_codes() {
        let text = written(Look::Plain, |page| {
            page.footer("listing")?;
            let word = page.paint(Tone::Good, "added");
            page.line(&format!("{word} a  "))?;
            page.interrupted_by(|| Ok(()))?;
            page.footer("")
        });
        assert_eq!(text, "added a\n");
    }

    #[test]
    fn a_terminal_keeps_the_footer_below_the_lines() {
        let text = written(Look::Colour, |page| {
            page.footer("one")?;
            let word = page.paint(Tone::Good, "added");
            page.line(&word)?;
            page.interrupted_by(|| Ok(()))?;
            page.footer("")
        });
        let footer = "\r\x1b[?7lone\x1b[?7h";
        let clear = "\r\x1b[2K";
        assert_eq!(
            text,
            format!("{footer}{clear}\x1b[32madded\x1b[0m\n{footer}{clear}{footer}{clear}")
        );
    }

    #[test]
    fn several_empty_lines_become_one() {
        let text = written(Look::Plain, |page| {
            ["", "a", "", "", "b"].iter().try_for_each(|line| page.line(line))
        });
        assert_eq!(text, "a\n\nb\n");
    }

    #[test]
    fn colours_can_be_turned_off() {
        let text = written(Look::Mono, |page| {
            let word = page.paint(Tone::Bad, "deleted");
            page.line(&word)
        });
        assert_eq!(text, "deleted\n");
    }
}
