//! Names in Rust: word breaks and letter case by `heck`, and the rules of Kubernetes on top.
//!
//! - [`accessor`]: the kind provides the word breaks, the plural of the API the ending of the last word.
//! - [`schema`]: types, fields and variants from JSON names. [`tree`]: modules and accessors of a tree.
//! - [`Names`]: every name once. [`KEYWORDS`]: names that Rust does not allow.
//! - [`serde_name`]: what serde makes of a field.
//!
//! `names_tests.rs` has all rules as tables.

#[cfg(feature = "crd")]
pub(crate) mod schema;
#[cfg(feature = "crd")]
pub(crate) mod tree;
#[cfg(feature = "crd")]
mod unique;

use heck::{ToShoutySnakeCase as _, ToSnakeCase as _, ToUpperCamelCase as _};

#[cfg(feature = "crd")]
pub(crate) use self::unique::Names;

/// The keywords of all editions up to 2024.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "Self",
];

/// Whether Rust reserves a name.
pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The words of a name in lower case: `CSIStorageCapacity` is `csi_storage_capacity`, `clusterIPs` is
/// `cluster_ips`.
///
/// These are `heck`'s words with two more rules. A plural `s` belongs to the run of capitals before it, and a
/// capital after a digit begins a word: `SHA256RSA` is `sha256_rsa`.
pub(crate) fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut runs = letters.chunk_by(|one, other| one.is_uppercase() == other.is_uppercase());
    let mut marked = String::with_capacity(name.len());
    let mut next = runs.next();
    while let Some(run) = next {
        next = runs.next();
        let Some((first, others)) = run.split_first().filter(|(first, _)| first.is_uppercase()) else {
            marked.extend(run);
            continue;
        };
        if marked.ends_with(char::is_numeric) {
            marked.push('_');
        }
        marked.push(*first);
        let is_plural = match next {
            Some(['s']) => true,
            Some(['s', after, ..]) => !after.is_alphanumeric(),
            _ => false,
        };
        match is_plural {
            true => marked.extend(others.iter().flat_map(|letter| letter.to_lowercase())),
            false => marked.extend(others),
        }
    }
    marked.to_snake_case()
}

/// The name of a type from that of a module: `example_com` is `ExampleCom`, and `v1beta1` is `V1beta1`.
pub(crate) fn type_name(module: &str) -> String {
    module.to_upper_camel_case()
}

/// The constant for a name in lower case: `foo-bars` is `FOO_BARS`, and `v1beta1` is `V1BETA1`.
///
/// Every break stays, so that different names of indexes, such as `a_b` and `a__b`, give different constants.
pub(crate) fn constant(name: &str) -> String {
    let words: Vec<String> = name
        .split(['-', '_'])
        .map(|word| word.to_shouty_snake_case())
        .collect();
    words.join("_")
}

/// The plural of a kind in the API, by the rule of kube's derive: `NetworkPolicy` is `networkpolicies`.
pub(crate) fn plural_of_kind(kind: &str) -> String {
    plural(&kind.to_ascii_lowercase())
}

/// The plural of a word, by the rule of kube's derive.
pub(crate) fn plural(word: &str) -> String {
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) {
        return format!("{word}es");
    }
    match word.strip_suffix('y') {
        Some(stem) if stem.ends_with(|last| !"aeiou".contains(last)) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

/// A word with a capital first letter. The others stay as they are: types of Kubernetes keep runs of
/// capitals, which `heck` does not.
pub(crate) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// The accessor of a kind, or `None` if `plural` is not the words of `kind` with another ending.
///
/// `IPAddress` and `ipaddresses` give `ip_addresses`. No rules of English are needed.
pub(crate) fn accessor(kind: &str, plural: &str) -> Option<String> {
    let kind = snake(kind);
    let (head, last) = kind.rsplit_once('_').unwrap_or(("", &kind));
    let head: Vec<&str> = head.split('_').filter(|word| !word.is_empty()).collect();
    // Kinds and plurals of custom resources may have dashes, in different places.
    let is_break = |letter: char| !letter.is_alphanumeric();
    let mut ending = plural;
    for word in &head {
        ending = ending.trim_start_matches(is_break).strip_prefix(word)?;
    }
    let ending: Vec<&str> = ending.split(is_break).filter(|part| !part.is_empty()).collect();
    // A plural keeps the word except for the last letter (`policy`, `policies`). Anything else is a different
    // word.
    let stem = last.get(..last.len().checked_sub(1)?)?;
    if !ending.join("_").starts_with(stem) || ending.is_empty() {
        return None;
    }
    Some([head, ending].concat().join("_"))
}

/// The JSON name that serde derives from a field under `rename_all = "camelCase"`: `node_name` is
/// `nodeName`, and `type_` is `type`.
///
/// Unlike `heck`, serde breaks words at underscores only: `podIP` stays `podIP`.
pub(crate) fn serde_name(field: &str) -> String {
    let words = field.split('_').filter(|word| !word.is_empty());
    let words = words.enumerate().map(|(index, word)| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        let first = match index {
            0 => first.to_ascii_lowercase(),
            _ => first.to_ascii_uppercase(),
        };
        first + rest
    });
    words.collect()
}

#[cfg(all(test, feature = "crd"))]
#[path = "names_tests.rs"]
mod tests;
