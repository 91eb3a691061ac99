//! Tests of the frames of a watch.

use super::super::test_bytes::{event, framed};
use super::*;

fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, String> {
    let mut splitter = FrameSplitter::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        while let Some(frame) = splitter.next().map_err(|error| error.to_string())? {
            frames.push(match frame {
                WatchFrame::Whole(frame) => frame.to_vec(),
                WatchFrame::Oversized(head) => [b"oversized ", &head[..]].concat(),
            });
        }
        assert!(splitter.held() <= limit.max(4));
    }
    Ok(frames)
}

#[test]
fn frames_are_complete_wherever_the_body_is_cut() {
    let expected = [b"first".to_vec(), Vec::new(), b"third".to_vec()];
    let body: Vec<u8> = expected.iter().flat_map(|frame| framed(frame)).collect();
    for cut in 0..=body.len() {
        let chunks = [&body[..cut], &body[cut..]];
        assert_eq!(split(64, chunks).unwrap(), expected, "cut at {cut}");
    }
    assert_eq!(split(64, body.chunks(1)).unwrap(), expected, "byte by byte");
    assert_eq!(split(64, [&body[..body.len() - 1]]).unwrap(), expected[..2]);
}

#[test]
fn a_frame_over_the_limit_is_skipped_and_its_beginning_kept() {
    let large = vec![b'x'; 65];
    let body = [framed(&large), framed(b"next")].concat();
    let expected = [[b"oversized ", &large[..64]].concat(), b"next".to_vec()];
    for size in [1, 7, body.len()] {
        assert_eq!(
            split(64, body.chunks(size)).unwrap(),
            expected,
            "in chunks of {size}"
        );
    }
    let error = split(64, [&u32::MAX.to_be_bytes()[..]]).unwrap_err();
    assert!(error.contains("64 bytes"), "{error}");
}

#[test]
fn an_incomplete_error_event_over_the_limit_is_an_error_and_another_is_not() {
    for (change, limited) in [("ERROR", true), ("ADDED", false)] {
        let body = framed(&event(change, &vec![b'x'; 2 * ERROR_BYTES]));
        let outcome = split(4 * ERROR_BYTES, [&body[..100]]);
        assert_eq!(outcome.is_err(), limited, "{outcome:?}");
    }
}
