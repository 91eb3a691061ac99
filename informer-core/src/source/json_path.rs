//! Finds the path of the field at an offset of a JSON text, for error messages.

use std::fmt::Write as _;

/// The longest path that is given; deeper ones are cut.
const PATH_LIMIT: usize = 160;

/// The path of what is read when the byte before `offset` has been consumed, such as `spec.containers[1].image`.
///
/// Only names of fields are given, never values. `None` at the root, and where the text makes no sense.
pub(super) fn path_at(json: &[u8], offset: usize) -> Option<String> {
    let last = offset.checked_sub(1)?;
    let mut open: Vec<Level<'_>> = Vec::new();
    let mut at = 0;
    while at < last {
        match json.get(at)? {
            b'{' => open.push(Level::Object { key: None }),
            b'[' => open.push(Level::Array { index: 0 }),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Level::Array { index }) => *index += 1,
                Some(Level::Object { key }) => *key = None,
                None => {}
            },
            b'"' => {
                let end = end_of_string(json, at + 1)?;
                if let Some(Level::Object { key: key @ None }) = open.last_mut() {
                    *key = Some(&json[at + 1..end]);
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    // A missing field is noticed at its object's closing brace: the last field read is not to blame.
    if json.get(last) == Some(&b'}')
        && at == last
        && let Some(Level::Object { key }) = open.last_mut()
    {
        *key = None;
    }
    let path = print(&open);
    (!path.is_empty()).then_some(path)
}

enum Level<'j> {
    Object { key: Option<&'j [u8]> },
    Array { index: usize },
}

fn end_of_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

fn print(open: &[Level<'_>]) -> String {
    let mut path = String::new();
    for level in open {
        match level {
            Level::Object { key: Some(key) } => {
                let key = String::from_utf8_lossy(key);
                let dot = if path.is_empty() { "" } else { "." };
                let key: String = key.chars().filter(|c| !c.is_control()).collect();
                path.push_str(dot);
                path.push_str(&key);
            }
            Level::Object { key: None } => {}
            Level::Array { index } => write!(path, "[{index}]").expect("writing to a String cannot fail"),
        }
    }
    if let Some((cut, _)) = path.char_indices().nth(PATH_LIMIT) {
        path.truncate(cut);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset is right behind the first `^`, which is taken out.
    fn check(marked: &str, expected: Option<&str>) {
        let offset = marked.find('^').expect("the offset is marked");
        assert_eq!(
            path_at(marked.replacen('^', "", 1).as_bytes(), offset).as_deref(),
            expected,
            "{marked}"
        );
    }

    #[test]
    fn names_the_field_that_was_read() {
        check(r#"{"a":1,"spec":{"replicas":"x"^}}"#, Some("spec.replicas"));
        check(
            r#"{"spec":{"list":[{"b":"]"},{"image":5^}]}}"#,
            Some("spec.list[1].image"),
        );
        check(r#"{"a\"b":{"c":true^}}"#, Some("a\\\"b.c"));
        check(r#"5^"#, None);
        check("^", None);
    }

    #[test]
    fn a_missing_field_is_named_by_its_object() {
        check(r#"{"spec":{"a":1}^}"#, Some("spec"));
        check(r#"{"spec":{"a":1}}^"#, None);
    }

    #[test]
    fn a_path_is_cut_and_nonsense_has_none() {
        let json = format!(r#"{{"{}":5^}}"#, "k".repeat(500));
        check(&json, Some(&"k".repeat(PATH_LIMIT)));
        assert_eq!(path_at(b"{\"a", 900), None);
    }
}
