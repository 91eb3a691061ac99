//! How an informer holds objects in memory: decoded, or packed and decoded when they are read.
//!
//! [`Stored`] is one object in either form. It flows from the queue to the store and to the handlers'
//! buffers, so that no part of the pipeline holds more objects decoded than it works on.

#[cfg(feature = "packed")]
mod codec;
#[cfg(feature = "packed")]
mod decoded_objects;
#[cfg(feature = "packed")]
mod dictionary;
#[cfg(feature = "packed")]
mod label_sets;
#[cfg(feature = "packed")]
mod packer;
mod packing;
#[cfg(feature = "packed")]
mod slot;
mod stored;
#[cfg(all(test, feature = "packed", not(feature = "__model")))]
mod tests;
mod uid_tag;
#[cfg(feature = "packed")]
mod zstd_contexts;

#[cfg(all(feature = "__internals", feature = "packed"))]
pub use packing::pack_by_default;
pub(crate) use packing::{Arrival, Packing};
pub use stored::{ObjectRef, Stored};

/// How an informer holds the objects of its kind.
///
/// Decoded objects cost nothing to read. Packed ones take a small part of the memory, and reading one that
/// nobody holds decodes it. Choose it for kinds with many or large objects of which a program reads few at a
/// time, such as the Pods of a cluster in a program that looks up some by name or index. Do not choose it
/// for kinds that are listed as a whole all the time.
///
/// Keys, versions, labels and index values are read without decoding: a selector or an index decodes only
/// what it returns. All that hold an object share one `Arc`, as they do with decoded storage. Events that
/// wait for a handler are packed too, and decoded when they are delivered.
///
/// Every guarantee holds with both. The price is time: an update costs one serialization and compression,
/// and a handler that receives `old` a decode of it, unless it is hot. Memory and times of realistic Pods
/// are in the design note 0020 of the repository.
///
/// A packed object is what its type serializes and deserializes as JSON. A type that does not read what it
/// writes is detected with its first objects, and its objects stay decoded, with a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// As Rust values. This is the default.
    #[default]
    Decoded,
    /// As compressed bytes. Needs the feature `packed`.
    #[cfg(feature = "packed")]
    Packed {
        /// How many objects stay decoded because they were read by key or changed last. Default: 256.
        hot_objects: usize,
    },
}

impl Storage {
    /// [`Packed`](Self::Packed) with its defaults.
    #[cfg(feature = "packed")]
    pub const fn packed() -> Self {
        Self::Packed { hot_objects: 256 }
    }
}
