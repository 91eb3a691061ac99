//! Converts descriptions to documentation: escapes text that was not written for rustdoc, and keeps it
//! readable.
//!
//! Descriptions are rarely meant as Markdown. Text that rustdoc would treat as HTML, a link, or an example to
//! compile is escaped. Code between backticks, lists and real links are kept.
//!
//! The conversion takes linear time for any text, so the length of a description needs no limit.

#[cfg(test)]
#[path = "docs_tests.rs"]
mod tests;

use std::collections::BTreeMap;

/// The width of a line of prose. Only a single word may be longer.
const WIDTH: usize = 92;
/// A space at which a line must not be broken. The text itself contains no control characters.
const UNBREAKABLE: char = '\0';

/// The lines of a doc comment, without `///`. Empty if the description is.
pub(super) fn lines(description: &str) -> Vec<String> {
    let text = clean(description);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut done: Vec<String> = Vec::new();
    let mut hang = 0;
    let mut fences = Fences::default();
    let mut rest = lines.as_slice();
    while let [line, after @ ..] = rest {
        rest = after;
        let is_after_blank = done.last().is_none_or(String::is_empty);
        if line.is_empty() {
            if !is_after_blank {
                done.push(String::new());
            }
            hang = 0;
        } else if let Some((code, after)) = fences.block(line, after) {
            done.extend(code_block(code));
            rest = after;
        } else if is_after_blank && indent(line) >= 4 {
            let count = indented(after);
            let (code, after) = after.split_at(count);
            done.extend(code_block(&[&[*line], code].concat()));
            rest = after;
        } else {
            let prose = Prose::new(line, hang);
            hang = prose.hang;
            done.extend(prose.wrapped());
        }
    }
    while done.last().is_some_and(String::is_empty) {
        done.pop();
    }
    done
}

/// A name for use between backticks.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(|&letter| letter != '`' && !is_unseen(letter))
        .collect()
}

/// Whether a text can be put between backticks within a line.
pub(super) fn is_short_code(text: &str) -> bool {
    text.len() <= 60 && !text.contains(|letter: char| letter == '`' || is_unseen(letter))
}

/// Normalizes line ends and removes characters that compilers or terminals do not show.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars()
        .filter(|&letter| !is_unseen(letter) || matches!(letter, '\n' | '\t'))
        .collect()
}

/// Control characters, and those that change the direction of text, which the compiler rejects even in
/// comments.
fn is_unseen(letter: char) -> bool {
    let is_direction = matches!(
        letter,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_direction || letter.is_control()
}

/// The indentation of a line; a tab counts as four columns.
fn indent(line: &str) -> usize {
    let blanks = line.chars().take_while(|letter| letter.is_whitespace());
    blanks.map(|blank| if blank == '\t' { 4 } else { 1 }).sum()
}

/// The number of lines that continue indented code.
fn indented(lines: &[&str]) -> usize {
    let is_code = |line: &&str| line.is_empty() || indent(line) >= 4;
    let count = lines.iter().take_while(|line| is_code(line)).count();
    let blank = lines.iter().take(count).rev().take_while(|line| line.is_empty());
    count - blank.count()
}

/// Finds fenced blocks of code.
#[derive(Default)]
struct Fences {
    /// The shortest fence of each mark that is never closed. A later fence of at least this length is not
    /// closed either, so the search can be skipped.
    unclosed: BTreeMap<char, usize>,
}

impl Fences {
    /// The contents of a block and the lines after it, if the line opens a block that is closed.
    fn block<'a, 'b>(&mut self, line: &str, after: &'a [&'b str]) -> Option<(&'a [&'b str], &'a [&'b str])> {
        let opening = line.trim_start();
        let mark = opening
            .chars()
            .next()
            .filter(|first| matches!(first, '`' | '~'))?;
        let info = opening.trim_start_matches(mark);
        let length = opening.len() - info.len();
        let is_unclosed = self
            .unclosed
            .get(&mark)
            .is_some_and(|&shortest| length >= shortest);
        if length < 3 || is_unclosed || info.contains('`') {
            return None;
        }
        let end = after.iter().position(|line| {
            let line = line.trim();
            line.len() >= length && line.chars().all(|letter| letter == mark)
        });
        let Some(end) = end else {
            self.unclosed.insert(mark, length);
            return None;
        };
        let (code, rest) = after.split_at(end);
        Some((code, rest.get(1..)?))
    }
}

/// A block that rustdoc shows but does not compile, in any language.
fn code_block(code: &[&str]) -> Vec<String> {
    let margin = code.iter().filter(|line| !line.trim().is_empty());
    let margin = margin
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let longest = code.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let body = code.iter().map(|line| {
        line.get(margin..)
            .unwrap_or(line.trim_start())
            .replace('\t', "    ")
    });
    let opening = std::iter::once(format!("{fence}text"));
    opening.chain(body).chain([fence.clone()]).collect()
}

fn longest_run(line: &str) -> usize {
    line.split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

/// A line of prose.
struct Prose {
    /// `- ` or `1. ` with the indentation before it.
    marker: String,
    text: String,
    /// The indentation of further lines of the same item.
    hang: usize,
}

impl Prose {
    /// `hang` is the indentation of the previous line, which this one may continue.
    fn new(line: &str, hang: usize) -> Self {
        let text = line.trim_start();
        let Some((marker, text)) = text.split_once(' ').filter(|(marker, _)| is_marker(marker)) else {
            return Self {
                marker: " ".repeat(hang),
                text: inline(&harmless_start(text)),
                hang,
            };
        };
        // More than three columns would be indented code.
        let marker = format!("{}{marker} ", " ".repeat(indent(line).min(2)));
        Self {
            hang: marker.len(),
            text: inline(&harmless_start(text.trim_start())),
            marker,
        }
    }

    fn wrapped(self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = self.marker;
        let mut width = line.chars().count();
        let mut is_empty = true;
        for word in self.text.split(' ').filter(|word| !word.is_empty()) {
            let length = word.chars().count();
            if !is_empty && width + 1 + length > WIDTH && !starts_something(word) {
                let next = " ".repeat(self.hang);
                lines.push(std::mem::replace(&mut line, next));
                width = self.hang;
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += length;
            is_empty = false;
        }
        lines.push(line);
        let lines = lines.into_iter().map(|line| line.replace(UNBREAKABLE, " "));
        lines.map(|line| line.trim_end().to_owned()).collect()
    }
}

/// `-`, `*`, `+`, `1.` or `1)`.
fn is_marker(word: &str) -> bool {
    let number = word.strip_suffix(['.', ')']);
    let is_number =
        |number: &str| (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    matches!(word, "-" | "*" | "+") || number.is_some_and(is_number)
}

/// Whether a word at the beginning of a line would be Markdown syntax.
fn starts_something(word: &str) -> bool {
    is_marker(word) || word.starts_with('#') || is_rule(word)
}

/// Escapes headings and rules, which are never intended.
fn harmless_start(text: &str) -> String {
    if text.starts_with('#') || is_rule(text) {
        format!("\\{text}")
    } else {
        text.to_owned()
    }
}

/// Whether a line is a rule or makes the previous line a heading.
fn is_rule(text: &str) -> bool {
    let is_all = |mark| text.chars().all(|letter| letter == mark);
    !text.is_empty() && (is_all('-') || is_all('='))
}

/// Escapes everything in a line that is not meant as Markdown.
fn inline(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let before = done.chars().next_back();
        let (kept, after) = match letter {
            '`' => code_span(rest),
            '[' => link(rest),
            'h' if !before.is_some_and(char::is_alphanumeric) => url(rest),
            _ => None,
        }
        .unwrap_or_else(|| {
            if letter == '`' {
                // Escapes the whole run, so that no part of it opens code.
                let after = rest.trim_start_matches('`');
                return ("\\`".repeat(rest.len() - after.len()), after);
            }
            let after = rest.strip_prefix(letter).unwrap_or_default();
            (escaped(letter, before, after.chars().next()), after)
        });
        done.push_str(&kept);
        rest = after;
    }
    done
}

fn escaped(letter: char, before: Option<char>, after: Option<char>) -> String {
    let is_inside_word =
        || before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
    let is_special = match letter {
        '[' | ']' | '<' | '>' | '*' | '~' => true,
        '_' => !is_inside_word(),
        '&' => after.is_some_and(|after| after.is_alphabetic() || after == '#'),
        // Only `harmless_start` puts a backslash at the beginning.
        '\\' => before.is_some() && after.is_none_or(|after| after.is_ascii_punctuation()),
        '\t' => return " ".to_owned(),
        _ => false,
    };
    if is_special {
        format!("\\{letter}")
    } else {
        letter.to_string()
    }
}

/// Code between one or two backticks. Three would open a block after the line is wrapped.
fn code_span(text: &str) -> Option<(String, &str)> {
    let inner = text.trim_start_matches('`');
    let ticks = text
        .get(..text.len() - inner.len())
        .filter(|ticks| ticks.len() <= 2)?;
    let mut start = 0;
    loop {
        let found = start + inner.get(start..)?.find('`')?;
        let run = inner.get(found..)?;
        let after = run.trim_start_matches('`');
        let length = run.len() - after.len();
        if length == ticks.len() {
            let code = inner.get(..found).filter(|code| !code.trim().is_empty())?;
            return Some((unbreakable(&format!("{ticks}{code}{ticks}")), after));
        }
        start = found + length;
    }
}

/// `[words](https://..)`.
fn link(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('[')?;
    let (words, after) = inner.split_at(inner.find(['[', ']', '<', '>', '`', '\\'])?);
    let target = after
        .strip_prefix("](")
        .filter(|target| target.starts_with("http"))?;
    let (target, after) = target.split_at(target.find(|letter| !is_url(letter))?);
    let after = after.strip_prefix(')')?;
    Some((unbreakable(&format!("[{words}]({target})")), after))
}

/// A bare URL, which rustdoc wants between angle brackets.
fn url(text: &str) -> Option<(String, &str)> {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.starts_with(scheme))?;
    let end = text.find(|letter| !is_url(letter)).unwrap_or(text.len());
    let url = text
        .get(..end)?
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '\'']);
    let after = text.get(url.len()..)?;
    (url.len() > scheme.len()).then(|| (format!("<{url}>"), after))
}

fn is_url(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~:/?#@!$&*+,;=%'".contains(letter)
}

fn unbreakable(text: &str) -> String {
    text.replace(' ', &UNBREAKABLE.to_string())
}
