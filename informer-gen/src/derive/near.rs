//! Errors for unknown keys, with the known key that was probably meant.

use syn::Path;

/// How a key is written.
pub(super) fn name(key: &Path) -> String {
    let segments: Vec<String> = key.segments.iter().map(|one| one.ident.to_string()).collect();
    segments.join("::")
}

/// The error for an unknown key, where `place` takes `known`.
pub(super) fn unknown_key(key: &Path, place: &str, known: &[&str]) -> syn::Error {
    let name = name(key);
    let meant = match nearest(&name, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => ":".to_owned(),
    };
    let known: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
    let known = known.join(", ");
    let message = format!("unknown key `{name}`{meant} `{place}` takes {known}");
    syn::Error::new_spanned(key, message)
}

/// The known word with the fewest changes, if these are at most a third of its letters.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let changes = known.iter().map(|&one| (changes(word, one), one));
    let (changes, nearest) = changes.min_by_key(|&(changes, _)| changes)?;
    (changes <= nearest.len().div_ceil(3)).then_some(nearest)
}

/// The number of letters to add, remove or replace (Levenshtein distance).
fn changes(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.bytes().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        let mut next = vec![left];
        for (old, other) in row.iter().skip(1).zip(to.bytes()) {
            let replaced = diagonal + usize::from(letter != other);
            left = replaced.min(left + 1).min(old + 1);
            diagonal = *old;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(
            nearest(word, &["accessor", "crate", "index", "of"]),
            expected,
            "{word}"
        );
    }

    #[test]
    fn a_typo_is_recognized() {
        check("acessor", Some("accessor"));
        check("accesssors", Some("accessor"));
        check("indexes", Some("index"));
        check("create", Some("crate"));
        check("off", Some("of"));
    }

    #[test]
    fn another_word_is_not_a_typo() {
        check("plural", None);
        check("namespaced", None);
        check("", None);
    }
}
