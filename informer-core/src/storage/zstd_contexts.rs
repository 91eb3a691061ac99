//! The working memory of zstd, about 100 KB each: taken from a pool, so that neither threads nor informers
//! keep their own.

use std::sync::{Mutex, PoisonError};

use zstd::zstd_safe::{CCtx, DCtx, compress_bound, get_frame_content_size};

use super::dictionary::{Compression, Generation};

/// How many unused contexts of each kind are kept.
const IDLE: usize = 4;

/// Buffers above this size are not kept.
const LARGE: usize = 256 * 1024;

/// Contexts that are not in use.
pub(super) struct Contexts<T>(Mutex<Vec<T>>);

pub(super) static COMPRESSORS: Contexts<Compressor> = Contexts(Mutex::new(Vec::new()));
pub(super) static DECOMPRESSORS: Contexts<Decompressor> = Contexts(Mutex::new(Vec::new()));

pub(super) trait Context: Sized {
    fn create() -> Self;
    /// Frees large buffers.
    fn shrink(&mut self);
}

impl<T: Context> Contexts<T> {
    /// Calls `work` with a context.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut context = idle.unwrap_or_else(T::create);
        let result = work(&mut context);
        context.shrink();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(context);
        }
        result
    }
}

pub(super) struct Compressor {
    context: CCtx<'static>,
    /// The encoded object.
    pub(super) encoded: Vec<u8>,
    compressed: Vec<u8>,
}

impl Compressor {
    /// Compresses `encoded`.
    pub(super) fn compress(&mut self, compression: &Compression) -> Option<&[u8]> {
        self.compressed.clear();
        self.compressed.reserve(compress_bound(self.encoded.len()));
        let result = match &compression.dictionary {
            Some(dictionary) => {
                self.context
                    .compress_using_cdict(&mut self.compressed, &self.encoded, dictionary)
            }
            None => self
                .context
                .compress(&mut self.compressed, &self.encoded, Compression::LEVEL),
        };
        result.ok().map(|_| self.compressed.as_slice())
    }
}

impl Context for Compressor {
    fn create() -> Self {
        Self {
            context: CCtx::create(),
            encoded: Vec::new(),
            compressed: Vec::new(),
        }
    }

    fn shrink(&mut self) {
        self.encoded.clear();
        self.encoded.shrink_to(LARGE);
        self.compressed.clear();
        self.compressed.shrink_to(LARGE);
    }
}

pub(super) struct Decompressor {
    context: DCtx<'static>,
    decompressed: Vec<u8>,
}

impl Decompressor {
    pub(super) fn decompress(&mut self, compressed: &[u8], generation: &Generation) -> Option<&[u8]> {
        let length = usize::try_from(get_frame_content_size(compressed).ok()??).ok()?;
        self.decompressed.clear();
        self.decompressed.reserve(length);
        let result = match generation.dictionary() {
            Some(dictionary) => {
                self.context
                    .decompress_using_ddict(&mut self.decompressed, compressed, dictionary)
            }
            None => self.context.decompress(&mut self.decompressed, compressed),
        };
        result.ok().map(|_| self.decompressed.as_slice())
    }
}

impl Context for Decompressor {
    fn create() -> Self {
        Self {
            context: DCtx::create(),
            decompressed: Vec::new(),
        }
    }

    fn shrink(&mut self) {
        self.decompressed.clear();
        self.decompressed.shrink_to(LARGE);
    }
}
