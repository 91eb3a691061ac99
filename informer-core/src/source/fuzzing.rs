//! Functions of the fuzz targets: parsers of the wire format on arbitrary bytes, compared with simple models.
//!
//! Not part of the API. The targets under `informer-core/fuzz` call one function each; [`run_seeded`] runs
//! all of them on stable, on mutations of the same corpus. Each function panics if an invariant does not
//! hold.
//!
//! The first [`PLAN`] bytes of an input determine how the rest is cut into chunks, and the size limit.

use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;

use super::gzip::{Ending, Gunzip, GzipError, OUTPUT_STEP};
use crate::key::ObjectKey;
use crate::printable::Printable;
use crate::resource_version::ResourceVersion;

mod json;
mod protobuf;
mod seeded;

pub use json::{frames, list_splitter};
pub use protobuf::protobuf;

/// The number of bytes at the beginning of an input that are its plan.
pub const PLAN: usize = 8;

/// A fuzz target: its name, which is also the name of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 5] = [
    ("frames", frames),
    ("gzip", gzip),
    ("list_splitter", list_splitter),
    ("key_parser", key_parser),
    ("protobuf", protobuf),
];

/// Runs every target on every file of its corpus and on `iterations` mutations of them. The same seed
/// produces the same mutations. `corpus` is the folder with one folder per target.
///
/// Returns the number of inputs. Panics with the name of the target, the seed and the iteration if an
/// invariant does not hold, and if a corpus is missing.
pub fn run_seeded(corpus: &Path, seed: u64, iterations: u32) -> usize {
    TARGETS
        .iter()
        .map(|target| seeded::run(target, corpus, seed, iterations))
        .sum()
}

/// Splits `input` into plan and body.
fn plan(input: &[u8]) -> (&[u8], &[u8]) {
    input.split_at(input.len().min(PLAN))
}

/// Cuts the body into chunks of 1 to 32 bytes, as given by the plan.
fn chunks<'i>(plan: &[u8], mut body: &'i [u8]) -> Vec<&'i [u8]> {
    let mut sizes = plan.iter().map(|byte| usize::from(byte % 32) + 1).cycle();
    let mut chunks = Vec::new();
    while !body.is_empty() {
        let (chunk, rest) = body.split_at(sizes.next().unwrap_or(1).min(body.len()));
        chunks.push(chunk);
        body = rest;
    }
    chunks
}

fn limit(plan: &[u8]) -> usize {
    16 + usize::from(plan.first().copied().unwrap_or_default()) * 16
}

/// gzip: output and error do not depend on the cuts and equal those of flate2; steps are bounded; compressed
/// data is restored.
pub fn gzip(input: &[u8]) {
    let (plan, body) = plan(input);
    let whole = unpack([body]);
    let cut = unpack(chunks(plan, body));
    assert_eq!(whole.outcome, cut.outcome, "the outcome depends on the cuts");
    if whole.outcome.is_ok() {
        assert_eq!(whole.text, cut.text, "the text depends on the cuts");
    }
    let mut reference = Vec::new();
    let is_valid = flate2::read::MultiGzDecoder::new(body)
        .read_to_end(&mut reference)
        .is_ok();
    if is_valid && whole.outcome == Ok(Ending::Complete) {
        assert_eq!(whole.text, reference, "the text is not flate2's");
    }

    let packed: Vec<u8> = chunks(plan, body).into_iter().flat_map(pack).collect();
    let unpacked = unpack(chunks(plan, &packed));
    assert_eq!(
        (unpacked.outcome, unpacked.text.as_slice()),
        (Ok(Ending::Complete), body),
        "round trip"
    );
}

struct Unpacked {
    text: Vec<u8>,
    outcome: Result<Ending, GzipError>,
}

fn unpack<'i>(chunks: impl IntoIterator<Item = &'i [u8]>) -> Unpacked {
    let mut gunzip = Gunzip::new();
    let mut text = Vec::new();
    for chunk in chunks {
        gunzip.feed(Bytes::copy_from_slice(chunk));
        loop {
            match gunzip.next() {
                Ok(Some(bytes)) => {
                    assert!(
                        !bytes.is_empty() && bytes.len() <= OUTPUT_STEP,
                        "a step of {} bytes",
                        bytes.len()
                    );
                    text.extend_from_slice(&bytes);
                }
                Ok(None) => break,
                Err(error) => {
                    return Unpacked {
                        text,
                        outcome: Err(error),
                    };
                }
            }
        }
    }
    let outcome = Ok(gunzip.ending());
    Unpacked { text, outcome }
}

fn pack(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(text, flate2::Compression::fast())
        .read_to_end(&mut packed)
        .expect("reading from a slice cannot fail");
    packed
}

/// Keys and versions: parsed keys print as their text, and comparison is consistent.
pub fn key_parser(input: &[u8]) {
    let (plan, body) = plan(input);
    let text = String::from_utf8_lossy(body);
    let slashes = text.matches('/').count();
    match text.parse::<ObjectKey>() {
        Ok(key) => {
            assert!(
                slashes <= 1 && !key.name().is_empty() && !key.name().contains('/'),
                "{text:?}"
            );
            assert_ne!(key.namespace(), Some(""), "{text:?}");
            let is_plain = Printable::name(key.name()).is_plain()
                && key
                    .namespace()
                    .is_none_or(|namespace| Printable::namespace(namespace).is_plain());
            assert!(!key.to_string().chars().any(char::is_control), "{text:?}");
            if is_plain {
                assert_eq!(key.to_string(), text.strip_prefix('/').unwrap_or(&text));
                assert_eq!(key.to_string().parse(), Ok(key));
            }
        }
        Err(_) => assert!(slashes > 1 || text.is_empty() || text.ends_with('/'), "{text:?}"),
    }
    let (left, right) = (
        ResourceVersion::new(&text),
        ResourceVersion::new(&String::from_utf8_lossy(plan)),
    );
    assert_eq!(left.to_string(), text);
    assert_eq!(
        left.partial_cmp(&right),
        right.partial_cmp(&left).map(std::cmp::Ordering::reverse)
    );
    assert_eq!(left == right, left.to_string() == right.to_string());
}
