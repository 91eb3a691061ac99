//! Bounds on responses that make work without carrying objects.
//!
//! A few bytes of gzip can unpack to a gigabyte of blanks. These limits end such a response with
//! [`SourceError::Protocol`](super::SourceError::Protocol) long before it costs much; no API server comes
//! near them.

/// The most bytes that are given out, and so worked on, in one piece.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// After how many bytes a body reader lets other tasks run, even if more is available at once.
pub(super) const TURN_BYTES: usize = 1024 * 1024;

/// The longest run of blank bytes between the events of a watch, or between the parts of a list.
pub(super) const BLANK_BYTES: usize = 64 * 1024;

/// The most bytes of a list that are neither items nor metadata: keys, `kind`, and values that are skipped.
pub(super) const OVERHEAD_BYTES: usize = 1024 * 1024;

/// The longest run of compressed bytes that unpack to nothing: empty members, padding, header fields.
pub(super) const EMPTY_GZIP_BYTES: usize = 64 * 1024;

/// How many events of unknown types may follow each other in a watch.
pub(super) const UNKNOWN_EVENTS: usize = 10_000;

/// The most bytes of whole objects that are gathered before they are decoded, and the most objects.
pub(super) const BATCH_BYTES: usize = 256 * 1024;
/// See [`BATCH_BYTES`].
pub(super) const BATCH_OBJECTS: usize = 4096;

/// How much of an error answer is read, as a response or as an event in a watch.
pub(super) const ERROR_BYTES: usize = 64 * 1024;
