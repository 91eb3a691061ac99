//! Splits the text of a selector into tokens.

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A key, a value, `in` or `notin`, depending on its position.
    Word(&'a str),
    /// `(`
    Open,
    /// `)`
    Close,
    Comma,
    /// `!`
    Not,
    /// `=` or `==`
    Equals,
    /// `!=`
    NotEquals,
    /// `>`
    Greater,
    /// `<`
    Less,
    End,
}

/// The tokens of a text, one at a time, with one token of lookahead.
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// The position of the next token, and the token.
    start: usize,
    next: Token<'a>,
    /// The end of the next token.
    end: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Self {
            text,
            start: 0,
            next: Token::End,
            end: 0,
        };
        lexer.advance();
        lexer
    }

    /// The next token, without consuming it.
    pub(super) fn peek(&self) -> Token<'a> {
        self.next
    }

    /// The position of the next token, in bytes.
    pub(super) fn offset(&self) -> usize {
        self.start
    }

    /// Consumes the next token. At the end it returns the end again.
    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.next;
        self.advance();
        token
    }

    fn advance(&mut self) {
        let rest = &self.text[self.end..];
        let blank = rest.len() - rest.trim_start_matches(is_blank).len();
        self.start = self.end + blank;
        let (token, length) = scan(&rest[blank..]);
        self.next = token;
        self.end = self.start + length;
    }
}

/// The first token of a text that does not begin with a blank, and its length.
fn scan(text: &str) -> (Token<'_>, usize) {
    // The longest sign wins: `==` is not two `=`.
    match text.as_bytes() {
        [] => (Token::End, 0),
        [b'=', b'=', ..] => (Token::Equals, 2),
        [b'!', b'=', ..] => (Token::NotEquals, 2),
        [b'=', ..] => (Token::Equals, 1),
        [b'!', ..] => (Token::Not, 1),
        [b'>', ..] => (Token::Greater, 1),
        [b'<', ..] => (Token::Less, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        [b',', ..] => (Token::Comma, 1),
        _ => {
            let length = text
                .find(|character| is_blank(character) || "=!<>(),".contains(character))
                .unwrap_or(text.len());
            (Token::Word(&text[..length]), length)
        }
    }
}

/// The white space that upstream accepts. Any other kind is part of a word, where it is refused.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}
