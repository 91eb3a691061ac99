//! The names of types, fields and variants for JSON names, including keywords and unusual characters.

use std::collections::{BTreeMap, BTreeSet};

use super::{Names, capitalised, is_keyword, serde_name, snake};

/// The names of characters, for values that consist of nothing else: `!=` and `=~` occur in real definitions.
const SYMBOLS: [(char, &str); 24] = [
    ('!', "not"),
    ('"', "quote"),
    ('#', "hash"),
    ('$', "dollar"),
    ('%', "percent"),
    ('&', "and"),
    ('\'', "tick"),
    ('*', "star"),
    ('+', "plus"),
    (',', "comma"),
    ('-', "minus"),
    ('.', "dot"),
    ('/', "slash"),
    (':', "colon"),
    (';', "semicolon"),
    ('<', "less"),
    ('=', "equal"),
    ('>', "greater"),
    ('?', "question"),
    ('@', "at"),
    ('\\', "backslash"),
    ('^', "caret"),
    ('|', "pipe"),
    ('~', "tilde"),
];

/// The name of the type of a kind, with a capital first letter and no dashes; `None` if no Rust type can have
/// it.
pub(crate) fn kind(kind: &str) -> Option<String> {
    let is_kind = kind.starts_with(|first: char| first.is_ascii_alphabetic())
        && kind
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    let name = segment(kind);
    (is_kind && !is_keyword(&name)).then_some(name)
}

/// The part of a type name for a JSON name: `podIP` is `PodIP`, `foo-bar` is `FooBar`.
pub(crate) fn segment(json: &str) -> String {
    parts(json).iter().map(|part| capitalised(part)).collect()
}

/// The words of a part of a type name, with capitals: `PodIPs` is `Pod` and `Ips`.
pub(crate) fn segment_words(segment: &str) -> Vec<String> {
    lower_words(segment)
        .iter()
        .map(|word| capitalised(word))
        .collect()
}

/// The words of a part of a type name in lower case: `PodIPs` is `pod` and `ips`.
pub(crate) fn lower_words(segment: &str) -> Vec<String> {
    snake(segment).split('_').map(str::to_owned).collect()
}

/// Words that end in `s` and are no plural, or no regular one.
const SINGULAR: [&str; 34] = [
    "alias", "apps", "args", "atlas", "aws", "axis", "basis", "bias", "canvas", "chaos", "cors", "css",
    "dns", "ecs", "eks", "fs", "gcs", "gps", "https", "ics", "js", "kms", "lens", "needs", "news", "nfs",
    "os", "series", "sms", "species", "sts", "tls", "vfs", "vms",
];

/// The name of an element for that of a list, or the same name if it is not clearly a plural: `Conditions`
/// is `Condition`, `Policies` is `Policy`, `Status` stays.
pub(crate) fn singular(segment: &str) -> String {
    let words = snake(segment);
    let word = words.rsplit('_').next().unwrap_or_default();
    let without = |ending: &str| segment.strip_suffix(ending).map(str::to_owned);
    let is_any = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let shorter = if SINGULAR.contains(&word) || is_any(&["ss", "us", "is"]) {
        None
    } else if word.len() > 4 && word.ends_with("ies") {
        without("ies").map(|stem| stem + "y")
    } else if is_any(&["sses", "shes", "xes", "statuses", "aliases"])
        || (word.ends_with("ches") && !word.ends_with("caches"))
    {
        without("es")
    } else if word.len() > 3 || matches!(word, "ids" | "ips") {
        without("s")
    } else {
        None
    };
    shorter.unwrap_or_else(|| segment.to_owned())
}

/// The field for a JSON name: `podIP` is `pod_ip`, `type` is `type_`, `3d` is `_3d`.
pub(crate) fn field(json: &str) -> String {
    let name = words(json);
    match name.chars().next() {
        None => "field".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) if is_keyword(&name) => name + "_",
        Some(_) => name,
    }
}

/// Whether serde gives a field this JSON name without an attribute. Its rule for letters outside of ASCII is
/// not known.
pub(crate) fn is_serde_name(field: &str, json: &str) -> bool {
    field.is_ascii() && serde_name(field) == json
}

/// The variant for a value: `rolling-update` is `RollingUpdate`, `TCP` is `Tcp`, the empty string is `Empty`.
pub(crate) fn variant(value: &str) -> String {
    let mut name = String::new();
    for word in words(value).split('_') {
        // Keeps the break between digits: `1.2` and `12` differ.
        if name.ends_with(|last: char| last.is_ascii_digit())
            && word.starts_with(|first: char| first.is_ascii_digit())
        {
            name.push('_');
        }
        name.push_str(&capitalised(word));
    }
    match name.chars().next() {
        None if value.is_empty() => "Empty".to_owned(),
        None => "Value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("V{name}"),
        Some(_) if is_keyword(&name) => name + "_",
        Some(_) => name,
    }
}

/// The variants of an enum by their values. A value that needs no change keeps its name; the others follow in
/// the order of the values, so that the order in a schema has no effect.
pub(crate) fn variants<'a>(names: &mut Names, values: &BTreeSet<&'a str>) -> BTreeMap<&'a str, String> {
    let (plain, others): (Vec<&str>, Vec<&str>) = values.iter().partition(|value| variant(value) == **value);
    let all = plain.into_iter().chain(others);
    all.map(|value| (value, names.give(&variant(value), "")))
        .collect()
}

/// The words of a JSON name in lower case, with underscores.
fn words(json: &str) -> String {
    snake(&parts(json).join("_"))
}

/// A name without the characters that Rust does not allow. If it has no others, they are spelled out.
fn parts(name: &str) -> Vec<&str> {
    let parts: Vec<&str> = name
        .split(|letter| !is_letter(letter))
        .filter(|part| !part.is_empty())
        .collect();
    if !parts.is_empty() {
        return parts;
    }
    let spelled = name.chars().filter_map(|letter| {
        let (_, spelled) = SYMBOLS.iter().find(|(symbol, _)| *symbol == letter)?;
        Some(*spelled)
    });
    spelled.collect()
}

/// ASCII letters and digits, and the letters of Latin-1, which have no problems of normalization or
/// look-alikes.
fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || (('\u{c0}'..='\u{ff}').contains(&letter) && letter.is_alphabetic())
}
