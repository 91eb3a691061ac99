//! Decodes packed objects, and keeps track of those that are decoded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::decoded_objects::{DecodedObjects, Kept};
use super::slot::{Purpose, Slot};
use super::zstd_contexts::DECOMPRESSORS;
use crate::sync::LogLimit;

/// The encoding of one kind, and the objects of one informer that are decoded. Every slot has a reference.
pub(super) struct Codec<K> {
    encode: fn(&K, &mut Vec<u8>) -> bool,
    decode: fn(&[u8]) -> Option<K>,
    decoded: Mutex<DecodedObjects<K>>,
    log: Mutex<LogLimit>,
    /// How often an object was decoded.
    #[cfg(all(test, not(feature = "__model")))]
    pub(super) decodes: std::sync::atomic::AtomicUsize,
}

impl<K> Codec<K> {
    pub(super) fn new(hot_objects: usize) -> Self
    where
        K: Serialize + DeserializeOwned,
    {
        Self {
            encode: |object, bytes| serde_json::to_writer(bytes, object).is_ok(),
            decode: |bytes| serde_json::from_slice(bytes).ok(),
            decoded: Mutex::new(DecodedObjects::new(hot_objects)),
            log: Mutex::default(),
            #[cfg(all(test, not(feature = "__model")))]
            decodes: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// Appends the encoded object. `false` if it cannot be encoded: the code of its type fails or panics.
    pub(super) fn encode(&self, object: &K, bytes: &mut Vec<u8>) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.encode)(object, bytes))).unwrap_or(false)
    }

    pub(super) fn decode(&self, bytes: &[u8]) -> Option<K> {
        #[cfg(all(test, not(feature = "__model")))]
        self.decodes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        catch_unwind(AssertUnwindSafe(|| (self.decode)(bytes))).unwrap_or(None)
    }

    /// The object of a slot. Decodes it, unless somebody holds it.
    pub(super) fn read(&self, slot: &Slot<K>, purpose: Purpose) -> Option<Arc<K>> {
        let found = self.decoded().find(slot.id, purpose);
        if let Some(Kept { object, displaced }) = found {
            drop(displaced);
            return Some(object);
        }
        let Some(object) = self.unpack(slot) else {
            self.report(slot);
            return None;
        };
        Some(self.keep(slot.id, Arc::new(object), purpose))
    }

    fn unpack(&self, slot: &Slot<K>) -> Option<K> {
        DECOMPRESSORS.with(|decompressor| {
            let encoded = decompressor.decompress(slot.contents(), &slot.generation)?;
            self.decode(encoded)
        })
    }

    /// Remembers an object as decoded. Returns the one that is, if another thread was faster.
    pub(super) fn keep(&self, id: u64, object: Arc<K>, purpose: Purpose) -> Arc<K> {
        let kept = self.decoded().keep(id, object, purpose);
        // Without the lock: it may be many objects.
        drop(kept.displaced);
        kept.object
    }

    fn decoded(&self) -> MutexGuard<'_, DecodedObjects<K>> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packed object that cannot be decoded is a bug of this library or of its type. Readers treat it as
    /// absent.
    fn report(&self, slot: &Slot<K>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suppressed) = log.news(Instant::now()) {
            let key = slot.key().map(|key| key.to_string()).unwrap_or_default();
            tracing::error!(
                key,
                suppressed,
                "a packed object could not be decoded and is treated as absent; this is a bug",
            );
        }
    }
}
