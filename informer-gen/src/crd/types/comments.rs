//! The documentation of types and fields, as long as [`Docs`] says.

use super::docs;
use super::library::{Entry, Home, Library, Use};
use super::model::{Enum, Field, Variant};
use crate::crd::Docs;

/// The lines above a field.
pub(super) fn field(field: &Field, docs: Docs) -> Vec<String> {
    let description = field.description.as_deref().unwrap_or_default();
    let default = field.default.as_ref();
    let default = default.map(|default| format!("Left out, the server makes it `{default}`."));
    let mut lines = match docs {
        Docs::None => return Vec::new(),
        Docs::Short => docs::lines(first_sentence(description)),
        Docs::Full => docs::lines(description),
    };
    if docs == Docs::Full && lines.is_empty() {
        // Some crates deny public items without documentation.
        let name = Some(docs::plain(&field.json)).filter(|name| !name.trim().is_empty());
        let name = name.unwrap_or_else(|| format!("{:?}", field.json));
        lines = docs::lines(&format!("`{name}`, which the schema does not describe."));
    }
    if docs == Docs::Full && default.is_some() {
        lines.push(String::new());
    }
    lines.extend(default);
    lines
}

/// The description of an object.
pub(super) fn object(description: &str, docs: Docs) -> Vec<String> {
    match docs {
        Docs::None => Vec::new(),
        Docs::Short => docs::lines(first_sentence(description)),
        Docs::Full => docs::lines(description),
    }
}

/// The lines above a struct.
pub(super) fn structure(library: &Library<'_>, entry: &Entry) -> Vec<String> {
    match library.docs {
        Docs::None => Vec::new(),
        _ => docs::lines(&format!("The object at {}.", places(library, entry))),
    }
}

/// The lines above an enum.
pub(super) fn enumeration(library: &Library<'_>, entry: &Entry, item: &Enum) -> Vec<String> {
    let places = places(library, entry);
    match library.docs {
        Docs::None => Vec::new(),
        Docs::Short => docs::lines(&format!("A value of {places}.")),
        Docs::Full => docs::lines(&format!(
            "A value of {places}.\n\n\
             A value that is not in the schema, for example of a newer server, is `{}`.",
            item.other
        )),
    }
}

/// The lines above a variant.
pub(super) fn variant(variant: &Variant, docs: Docs) -> Vec<String> {
    let is_clear = variant.value == variant.name;
    match docs {
        Docs::None => Vec::new(),
        Docs::Short if is_clear => Vec::new(),
        Docs::Short | Docs::Full => vec![format!("`\"{}\"`.", docs::plain(&variant.value))],
    }
}

/// A fixed sentence.
pub(super) fn fixed(text: &str, docs: Docs) -> Vec<String> {
    match docs {
        Docs::None => Vec::new(),
        Docs::Short | Docs::Full => vec![text.to_owned()],
    }
}

/// The first place of a type, and whether it has others.
fn places(library: &Library<'_>, entry: &Entry) -> String {
    let Some(first) = entry.uses.first() else {
        return String::new();
    };
    let kind = library
        .modules
        .get(first.module)
        .map_or("", |module| &module.name);
    let path = docs::plain(&first.place.path);
    let is_same = |one: &Use| one.place.path == first.place.path;
    match entry.uses.iter().all(is_same) && entry.home != Home::Shared {
        true => format!("`{path}` of `{kind}`"),
        false => format!("`{path}` of `{kind}`, and at other places"),
    }
}

/// The text up to the end of the first sentence or paragraph.
fn first_sentence(description: &str) -> &str {
    let text = description.trim_start();
    let mut end = text.len();
    for (position, _) in text.match_indices(['.', '\n']) {
        let rest = text.get(position..).unwrap_or_default();
        let before = text.get(..position).unwrap_or_default();
        if rest.starts_with("\n\n") || rest.starts_with("\r\n\r\n") {
            end = position;
            break;
        }
        let mut after = rest.chars().skip(1);
        let is_end = match (after.next(), after.next()) {
            (Some(space), next) if space.is_whitespace() => next.is_none_or(|next| !next.is_lowercase()),
            (None, _) => true,
            _ => false,
        };
        if rest.starts_with('.') && is_end && !is_abbreviation(before) {
            end = position + 1;
            break;
        }
    }
    text.get(..end).unwrap_or(text)
}

/// Whether a dot after this text does not end a sentence: `e.g.`, `i.e.`, `etc.`.
fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit(|letter: char| letter.is_whitespace() || letter == '(')
        .next();
    matches!(word, Some("e.g" | "i.e" | "etc" | "cf" | "vs" | "ie" | "eg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_ends_before_the_next_one() {
        let check = |text: &str, expected: &str| assert_eq!(first_sentence(text), expected, "{text:?}");
        check("The size. It may change.", "The size.");
        check("The size\nof it.\nMore.", "The size\nof it.");
        check("No full stop\n\nMore", "No full stop");
        check(
            "As in v1.2 or e.g. This one. More",
            "As in v1.2 or e.g. This one.",
        );
        check("All, i.e. none. and so on. Then", "All, i.e. none. and so on.");
        check("", "");
        check("ends.", "ends.");
    }
}
