//! The fuzz target of protobuf: frames and lists do not depend on the cuts, and readers never panic.

use bytes::Bytes;

use super::{chunks, limit, plan};
use crate::source::format::{ListEntry, Splitter, WatchFrame};
use crate::source::limits::OVERHEAD_BYTES;
use crate::source::protobuf::internals::{FrameSplitter, ListSplitter, identify, parse_status};
use crate::source::protobuf::{ProtobufError, Reader, read_object};
use crate::source::{ManagedFields, SourceError};

/// Protobuf: entries and errors do not depend on the cuts; memory is bounded; objects are read or refused.
pub fn protobuf(input: &[u8]) {
    let (plan, body) = plan(input);
    let limit = limit(plan);
    let held = |held: usize, limit: usize| assert!(held <= limit, "holds {held} bytes");

    let check = |splitter: &FrameSplitter| held(splitter.held(), limit.max(1024));
    let whole = split(&mut FrameSplitter::new(limit), [body], check);
    let cut = split(&mut FrameSplitter::new(limit), chunks(plan, body), check);
    assert_eq!(whole, cut, "the frames depend on the cuts");
    for WatchFrame::Whole(frame) | WatchFrame::Oversized(frame) in &whole.outputs {
        read(frame);
    }

    let check = |splitter: &ListSplitter| held(splitter.held(), limit.max(OVERHEAD_BYTES));
    let whole = split(&mut ListSplitter::new(limit), [body], check);
    let cut = split(&mut ListSplitter::new(limit), chunks(plan, body), check);
    assert_eq!(whole, cut, "the entries depend on the cuts");
    for entry in &whole.outputs {
        if let ListEntry::Item(item) | ListEntry::Oversized(item) = entry {
            assert!(item.len() <= limit, "an item of {} bytes", item.len());
            read(item);
        }
    }
    read(body);
}

/// Reads bytes as an object, as its identity, and as a status.
fn read(bytes: &[u8]) {
    let _ = read_object(bytes, ManagedFields::Drop, walk);
    let _ = parse_status(bytes);
    if let Some(key) = identify(bytes).key {
        assert!(!key.name().is_empty());
    }
}

/// Reads every field as each type it may have.
fn walk(reader: &mut Reader<'_>) -> Result<(), ProtobufError> {
    while let Some(tag) = reader.tag()? {
        match tag.number % 5 {
            0 => drop(reader.text(tag)?),
            1 => walk(&mut reader.message(tag)?).map_err(|error| error.within(tag))?,
            2 => drop(reader.integer(tag)?),
            3 => {
                assert!(reader.reserve(tag, 1)? > 0, "the field itself counts");
                reader.skip(tag)?;
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Split<O> {
    outputs: Vec<O>,
    error: Option<String>,
}

fn split<'i, S: Splitter>(
    splitter: &mut S,
    chunks: impl IntoIterator<Item = &'i [u8]>,
    check: impl Fn(&S),
) -> Split<S::Output> {
    let mut outputs = Vec::new();
    let failed = |outputs, error: SourceError| Split {
        outputs,
        error: Some(error.to_string()),
    };
    for chunk in chunks {
        splitter.feed(Bytes::copy_from_slice(chunk));
        loop {
            match splitter.next() {
                Ok(Some(output)) => outputs.push(output),
                Ok(None) => break,
                Err(error) => return failed(outputs, error),
            }
        }
        check(splitter);
    }
    match splitter.finish() {
        Ok(()) => Split { outputs, error: None },
        Err(error) => failed(outputs, error),
    }
}
