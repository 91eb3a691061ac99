//! Keys that are not known, and the known one that was probably meant.

use syn::Path;

/// How a key is written.
pub(super) fn name(key: &Path) -> String {
    let segments: Vec<String> = key.segments.iter().map(|one| one.ident.to_string()).collect();
    segments.join("::")
}

/// What to say of a key that nobody knows, where `place` takes `known`.
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

/// The known word that takes the fewest changes, if those are few: a third of its letters.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let changes = known.iter().map(|&one| (changes(word, one), one));
    let (changes, nearest) = changes.min_by_key(|&(changes, _)| changes)?;
    (changes <= nearest.len().div_ceil(3)).then_some(nearest)
}

/// How many letters have to be added, taken away or replaced (Levenshtein's distance).
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
    fn a_slip_of_the_pen_is_recognised() {
        check("acessor", Some("accessor"));
        check("accesssors", Some("accessor"));
        check("indexes", Some("index"));
        check("create", Some("crate"));
        check("off", Some("of"));
    }

    #[test]
    fn another_word_is_not() {
        check("plural", None);
        check("namespaced", None);
        check("", None);
    }
}
