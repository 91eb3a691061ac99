//! Splits a text into documents and parses each, with the line on which it begins.

use std::ops::Range;

use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Options, UserMessageFormatter};

use super::read::{MAX_DOCUMENTS, ReadError};
use crate::crd::definition::Definition;

/// The most levels of nesting in YAML. The parser uses about 16 KiB of the stack for each level, and a thread
/// may have only 2 MiB. The deepest known definition of a large project, which contains a whole pod, has 38.
const MAX_DEPTH: usize = 64;

/// The hint for a text with template actions.
const HELM: &str = "; this looks like a Helm template, which must be rendered first, as in \
                    `helm template CHART | informer-gen crd -f -`";

/// One document.
pub(super) struct Document<'a> {
    pub(super) value: Value,
    language: Language,
    text: &'a str,
    /// The number of lines before its text.
    lines_before: usize,
}

#[derive(Clone, Copy)]
enum Language {
    Json,
    Yaml,
}

/// A line and a column, if they are known, and the error there.
pub(super) type Mistake = (Option<(usize, usize)>, String);

impl Document<'_> {
    /// The line of the first content, counted from 1.
    pub(super) fn line(&self) -> usize {
        let is_silent = |line: &&str| {
            let line = line.trim();
            line.is_empty() || line.starts_with(['#', '%']) || line == "---"
        };
        self.lines_before + self.text.lines().take_while(is_silent).count() + 1
    }

    /// Decodes the document as a definition.
    pub(super) fn definition(&self) -> Result<Definition, Mistake> {
        match self.language {
            Language::Json => serde_json::from_str(self.text).map_err(|error| self.json_mistake(&error)),
            Language::Yaml => serde_saphyr::from_str_with_options(self.text, options())
                .map_err(|error| self.yaml_mistake(&error)),
        }
        .map_err(|mistake| with_hint(mistake, self.text))
    }

    fn json_mistake(&self, error: &serde_json::Error) -> Mistake {
        json_mistake(error, self.lines_before)
    }

    fn yaml_mistake(&self, error: &serde_saphyr::Error) -> Mistake {
        yaml_mistake(error, self.lines_before)
    }
}

/// Parses every document. Those without content are left out.
pub(super) fn documents<'a>(origin: &str, text: &'a str) -> Result<Vec<Document<'a>>, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = text.trim_start().starts_with('{');
    let documents = match is_json.then(|| json(text)) {
        Some(Ok(documents)) => documents,
        // A brace may also begin a YAML mapping.
        Some(Err(error)) => {
            yaml(origin, text).map_err(|_| syntax(origin, "JSON", json_mistake(&error, 0), text))?
        }
        None => yaml(origin, text)?,
    };
    if documents.len() > MAX_DOCUMENTS {
        return Err(ReadError::TooManyDocuments {
            origin: origin.to_owned(),
        });
    }
    Ok(documents)
}

fn json(text: &str) -> Result<Vec<Document<'_>>, serde_json::Error> {
    let mut documents = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter();
    let (mut start, mut lines_before) = (0, 0);
    while let Some(value) = stream.next() {
        let end = stream.byte_offset();
        let text = text.get(start..end).unwrap_or_default();
        documents.push(Document {
            value: value?,
            language: Language::Json,
            text,
            lines_before,
        });
        start = end;
        lines_before += newlines(text);
        // One more than allowed is enough to detect too many.
        if documents.len() > MAX_DOCUMENTS {
            break;
        }
    }
    Ok(documents)
}

fn yaml<'a>(origin: &str, text: &'a str) -> Result<Vec<Document<'a>>, ReadError> {
    let mut documents = Vec::new();
    let mut lines = 0;
    for part in split(text) {
        let lines_before = lines;
        let text = text.get(part).unwrap_or_default();
        lines += newlines(text);
        let value = serde_saphyr::from_str_with_options(text, options())
            .map_err(|error| syntax(origin, "YAML", yaml_mistake(&error, lines_before), text))?;
        if Value::is_null(&value) {
            continue;
        }
        documents.push(Document {
            value,
            language: Language::Yaml,
            text,
            lines_before,
        });
        if documents.len() > MAX_DOCUMENTS {
            break;
        }
    }
    Ok(documents)
}

/// The position of each document. By YAML's rules, a line that begins with `---` or `...` always separates
/// documents.
///
/// Documents are parsed one by one, so that an error has its line and the other documents are not parsed
/// again.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut position) = (0, 0);
    // Directives precede the line that begins their document.
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let begins = is_border(line, "---");
        let ends = is_border(line, "...");
        if begins && has_content {
            parts.push(start..position);
            start = position;
        }
        position += line.len();
        has_content = match (begins, ends) {
            (true, _) => true,
            (_, true) => false,
            _ => has_content || !matches!(line.trim_start().chars().next(), None | Some('#' | '%')),
        };
        if ends {
            parts.push(start..position);
            start = position;
        }
    }
    parts.push(start..position);
    parts
}

fn is_border(line: &str, border: &str) -> bool {
    let rest = line.strip_prefix(border);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// The limits of one document. Its size is limited by that of the text, which the caller limits.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
        },
    }
}

/// Adds a hint to a message, if the text is a template.
fn with_hint((at, message): Mistake, text: &str) -> Mistake {
    match text.contains("{{") && text.contains("}}") {
        true => (at, message + HELM),
        false => (at, message),
    }
}

fn syntax(origin: &str, language: &'static str, mistake: Mistake, text: &str) -> ReadError {
    let (at, message) = with_hint(mistake, text);
    let (line, column) = at.unwrap_or((1, 1));
    ReadError::Syntax {
        origin: origin.to_owned(),
        line,
        column,
        language,
        message,
    }
}

fn json_mistake(error: &serde_json::Error, lines_before: usize) -> Mistake {
    let (line, column) = (error.line(), error.column());
    let message = match without_place(&error.to_string(), " at line ") {
        // The parser has no other sign of it, and its limit is fixed.
        message if message == "recursion limit exceeded" => too_deep(128),
        message => message,
    };
    (Some((line + lines_before, column)), message)
}

fn yaml_mistake(error: &serde_saphyr::Error, lines_before: usize) -> Mistake {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let at = error.location().map(|at| {
        (
            number(at.line()).saturating_add(lines_before),
            number(at.column()),
        )
    });
    if let serde_saphyr::Error::Budget {
        breach: BudgetBreach::Depth { .. },
        ..
    } = error.without_snippet()
    {
        return (at, too_deep(MAX_DEPTH));
    }
    let text = error
        .without_snippet()
        .render_with_formatter(&UserMessageFormatter);
    (at, without_place(&text, " at line "))
}

fn too_deep(limit: usize) -> String {
    format!(
        "more than {limit} levels of nesting, the limit of this program; set \
         `x-kubernetes-preserve-unknown-fields` on a parent and remove the properties below it"
    )
}

/// The parser's message without the place, which would be relative to the document instead of the text.
fn without_place(message: &str, before_place: &str) -> String {
    let end = message.rfind(before_place).unwrap_or(message.len());
    message.get(..end).unwrap_or(message).to_owned()
}
