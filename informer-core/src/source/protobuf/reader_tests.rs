//! Tests of the reader on hostile bytes.

use super::super::test_bytes::{config_map, decode, field, integer, varint};
use super::*;

/// Reads all fields of a message, and everything that looks like a message in them.
fn walk(reader: &mut Reader<'_>) -> Result<(), ProtobufError> {
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => walk(&mut reader.message(tag)?).map_err(|error| error.within(tag))?,
            2 => drop(reader.text(tag).map_err(|error| error.within(tag))?),
            3 => drop(reader.integer(tag).map_err(|error| error.within(tag))?),
            4 => drop(reader.double(tag).map_err(|error| error.within(tag))?),
            5 => drop(reader.reserve(tag, 1 << 20).and_then(|_| reader.bytes(tag))?),
            _ => reader.skip(tag)?,
        }
    }
    Ok(())
}

fn check(bytes: &[u8], expected: Result<(), &str>) {
    let outcome = read_object(bytes, ManagedFields::Drop, walk);
    let outcome = outcome.map_err(|error| error.to_string());
    assert_eq!(
        outcome,
        expected.map_err(str::to_owned),
        "{}",
        bytes.escape_ascii()
    );
}

#[test]
fn values_of_every_wire_type_are_read_and_skipped() {
    let double = [varint(4 << 3 | 1), 1.5_f64.to_le_bytes().to_vec()].concat();
    let fixed32 = [varint(9 << 3 | 5), vec![0; 4]].concat();
    let negative = integer(3, (-1_i64).cast_unsigned());
    check(
        &[
            field(2, "ä"),
            double,
            fixed32,
            negative,
            integer(9, 300),
            field(9, "x"),
        ]
        .concat(),
        Ok(()),
    );
    check(b"", Ok(()));
}

#[test]
fn integers_have_their_sign() {
    let read = |reader: &mut Reader<'_>| {
        let tag = reader.tag()?.unwrap();
        reader.integer(tag)
    };
    for value in [0, 1, 127, 128, i64::MAX, -1, i64::MIN] {
        let bytes = integer(3, value.cast_unsigned());
        assert_eq!(
            read_object(&bytes, ManagedFields::Drop, read),
            Ok(value),
            "{value}"
        );
    }
}

#[test]
fn invalid_bytes_are_errors_with_the_path_of_the_field() {
    check(&field(2, [0xff]), Err("a text is not UTF-8 at field 2"));
    check(
        &field(1, field(1, field(2, [0xff]))),
        Err("a text is not UTF-8 at field 1.1.2"),
    );
    check(&integer(2, 5), Err("a field has an unexpected type at field 2"));
    check(&field(3, "x"), Err("a field has an unexpected type at field 3"));
    check(&varint(0), Err("a field has an unexpected type"));
    // The start and the end of a group.
    check(&varint(9 << 3 | 3), Err("a field has an unexpected type"));
    check(&varint(9 << 3 | 4), Err("a field has an unexpected type"));
    check(&[0x18; 1], Err("it ends too early at field 3"));
    check(&[0x21, 0, 0], Err("it ends too early at field 4"));
    check(&[0xff; 11], Err("a number is too long"));
    // A number with 65 bits.
    check(
        &[[0xff; 9].as_slice(), &[2]].concat(),
        Err("a number is too long"),
    );
}

#[test]
fn a_length_beyond_the_end_is_an_error_and_reserves_nothing() {
    for length in [1, 1 << 31, u64::MAX >> 1, u64::MAX] {
        check(
            &[varint(2 << 3 | 2), varint(length)].concat(),
            Err("it ends too early at field 2"),
        );
        check(
            &[varint(5 << 3 | 2), varint(length)].concat(),
            Err("it ends too early"),
        );
    }
}

#[test]
fn every_truncation_is_an_error_or_a_shorter_message() {
    let whole = config_map("a", "5", &field(17, "managed"));
    assert!(decode(&whole, ManagedFields::Drop).is_ok());
    for length in 0..whole.len() {
        // A cut between two fields is a shorter message.
        let _ = decode(&whole[..length], ManagedFields::Drop);
    }
    assert!(decode(&whole[..whole.len() - 1], ManagedFields::Drop).is_err());
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| (0..depth).fold(Vec::new(), |inner, _| field(1, inner));
    let limit = usize::from(MAX_DEPTH);
    check(&nested(limit), Ok(()));
    let error = read_object(&nested(limit + 1), ManagedFields::Drop, walk).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("it is nested too deeply at field 1.1.1"),
        "{error}"
    );
    assert!(error.to_string().len() < 80, "{error}");
}

/// Two bytes on the wire may be kilobytes in memory.
#[test]
fn the_memory_of_repeated_elements_is_bounded() {
    // Each element counts as 1 MiB.
    let few = field(5, "").repeat(60);
    let read = |reader: &mut Reader<'_>| {
        let tag = reader.tag()?.unwrap();
        reader.reserve(tag, 1 << 20)
    };
    assert_eq!(read_object(&few, ManagedFields::Drop, read), Ok(60));
    let many = field(5, "").repeat(65);
    let error = read_object(&many, ManagedFields::Drop, read).unwrap_err();
    assert_eq!(error.to_string(), "it would take too much memory");
}

#[test]
fn a_run_ends_at_another_field() {
    let bytes = [field(5, "a"), field(5, "b"), field(6, "c"), field(5, "d")].concat();
    let read = |reader: &mut Reader<'_>| {
        let tag = reader.tag()?.unwrap();
        reader.reserve(tag, 1)
    };
    assert_eq!(read_object(&bytes, ManagedFields::Drop, read), Ok(2));
}

#[test]
fn only_managed_fields_of_the_object_itself_are_dropped() {
    let bytes = config_map("a", "5", &field(17, "managed"));
    let marker = |managed| decode(&bytes, managed).unwrap().metadata.generate_name;
    assert_eq!(marker(ManagedFields::Drop), None);
    assert_eq!(marker(ManagedFields::Keep).as_deref(), Some("kept"));
    let deep = field(1, field(1, field(17, "managed")));
    let read = |reader: &mut Reader<'_>| {
        let tag = reader.tag()?.unwrap();
        let mut outer = reader.message(tag)?;
        let tag = outer.tag()?.unwrap();
        let inner = outer.message(tag)?;
        Ok((outer.drops_managed_fields(), inner.drops_managed_fields()))
    };
    assert_eq!(read_object(&deep, ManagedFields::Drop, read), Ok((true, false)));
}
