//! Tests of the decompression.

use std::io::Write as _;

use flate2::{Compression, GzBuilder, write::GzEncoder};

use super::*;

fn member(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn unpack<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Ending), GzipError> {
    let mut gunzip = Gunzip::new();
    let mut output = Vec::new();
    for chunk in chunks {
        gunzip.feed(Bytes::copy_from_slice(chunk));
        while let Some(bytes) = gunzip.next()? {
            assert!(!bytes.is_empty() && bytes.len() <= OUTPUT_STEP);
            output.extend_from_slice(&bytes);
        }
    }
    Ok((output, gunzip.ending()))
}

fn check(body: &[u8], expected: Result<(&[u8], Ending), GzipError>) {
    let expected = expected.map(|(text, ending)| (text.to_vec(), ending));
    assert_eq!(unpack([body]), expected, "whole");
    assert_eq!(unpack(body.chunks(1)), expected, "byte by byte");
    for split in 0..=body.len() {
        assert_eq!(
            unpack([&body[..split], &body[split..]]),
            expected,
            "split at {split}"
        );
    }
}

#[test]
fn members_are_concatenated() {
    let body = [member(b"one\n"), member(b""), member(b"two\n"), member(b"three")].concat();
    check(&body, Ok((b"one\ntwo\nthree", Ending::Complete)));
}

#[test]
fn all_header_fields_are_skipped() {
    let mut encoder = GzBuilder::new()
        .extra(vec![1, 2, 3])
        .filename("name")
        .comment("comment")
        .write(Vec::new(), Compression::fast());
    encoder.write_all(b"text").unwrap();
    let mut body = encoder.finish().unwrap();
    check(&body, Ok((b"text", Ending::Complete)));
    // The same with a header checksum, which comes last.
    body[3] |= HAS_HEADER_CRC;
    let header = FIXED_LENGTH + 2 + 3 + "name\0".len() + "comment\0".len();
    body.splice(header..header, [9, 9]);
    check(&body, Ok((b"text", Ending::Complete)));
}

#[test]
fn zero_padding_is_skipped_and_other_data_is_an_error() {
    check(
        &[member(b"text"), vec![0; 7]].concat(),
        Ok((b"text", Ending::Complete)),
    );
    check(
        &[member(b"a"), vec![0; 3], member(b"b")].concat(),
        Ok((b"ab", Ending::Complete)),
    );
    check(
        &[member(b"text"), b"more".to_vec()].concat(),
        Err(GzipError::Garbage),
    );
    check(b"plain", Err(GzipError::Header));
    check(b"\0", Err(GzipError::Header));
    check(b"", Ok((b"", Ending::Complete)));
}

#[test]
fn output_before_a_truncated_member_is_returned() {
    let body = [member(b"one"), member(b"two")].concat();
    for length in 1..body.len() {
        let (text, ending) = unpack([&body[..length]]).unwrap();
        let is_boundary = length == member(b"one").len();
        assert_eq!(ending == Ending::Complete, is_boundary, "{length}");
        assert!(b"onetwo".starts_with(text.as_slice()), "{length}");
    }
}

#[test]
fn a_changed_bit_is_detected() {
    let body = member(b"some text that is long enough");
    for at in [0, 2, body.len() - 1, body.len() - 5] {
        let mut broken = body.clone();
        broken[at] ^= 0x10;
        assert!(unpack([broken.as_slice()]).is_err(), "bit at {at}");
    }
}

#[test]
fn an_event_is_returned_with_its_member_or_flush() {
    let mut gunzip = Gunzip::new();
    for text in [&b"first event\n"[..], b"second event\n"] {
        gunzip.feed(member(text).into());
        assert_eq!(gunzip.next().unwrap().as_deref(), Some(text));
        assert_eq!(gunzip.next().unwrap(), None);
    }
    let mut gunzip = Gunzip::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for text in [&b"first event\n"[..], b"second event\n"] {
        encoder.write_all(text).unwrap();
        encoder.flush().unwrap();
        gunzip.feed(std::mem::take(encoder.get_mut()).into());
        let mut output = Vec::new();
        while let Some(bytes) = gunzip.next().unwrap() {
            output.extend_from_slice(&bytes);
        }
        assert_eq!(output, text);
    }
}

#[test]
fn input_without_output_is_bounded() {
    let empty = member(b"");
    let count = EMPTY_GZIP_BYTES / empty.len() - 1;
    let some = [empty.repeat(count), member(b"text")].concat();
    let (text, ending) = unpack([some.repeat(2).as_slice()]).unwrap();
    assert_eq!((text.as_slice(), ending), (&b"texttext"[..], Ending::Complete));
    for body in [
        empty.repeat(count + 2),
        [member(b"text"), vec![0; EMPTY_GZIP_BYTES]].concat(),
        // A header with a name that does not end.
        [
            &[0x1f, 0x8b, 8, HAS_NAME, 0, 0, 0, 0, 0, 0][..],
            &[b'x'; EMPTY_GZIP_BYTES],
        ]
        .concat(),
    ] {
        assert_eq!(unpack([body.as_slice()]), Err(GzipError::Empty));
        assert_eq!(unpack(body.chunks(1000)), Err(GzipError::Empty));
    }
}

#[test]
fn a_gzip_bomb_is_decompressed_in_bounded_steps() {
    let text = vec![b' '; 10 * 1024 * 1024];
    let body = member(&text);
    assert!(body.len() < 20_000);
    let (output, ending) = unpack([body.as_slice()]).unwrap();
    assert_eq!((output.len(), ending), (text.len(), Ending::Complete));
}
