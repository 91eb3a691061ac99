//! Where lines go: plain into a pipe, with colour and a last line that rewrites itself on a terminal.

use std::io::{self, IsTerminal as _, Write};

/// How output looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Lines only, without any escape code: a pipe, a file, or a terminal that cannot do more.
    Plain,
    /// A terminal without colours.
    Mono,
    /// A terminal with colours.
    Colour,
}

impl Look {
    /// The look that suits the standard output.
    pub(crate) fn of_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match io::stdout().is_terminal() && !is_dumb {
            false => Self::Plain,
            true if is_set("NO_COLOR") => Self::Mono,
            true => Self::Colour,
        }
    }
}

/// What a piece of text means; on a terminal, its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Change,
    Bad,
    Heading,
    Quiet,
}

/// Writes lines, and keeps one more line below them on a terminal.
pub(crate) struct Screen<W> {
    out: W,
    look: Look,
    footer: String,
    last: Last,
}

/// What the line above is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Blank,
    Text,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, look: Look) -> Self {
        Self {
            out,
            look,
            footer: String::new(),
            last: Last::Blank,
        }
    }

    /// Whether [`footer`](Self::footer) shows anything.
    pub(crate) fn has_footer(&self) -> bool {
        self.look != Look::Plain
    }

    /// The text in the colour of its meaning, where there are colours.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
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

    /// Writes one line, above the footer if there is one. Of several empty lines in a row the first counts.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        let text = text.trim_end();
        let this = if text.is_empty() { Last::Blank } else { Last::Text };
        if (self.last, this) == (Last::Blank, Last::Blank) {
            return Ok(());
        }
        self.last = this;
        match self.footer.is_empty() {
            true => writeln!(self.out, "{text}")?,
            false => writeln!(self.out, "\r\x1b[2K{text}")?,
        }
        self.draw_footer()
    }

    /// Replaces the last line. A pipe has none: nothing is written there.
    pub(crate) fn footer(&mut self, text: &str) -> io::Result<()> {
        if self.has_footer() && self.footer != text {
            if !self.footer.is_empty() {
                write!(self.out, "\r\x1b[2K")?;
            }
            text.clone_into(&mut self.footer);
        }
        self.draw_footer()
    }

    fn draw_footer(&mut self) -> io::Result<()> {
        if !self.footer.is_empty() {
            // Wrapping is off meanwhile: a footer wider than the window would leave its first half behind.
            write!(self.out, "\r\x1b[?7l{}\x1b[?7h", self.footer)?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(look: Look, write: impl FnOnce(&mut Screen<Vec<u8>>) -> io::Result<()>) -> String {
        let mut screen = Screen::new(Vec::new(), look);
        write(&mut screen).unwrap();
        String::from_utf8(screen.out).unwrap()
    }

    #[test]
    fn a_pipe_gets_lines_without_escape_codes() {
        let text = written(Look::Plain, |screen| {
            screen.footer("listing")?;
            let word = screen.paint(Tone::Good, "added");
            screen.line(&format!("{word} a  "))?;
            screen.footer("")
        });
        assert_eq!(text, "added a\n");
    }

    #[test]
    fn a_terminal_keeps_the_footer_below_the_lines() {
        let text = written(Look::Colour, |screen| {
            screen.footer("one")?;
            let word = screen.paint(Tone::Good, "added");
            screen.line(&word)?;
            screen.footer("")
        });
        let footer = "\r\x1b[?7lone\x1b[?7h";
        let clear = "\r\x1b[2K";
        assert_eq!(
            text,
            format!("{footer}{clear}\x1b[32madded\x1b[0m\n{footer}{clear}")
        );
    }

    #[test]
    fn empty_lines_only_separate() {
        let text = written(Look::Plain, |screen| {
            for line in ["", "a", "", "", "b"] {
                screen.line(line)?;
            }
            Ok(())
        });
        assert_eq!(text, "a\n\nb\n");
    }

    #[test]
    fn colours_can_be_turned_off() {
        let text = written(Look::Mono, |screen| {
            let word = screen.paint(Tone::Bad, "deleted");
            screen.line(&word)
        });
        assert_eq!(text, "deleted\n");
    }
}
