//! Tests of the list splitter.

use super::super::test_bytes::{config_map, envelope, field, integer, list, varint};
use super::*;

fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<ListEntry>, String> {
    let mut splitter = ListSplitter::new(limit);
    let mut entries = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        while let Some(entry) = splitter.next().map_err(|error| error.to_string())? {
            entries.push(entry);
        }
        assert!(splitter.held() <= limit.max(1024), "holds more than allowed");
    }
    splitter.finish().map_err(|error| error.to_string())?;
    Ok(entries)
}

fn items() -> Vec<Vec<u8>> {
    vec![config_map("a", "5", b""), Vec::new(), config_map("b", "6", b"")]
}

fn expected() -> Vec<ListEntry> {
    let types = ListEntry::ItemTypes(TypeMeta {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
    });
    let metadata = ListEntry::Metadata(ListMetadata {
        resource_version: Some(ResourceVersion::new("17")),
        continue_token: Some("next".to_owned()),
        remaining: Some(3),
    });
    let items = items().into_iter().map(|item| ListEntry::Item(item.into()));
    [types, metadata].into_iter().chain(items).collect()
}

#[test]
fn entries_are_complete_wherever_the_body_is_cut() {
    let body = list(&items());
    for cut in 0..=body.len() {
        let entries = split(1024, [&body[..cut], &body[cut..]]).unwrap();
        assert_eq!(entries, expected(), "cut at {cut}");
    }
    assert_eq!(split(1024, body.chunks(1)).unwrap(), expected(), "byte by byte");
}

#[test]
fn a_truncated_list_is_an_error() {
    // Four bytes are the fields after the list, which may be absent.
    let body = list(&items());
    for length in 0..body.len() - 4 {
        let error = split(1024, [&body[..length]]).unwrap_err();
        assert!(error.contains("ended before its last byte"), "{length}: {error}");
    }
}

#[test]
fn unknown_fields_are_skipped() {
    let fixed = [varint(9 << 3 | 5), vec![1; 4], varint(9 << 3 | 1), vec![1; 8]].concat();
    let unknown = [field(7, "x"), integer(8, 300), fixed].concat();
    let raw = [
        unknown.clone(),
        field(1, field(2, "17")),
        field(2, "item"),
        unknown,
    ]
    .concat();
    let body = envelope("v1", "ConfigMapList", &raw);
    assert_eq!(split(64, [&body[..]]).unwrap().len(), 3);
    assert_eq!(split(64, body.chunks(1)).unwrap().len(), 3);
}

#[test]
fn an_item_over_the_limit_is_skipped_and_its_beginning_kept() {
    let large = config_map("a", "5", &field(2, vec![b'x'; 100]));
    let body = list(&[large.clone(), config_map("b", "6", b"")]);
    for size in [1, 7, body.len()] {
        let entries = split(100, body.chunks(size)).unwrap();
        let expected = [
            ListEntry::Oversized(large[..100].to_vec().into()),
            ListEntry::Item(config_map("b", "6", b"").into()),
        ];
        assert_eq!(entries[2..], expected, "in chunks of {size}");
    }
    let beyond = field(2, vec![b'x'; 64 + SKIPPED_BYTES + 1]);
    let error = split(64, [&envelope("v1", "L", &beyond)[..100]]).unwrap_err();
    assert!(error.contains("64 bytes"), "{error}");
}

#[test]
fn a_body_that_is_not_a_list_is_an_error() {
    let check = |body: &[u8], expected: &str| {
        let error = split(1024, [body]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    check(b"{\"kind\":\"List\"}", "is not protobuf");
    check(
        &envelope("v1", "Status", b""),
        "received a Status instead of a list",
    );
    check(
        &envelope("meta.k8s.io/v1", "Table", b""),
        "received a Table instead of a list",
    );
    check(&envelope("v1", "ConfigMapList", b""), "no `metadata`");
    check(b"k8s\0", "ended before its last byte");
    let metadata = field(1, field(2, "17"));
    check(&envelope("v1", "L", &metadata.repeat(2)), "duplicate metadata");
    check(
        &[envelope("v1", "L", &metadata), field(2, "")].concat(),
        "two lists",
    );
    // An item that reaches past the end of its list.
    check(&envelope("v1", "L", &[0x12, 50]), "it ends too early");
    check(&envelope("v1", "L", &[0x0c]), "unexpected type");
}

#[test]
fn bytes_besides_the_items_are_bounded() {
    let body = envelope("v1", "L", &field(7, vec![0; OVERHEAD_BYTES + 1]));
    let error = split(1024, body.chunks(4096)).unwrap_err();
    assert!(error.contains("besides its items"), "{error}");
    let types = field(1, vec![b'x'; OVERHEAD_BYTES + 1]);
    let error = split(1024, [&[MAGIC, &types[..20]].concat()[..]]).unwrap_err();
    assert!(error.contains("besides its items"), "{error}");
}
