//! Rust names for JSON names, including keywords, unusual characters, and collisions.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::words;

/// The keywords of all editions up to 2024.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "Self",
];

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

/// The names in use. Each name is given once.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// The next number for a name in use, so that a thousand equal names take a thousand steps.
    next: BTreeMap<String, u64>,
}

impl Names {
    /// Reserves a name.
    pub(super) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// `name`, or the first of `name2`, `name3`, ... (with `joint` before the number) that is free.
    pub(super) fn give(&mut self, name: &str, joint: &str) -> String {
        let mut given = name.to_owned();
        while !self.taken.insert(given.clone()) {
            let number = self.next.entry(name.to_owned()).or_insert(2);
            given = format!("{}{joint}{number}", name.trim_end_matches('_'));
            *number += 1;
        }
        given
    }
}

/// The name of the type of a kind, with a capital first letter and no dashes; `None` if no Rust type can have
/// it.
pub(super) fn kind(kind: &str) -> Option<String> {
    let is_kind = kind.starts_with(|first: char| first.is_ascii_alphabetic())
        && kind
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    let name = segment(kind);
    (is_kind && !KEYWORDS.contains(&name.as_str())).then_some(name)
}

/// The part of a type name for a JSON name: `podIP` is `PodIP`, `foo-bar` is `FooBar`.
pub(super) fn segment(json: &str) -> String {
    parts(json).iter().map(|part| capitalised(part)).collect()
}

/// The field for a JSON name: `podIP` is `pod_ip`, `type` is `type_`, `3d` is `_3d`.
pub(super) fn field(json: &str) -> String {
    let words = lowercase_words(json);
    let name = if words.is_empty() {
        "field".to_owned()
    } else {
        words.join("_")
    };
    if KEYWORDS.contains(&name.as_str()) {
        name + "_"
    } else if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("_{name}")
    } else {
        name
    }
}

/// The variant for a value: `rolling-update` is `RollingUpdate`, `TCP` is `Tcp`, the empty string is `Empty`.
pub(super) fn variant(value: &str) -> String {
    let mut name = String::new();
    for word in lowercase_words(value) {
        // Keeps the break between digits: `1.2` and `12` differ.
        let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        if is_digit(name.chars().next_back()) && is_digit(word.chars().next()) {
            name.push('_');
        }
        name.push_str(&capitalised(&word));
    }
    match name.chars().next() {
        None if value.is_empty() => "Empty".to_owned(),
        None => "Value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("V{name}"),
        Some(_) if KEYWORDS.contains(&name.as_str()) => name + "_",
        Some(_) => name,
    }
}

/// The JSON name that serde derives from a field under `rename_all = "camelCase"`; `None` if it is not known.
pub(super) fn camel_case(field: &str) -> Option<String> {
    if !field.is_ascii() {
        return None;
    }
    let mut name = String::new();
    let mut is_start = false;
    for letter in field.chars() {
        match letter {
            '_' => is_start = !name.is_empty(),
            _ if is_start => {
                name.push(letter.to_ascii_uppercase());
                is_start = false;
            }
            _ => name.push(letter),
        }
    }
    Some(name)
}

/// The words of a name in lower case. A run of capitals is one word, with its `s` if it has one:
/// `clusterIPs`.
fn lowercase_words(name: &str) -> Vec<String> {
    let mut found: Vec<&str> = Vec::new();
    let parts = parts(name);
    for part in &parts {
        let mut start = 0;
        for word in words(part) {
            let end = start + word.len();
            // `words` splits `IPs` into `I` and `Ps`.
            let is_plural = matches!(word.as_bytes(), [first, b's'] if first.is_ascii_uppercase());
            let previous = found.last().filter(|_| start > 0);
            match previous {
                Some(previous) if is_plural && previous.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                    let start = start - previous.len();
                    found.pop();
                    found.extend(part.get(start..end));
                }
                _ => found.push(word),
            }
            start = end;
        }
    }
    found.iter().map(|word| word.to_lowercase()).collect()
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

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_in_snake_case_and_never_a_keyword() {
        let check = |json: &str, expected: &str| assert_eq!(field(json), expected, "{json}");
        check("replicas", "replicas");
        check("nodeName", "node_name");
        check("podIP", "pod_ip");
        check("clusterIPs", "cluster_ips");
        check("hostPIDs", "host_pids");
        check("HTTPRoute", "http_route");
        check("sha256Sum", "sha256_sum");
        check("type", "type_");
        check("Self", "self_");
        check("gen", "gen_");
        check("$ref", "ref_");
        check("foo-bar", "foo_bar");
        check("foo.bar/baz", "foo_bar_baz");
        check("3d", "_3d");
        check("ünï", "ünï");
        check("名前", "field");
        check("", "field");
        check("$", "dollar");
    }

    #[test]
    fn a_variant_is_in_camel_case_and_spells_out_other_characters() {
        let check = |value: &str, expected: &str| assert_eq!(variant(value), expected, "{value}");
        check("RollingUpdate", "RollingUpdate");
        check("rolling-update", "RollingUpdate");
        check("ROUND_ROBIN", "RoundRobin");
        check("TCP", "Tcp");
        check("self", "Self_");
        check("1.2", "V1_2");
        check("12", "V12");
        check("", "Empty");
        check("!=", "NotEqual");
        check("=~", "EqualTilde");
        check("名前", "Value");
    }

    #[test]
    fn a_kind_is_a_type_unless_it_is_a_keyword() {
        let check =
            |name: &str, expected: Option<&str>| assert_eq!(kind(name).as_deref(), expected, "{name}");
        check("HTTPRoute", Some("HTTPRoute"));
        check("foo-bar", Some("FooBar"));
        check("option", Some("Option"));
        check("Self", None);
        check("self", None);
        check("3D", None);
        check("Ünï", None);
        check("A_B", None);
        check("", None);
    }

    /// The crate that compiles the golden files tests serde's own rule.
    #[test]
    fn camel_case_follows_the_rule_of_serde() {
        let check = |field: &str, expected: Option<&str>| {
            assert_eq!(camel_case(field).as_deref(), expected, "{field}")
        };
        check("node_name", Some("nodeName"));
        check("pod_ip", Some("podIp"));
        check("type_", Some("type"));
        check("_3d", Some("3d"));
        check("foo_2", Some("foo2"));
        check("ünï", None);
    }

    #[test]
    fn a_name_in_use_gets_a_number() {
        let mut names = Names::default();
        names.reserve("foo_2");
        let given = ["foo", "foo", "type_", "type_"].map(|name| names.give(name, "_"));
        assert_eq!(given, ["foo", "foo_3", "type_", "type_2"]);
    }
}
