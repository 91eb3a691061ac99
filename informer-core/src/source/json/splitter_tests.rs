//! Tests of the list splitter.

use super::*;

const LIST: &str = r#" {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},
    "items":[{"a":"]}\"\\"},{"b":[{},[]]} , "text", 17 ,null],"other":[{"x":["}"]}]} "#;

/// Every value in the order of the body, or the error.
fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, String> {
    let mut splitter = ListSplitter::new(limit);
    let mut values = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        while let Some(value) = splitter.next().map_err(|error| error.to_string())? {
            let (name, text) = match &value {
                ListValue::Kind(text) => ("kind", text),
                ListValue::ApiVersion(text) => ("apiVersion", text),
                ListValue::Metadata(text) => ("metadata", text),
                ListValue::Item(text) => ("item", text),
                ListValue::Oversized(text) => ("oversized", text),
            };
            values.push(format!("{name} {}", String::from_utf8_lossy(text)));
        }
        assert!(splitter.held() <= limit);
    }
    splitter.finish().map_err(|error| error.to_string())?;
    Ok(values)
}

fn check(body: &str, expected: &[&str]) {
    let body = body.as_bytes();
    for cut in 0..=body.len() {
        assert_eq!(
            split(4096, [&body[..cut], &body[cut..]]).unwrap(),
            expected,
            "cut at {cut}"
        );
    }
    assert_eq!(split(4096, body.chunks(1)).unwrap(), expected, "byte by byte");
}

fn check_error(body: &str, expected: &str) {
    let body = body.as_bytes();
    for cut in 0..=body.len() {
        let error = split(4096, [&body[..cut], &body[cut..]]).expect_err("this body is broken");
        assert!(error.contains(expected), "cut at {cut}: {error}");
    }
}

#[test]
fn items_are_found_wherever_the_body_is_cut() {
    check(
        LIST,
        &[
            r#"kind "PodList""#,
            r#"apiVersion "v1""#,
            r#"metadata {"resourceVersion":"5"}"#,
            r#"item {"a":"]}\"\\"}"#,
            r#"item {"b":[{},[]]}"#,
            r#"item "text""#,
            "item 17",
            "item null",
        ],
    );
}

#[test]
fn metadata_may_follow_the_items() {
    check(r#"{"items":[{}],"metadata":{}}"#, &["item {}", "metadata {}"]);
}

#[test]
fn null_items_are_an_empty_list() {
    check(r#"{"items":null,"metadata":{}}"#, &["metadata {}"]);
    check(r#"{"items":[ ],"metadata":{}}"#, &["metadata {}"]);
}

#[test]
fn an_escaped_key_is_the_same_key() {
    check(r#"{"\u0069tems":[1],"metadata":{}}"#, &["item 1", "metadata {}"]);
}

#[test]
fn an_incomplete_body_is_an_error_wherever_it_is_cut() {
    let end = LIST.trim_end().len();
    for length in 0..end {
        let error = split(4096, [&LIST.as_bytes()[..length]]).expect_err("the end is missing");
        assert!(error.contains("closing brace"), "cut at {length}: {error}");
    }
}

#[test]
fn a_body_that_is_not_a_list_is_an_error() {
    check_error("<html>", "not a JSON object");
    check_error("[]", "not a JSON object");
    check_error(r#"{"metadata":{}}"#, "no `items`");
    check_error(r#"{"items":[]}"#, "no `metadata`");
    check_error(r#"{"items":{},"metadata":{}}"#, "not an array");
    check_error(r#"{"items":7,"metadata":{}}"#, "not an array");
    check_error(r#"{"items":[],"metadata":{}} x"#, "after");
    check_error(r#"{"items":[],"metadata":{}}{}"#, "after");
    check_error(r#"{"items":[],"items":[],"metadata":{}}"#, "duplicate");
    check_error(r#"{"items":[1 2],"metadata":{}}"#, "valid JSON");
    check_error(r#"{"items":[,],"metadata":{}}"#, "valid JSON");
    check_error(r#"{"items" []}"#, "valid JSON");
    check_error(r#"{"items":[{]],"metadata":{}}"#, "mismatched");
}

#[test]
fn sizes_are_bounded_and_nesting_is_not() {
    let item = format!(r#"{{"data":"{}","metadata":{{"name":"a"}}}}"#, "x".repeat(100));
    let body = format!(r#"{{"items":[{item},{{}}],"metadata":{{}}}}"#);
    let whole = [
        format!("item {item}"),
        "item {}".to_owned(),
        "metadata {}".to_owned(),
    ];
    assert_eq!(split(item.len(), [body.as_bytes()]).unwrap(), whole);
    let skipped = [r#"oversized {"metadata":{"name":"a"}}"#, "item {}", "metadata {}"];
    for size in [1, 7, body.len()] {
        let values = split(item.len() - 1, body.as_bytes().chunks(size)).unwrap();
        assert_eq!(values, skipped, "in chunks of {size}");
    }
    let metadata = format!(r#"{{"metadata":{item},"items":[]}}"#);
    let error = split(item.len() - 1, [metadata.as_bytes()]).unwrap_err();
    assert!(error.contains("larger than the limit"), "{error}");

    let nested = |depth: usize| {
        format!(
            r#"{{"items":[{}{}],"metadata":{{}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    for depth in [63, 64, 65, 1025, 10_000] {
        let body = nested(depth);
        for size in [7, body.len()] {
            let values = split(100_000, body.as_bytes().chunks(size)).unwrap();
            assert_eq!(values[0].len(), "item ".len() + 2 * depth, "{depth} levels");
        }
    }
    let broken = nested(10_000).replacen("]]]", "]}]", 1);
    let error = split(100_000, [broken.as_bytes()]).unwrap_err();
    assert!(error.contains("mismatched"), "{error}");

    // What is skipped is not held, so it may be larger than an object; a key is held.
    let skipped = |size| format!(r#"{{"other":"{}","items":[],"metadata":{{}}}}"#, "x".repeat(size));
    assert!(split(100, [skipped(1000).as_bytes()]).is_ok());
    let error = split(100, [skipped(OVERHEAD_BYTES).as_bytes()]).unwrap_err();
    assert!(error.contains("besides its items"), "{error}");
    let keys = format!(
        r#"{{{}"items":[],"metadata":{{}}}}"#,
        r#""k":"v","#.repeat(OVERHEAD_BYTES / 6)
    );
    let error = split(100, keys.as_bytes().chunks(4096)).unwrap_err();
    assert!(error.contains("besides its items"), "{error}");
    let key = format!(r#"{{"{}":1}}"#, "x".repeat(KEY_LIMIT));
    assert!(split(4096, [key.as_bytes()]).unwrap_err().contains("too long"));
}

#[test]
fn blanks_are_bounded_in_a_row() {
    let blanks = " ".repeat(BLANK_BYTES);
    let body = format!(r#"{{"items":[1{blanks},{blanks}2],{blanks}"metadata":{{}}}}{blanks}"#);
    assert_eq!(
        split(4096, body.as_bytes().chunks(1000)).unwrap(),
        ["item 1", "item 2", "metadata {}"]
    );
    for body in [
        format!(r#"{{"items":[1{blanks} ,2],"metadata":{{}}}}"#),
        format!(r#"{{"items":[1],"metadata":{{}}}}{blanks} "#),
        format!("{blanks} "),
    ] {
        for size in [1000, body.len()] {
            let error = split(4096, body.as_bytes().chunks(size)).unwrap_err();
            assert!(error.contains("blank bytes in a row"), "{error}");
        }
    }
}
