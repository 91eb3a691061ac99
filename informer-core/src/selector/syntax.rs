//! The syntax of label keys and values, and the position of the first error in a text.

use super::requirement::Operator;

/// The maximum length of a value, and of the name part of a key.
const NAME_MAX: usize = 63;
/// The maximum length of a key's prefix.
const PREFIX_MAX: usize = 253;

/// The position of an error, in bytes, and what was expected there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) offset: usize,
    pub(super) expected: &'static str,
}

impl SyntaxError {
    pub(super) fn at(offset: usize, expected: &'static str) -> Self {
        Self { offset, expected }
    }

    /// The same error in a text that contains this one.
    pub(super) fn shifted(self, start: usize) -> Self {
        Self::at(start + self.offset, self.expected)
    }
}

/// Checks a key: `name`, or `prefix/name` with a DNS subdomain as prefix.
pub(super) fn key(text: &str) -> Result<(), SyntaxError> {
    let Some((prefix, rest)) = text.split_once('/') else {
        return name(text);
    };
    subdomain(prefix)?;
    let start = prefix.len() + 1;
    if let Some(second) = rest.find('/') {
        return Err(SyntaxError::at(start + second, "one `/` at most in a key"));
    }
    name(rest).map_err(|error| error.shifted(start))
}

/// Checks a value for a requirement with this operator.
pub(super) fn value_of(operator: Operator, text: &str) -> Result<(), SyntaxError> {
    match operator {
        Operator::GreaterThan | Operator::LessThan => {
            value(text)?;
            text.parse::<i64>()
                .map(drop)
                .map_err(|_| SyntaxError::at(0, "an integer of 64 bits"))
        }
        _ => value(text),
    }
}

/// Checks the value of a label, which may be empty.
fn value(text: &str) -> Result<(), SyntaxError> {
    if text.is_empty() { Ok(()) } else { name(text) }
}

fn name(text: &str) -> Result<(), SyntaxError> {
    if text.is_empty() {
        return Err(SyntaxError::at(0, "a name"));
    }
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if let Some(offset) = text.bytes().position(|byte| !is_inner(byte)) {
        return Err(SyntaxError::at(offset, "a letter, a digit, `-`, `_` or `.`"));
    }
    if text.len() > NAME_MAX {
        return Err(SyntaxError::at(NAME_MAX, "at most 63 characters"));
    }
    ends(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        "a letter or a digit at both ends",
    )
}

/// Checks a DNS subdomain (RFC 1123): lower-case labels, joined by dots.
fn subdomain(text: &str) -> Result<(), SyntaxError> {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if let Some(offset) = text
        .bytes()
        .position(|byte| !is_end(byte) && !b"-.".contains(&byte))
    {
        return Err(SyntaxError::at(
            offset,
            "a lower-case letter, a digit, `-` or `.` in the prefix of a key",
        ));
    }
    if text.len() > PREFIX_MAX {
        return Err(SyntaxError::at(
            PREFIX_MAX,
            "at most 253 characters before the `/`",
        ));
    }
    let mut start = 0;
    for label in text.split('.') {
        if label.is_empty() {
            return Err(SyntaxError::at(
                start,
                "a DNS name before the `/`, with no empty part",
            ));
        }
        let rule = "a lower-case letter or a digit at both ends of each part of a prefix";
        ends(label, is_end, rule).map_err(|error| error.shifted(start))?;
        start += label.len() + 1;
    }
    Ok(())
}

/// Checks the first and the last byte of a non-empty text.
fn ends(text: &str, is_end: impl Fn(u8) -> bool, expected: &'static str) -> Result<(), SyntaxError> {
    let bytes = text.as_bytes();
    match bytes {
        [first, ..] if !is_end(*first) => Err(SyntaxError::at(0, expected)),
        [.., last] if !is_end(*last) => Err(SyntaxError::at(text.len() - 1, expected)),
        _ => Ok(()),
    }
}
