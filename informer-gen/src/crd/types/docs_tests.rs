//! Tests of the conversion of descriptions.

use super::*;

fn check(description: &str, expected: &[&str]) {
    assert_eq!(lines(description), expected, "{description}");
}

#[test]
fn plain_text_is_unchanged() {
    check("The number of replicas.", &["The number of replicas."]);
    check("One.\n\n\nTwo.\n", &["One.", "", "Two."]);
    check(" \n ", &[]);
}

#[test]
fn text_that_looks_like_markup_is_escaped() {
    check(
        "see [1] and <name> of a[i]",
        &[r"see \[1\] and \<name\> of a\[i\]"],
    );
    check(
        "*.example.com and __x__ but a_b",
        &[r"\*.example.com and \_\_x\_\_ but a_b"],
    );
    check("# Heading\n---\n-", &[r"\# Heading", r"\---", r"\-"]);
    check("a &lt; b & c", &[r"a \&lt; b & c"]);
    check(r"ends \* here \", &[r"ends \\\* here \\"]);
    check("*/ and /*", &[r"\*/ and /\*"]);
}

#[test]
fn code_between_backticks_stays_and_a_lone_backtick_is_escaped() {
    check("use `Vec<u8>` and ``a`b``", &["use `Vec<u8>` and ``a`b``"]);
    check("a ` b [c]", &[r"a \` b \[c\]"]);
    check("```x``` y", &[r"\`\`\`x\`\`\` y"]);
    check("```x`` y", &[r"\`\`\`x\`\` y"]);
}

#[test]
fn urls_get_brackets_and_links_stay_links() {
    check(
        "See https://example.com/a_b?c=d#e. Or (http://x.org)!",
        &["See <https://example.com/a_b?c=d#e>. Or (<http://x.org>)!"],
    );
    check(
        "[docs](https://example.com/x)",
        &["[docs](https://example.com/x)"],
    );
    check("[docs](./x)", &[r"\[docs\](./x)"]);
    check("http:// nothing", &["http:// nothing"]);
}

#[test]
fn blocks_of_code_are_never_compiled() {
    check(
        "Like:\n\n    let x = 1;\n\n      y\nEnd.",
        &["Like:", "", "```text", "let x = 1;", "", "  y", "```", "End."],
    );
    check("```rust\nfn main() {}\n```", &["```text", "fn main() {}", "```"]);
    check("~~~\n```\n~~~", &["````text", "```", "````"]);
    check("```\nnever closed", &[r"\`\`\`", "never closed"]);
    check("\tpanic!()", &["```text", "panic!()", "```"]);
}

#[test]
fn lists_stay_lists_and_their_lines_are_indented() {
    check(
        "Either:\n- one\n  goes on\n- two",
        &["Either:", "- one", "  goes on", "- two"],
    );
    check("1. one\n    more", &["1. one", "   more"]);
}

#[test]
fn long_lines_are_wrapped_where_no_list_begins() {
    let word = "w".repeat(45);
    check(
        &format!("{word} {word} - {word}"),
        &[&format!("{word} {word} -"), &word],
    );
    check(
        &format!("- {word} {word} x"),
        &[&format!("- {word}"), &format!("  {word} x")],
    );
    check(
        &format!("{word} {word} `a b` c"),
        &[&format!("{word} {word}"), "`a b` c"],
    );
}

#[test]
fn invisible_characters_are_removed() {
    check("a\r\nb\rc\u{7}\u{202e}d", &["a", "b", "cd"]);
}

/// Regression test: each of these took quadratic time, more than a minute at this length.
#[test]
fn a_long_description_takes_linear_time() {
    const LENGTH: usize = 50_000;
    const TIMES: usize = 4;
    for part in [
        "`",
        "``x```",
        "[",
        "[a](http",
        "~~~x\n\n",
        "```x\n\n",
        "- ",
        "# ",
        "http://.",
        "` ",
        "\\",
        "    x\n\n",
    ] {
        let takes = |length: usize| {
            let text = part.repeat(length / part.len());
            let start = std::time::Instant::now();
            assert!(!lines(&text).is_empty(), "{part:?}");
            start.elapsed()
        };
        // Quadratic work takes 16 times as long in every attempt. On a busy machine linear work may do so in
        // some of them, so one that does not is enough.
        let is_linear = || takes(TIMES * LENGTH) < takes(LENGTH) * 10;
        assert!((0..10).any(|_| is_linear()), "{part:?}");
    }
}

/// The block of code that is not closed, or not marked as text.
fn open_fence(lines: &[String]) -> Option<&str> {
    let mut open: Option<&str> = None;
    for line in lines {
        match open {
            None if line.starts_with("```") => open = Some(line.strip_suffix("text").unwrap_or("not text")),
            Some(fence) if line == fence => open = None,
            _ => {}
        }
    }
    open
}

/// Checks every text of up to four parts with a meaning in Markdown.
#[test]
fn no_text_leaves_a_block_of_code_open() {
    const PARTS: [&str; 14] = [
        "`",
        "``",
        "```",
        "[",
        "](http://a)",
        "<",
        "\\",
        "\n",
        "\n\n",
        "    ",
        "- ",
        "~~~",
        "ü\u{a0}",
        "#",
    ];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        let longer = texts
            .iter()
            .flat_map(|text| PARTS.map(|part| format!("{text}{part}")));
        texts = longer.collect();
        for text in &texts {
            let lines = lines(text);
            assert_eq!(open_fence(&lines), None, "{text:?}: {lines:?}");
            assert!(
                lines.iter().all(|line| !line.contains('\n')),
                "{text:?}: {lines:?}"
            );
        }
    }
}
