//! The positions of parse errors, and how they are printed.

use super::super::{ParseSelectorError, Selector};

fn error(text: &str) -> ParseSelectorError {
    match text.parse::<Selector>() {
        Ok(selector) => panic!("{text:?} parsed as {selector:?}"),
        Err(error) => error,
    }
}

/// Checks the position of an error, and a part of what was expected there.
fn check(text: &str, offset: usize, expected: &str) {
    let error = error(text);
    assert_eq!(error.text(), text);
    assert_eq!(error.offset(), offset, "{error}");
    assert!(error.expected().contains(expected), "{error}");
    assert_eq!(error.found(), text[offset..].chars().next(), "{error}");
}

#[test]
fn a_misplaced_sign_is_located() {
    check(",a", 0, "a key");
    check("a,", 2, "a key");
    check("a,,b", 2, "a key");
    check("a=b,,c=d", 4, "a key");
    check("=b", 0, "a key");
    check("!", 1, "a key");
    check("!!a", 1, "a key");
    check("!a=b", 2, "the end");
    check("a=b=c", 3, "the end");
    check("a==b==c", 4, "the end");
    check("a b", 2, "notin");
    check("a nott in (y)", 2, "notin");
    check("a (", 2, "notin");
    check("a=(b)", 2, "a value");
    check("a=!", 2, "a value");
}

#[test]
fn a_broken_set_is_located() {
    check("a in", 4, "`(`");
    check("a in b)", 5, "`(`");
    check("a in (", 6, "`)`");
    check("a in (b", 7, "`,` or `)`");
    check("a in (b,", 8, "a value");
    check("a in ((b))", 6, "a value");
    check("a in (b c)", 8, "`,` or `)`");
    check("a in (b) c", 9, "the end");
    check("a notin (b=c)", 10, "`,` or `)`");
}

#[test]
fn a_character_not_valid_in_labels_is_located() {
    let letter = "a letter, a digit";
    check("x=a||y=b", 3, letter);
    check("app=we$b", 6, letter);
    check("a in (b, c$)", 10, letter);
    check("clé=x", 2, letter);
    check("a=b\u{a0}", 3, letter);
    check("a\0b", 1, letter);
    check("-a", 0, "at both ends");
    check("a=b-", 3, "at both ends");
    check("a=.b", 2, "at both ends");
    check("n>five", 2, "an integer");
    check("n>", 2, "an integer");
}

#[test]
fn a_key_is_an_optional_prefix_and_a_name() {
    check("/a", 0, "no empty part");
    check("a/", 2, "a name");
    check("a/=b", 2, "a name");
    check("a/b/c", 3, "one `/`");
    check("Example.com/a", 0, "lower-case");
    check("exam_ple.com/a", 4, "lower-case");
    check("example..com/a", 8, "no empty part");
    check("example.-com/a", 8, "at both ends");
    check("example-.com/a", 7, "at both ends");
    let (name, prefix) = ("n".repeat(63), "p".repeat(253));
    assert!(format!("{prefix}/{name}={name}").parse::<Selector>().is_ok());
    check(&format!("{name}n"), 63, "63");
    check(&format!("a={name}n"), 65, "63");
    check(&format!("{prefix}p/a"), 253, "253");
}

#[test]
fn the_position_is_shown_under_the_selector() {
    assert_eq!(
        error("app in (web").to_string(),
        "invalid label selector: expected `,` or `)`, found the end\n  app in (web\n             ^"
    );
}

#[test]
fn a_long_selector_is_cut_around_the_position() {
    let many = |from: usize| -> String { (from..from + 500).map(|at| format!("key{at}=value,")).collect() };
    let error = error(&format!("{}key=va?lue,{}end", many(1000), many(2000)));
    let shown = error.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[1].starts_with("  ...") && lines[1].ends_with("..."),
        "{shown}"
    );
    assert!(lines[1].len() < 90, "{shown}");
    let caret = lines[2].find('^').unwrap();
    assert_eq!(&lines[1][caret..caret + 4], "?lue", "{shown}");
    assert!(error.text().len() > 10_000);
}

#[test]
fn the_message_contains_no_control_characters() {
    let shown = error("a=b,\n\t\u{1b}[31mé\u{202e}=c").to_string();
    assert_eq!(
        shown,
        concat!(
            "invalid label selector: expected a letter, a digit, `-`, `_` or `.`, found `\\u{1b}`\n",
            "  a=b,  ?[31m??=c\n",
            "        ^",
        )
    );
}
