//! Limits on responses that cause work without delivering objects.
//!
//! A few bytes of gzip can decompress to a gigabyte of whitespace. These limits end such a response with
//! [`SourceError::Protocol`](super::SourceError::Protocol) long before it becomes expensive. No API server
//! comes near them.

/// The maximum size of one chunk of a body, after decompression.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// The number of bytes after which the reader of a body yields to other tasks, even if more bytes are
/// available.
pub(super) const TURN_BYTES: usize = 1024 * 1024;

/// How many bytes of an object are skipped beyond the largest object that is accepted. A larger one ends its
/// list or watch.
pub(super) const SKIPPED_BYTES: usize = 32 * 1024 * 1024;

/// The longest beginning of an object in protobuf that is kept to identify it, if it is too large.
pub(super) const HEAD_BYTES: usize = 1024 * 1024;

/// The longest run of whitespace between the events of a watch, or between the values of a list.
pub(super) const BLANK_BYTES: usize = 64 * 1024;

/// The maximum size of a list without its items and metadata: keys, `kind`, and values that are skipped.
pub(super) const OVERHEAD_BYTES: usize = 1024 * 1024;

/// The longest run of compressed bytes that decompress to nothing: empty members, padding, header fields.
pub(super) const EMPTY_GZIP_BYTES: usize = 64 * 1024;

/// The maximum number of consecutive events of unknown types in a watch.
pub(super) const UNKNOWN_EVENTS: usize = 10_000;

/// The size in bytes at which a batch of complete objects is decoded.
pub(super) const BATCH_BYTES: usize = 256 * 1024;
/// The number of objects at which a batch is decoded.
pub(super) const BATCH_OBJECTS: usize = 4096;

/// The maximum size of an error, as a response or as an event of a watch.
pub(super) const ERROR_BYTES: usize = 64 * 1024;
