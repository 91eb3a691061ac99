//! Packs the objects of one informer.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::Codec;
use super::dictionary::{Compression, Learner, Samples};
use super::label_sets::{self, LabelSets};
use super::packing::Arrival;
use super::slot::{Header, Purpose, Slot};
use super::stored::Stored;
use super::zstd_contexts::{COMPRESSORS, Compressor};
use crate::object::Object;
use crate::sync::{Offload, offload};

/// How many objects are decoded again after they were encoded, to check that their type supports it.
const CHECKED: u8 = 8;

/// More than [`CHECKED`]: an object was different after it was decoded again, and no object is packed.
const UNSUPPORTED: u8 = u8::MAX;

/// Packs objects: encodes them as JSON, which every cached type can read, and compresses them.
pub(super) struct Packer<K> {
    pub(super) codec: Arc<Codec<K>>,
    compression: ArcSwap<Compression>,
    learner: Mutex<Learner>,
    labels: Mutex<LabelSets>,
    next_id: AtomicU64,
    /// How many objects were checked, or [`UNSUPPORTED`].
    checked: AtomicU8,
    offload: Offload,
}

impl<K: Object> Packer<K> {
    pub(super) fn new(hot_objects: usize, offload: Offload) -> Self
    where
        K: Serialize + DeserializeOwned,
    {
        Self {
            codec: Arc::new(Codec::new(hot_objects)),
            compression: ArcSwap::from_pointee(Compression::plain()),
            learner: Mutex::new(Learner::new()),
            labels: Mutex::default(),
            next_id: AtomicU64::new(0),
            checked: AtomicU8::new(0),
            offload,
        }
    }

    /// Packs an object. One that cannot be encoded stays decoded.
    pub(super) fn pack(self: &Arc<Self>, object: Arc<K>, bytes: u32, arrival: Arrival) -> Stored<K> {
        let slot = COMPRESSORS.with(|compressor| self.slot(&object, arrival, compressor));
        let Some(slot) = slot else {
            return Stored::decoded(object, bytes);
        };
        if arrival == Arrival::Changed {
            self.codec.keep(slot.id, object, Purpose::Look);
        }
        Stored::packed(slot)
    }

    fn slot(self: &Arc<Self>, object: &K, arrival: Arrival, compressor: &mut Compressor) -> Option<Slot<K>> {
        let meta = object.meta();
        let labels = meta.labels.as_ref().filter(|labels| !labels.is_empty());
        if labels.is_some_and(|labels| !label_sets::is_representable(labels))
            || !self.codec.encode(object, &mut compressor.encoded)
            || !self.is_supported(&compressor.encoded)
        {
            return None;
        }
        let compression = self.compression.load();
        let compressed = compressor.compress(&compression)?;
        let size = compressed.len();
        let bytes = Header::of(meta).before(compressed);
        let labels = labels.map(|labels| {
            let mut sets = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
            sets.intern(labels)
        });
        let slot = Slot {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            codec: self.codec.clone(),
            generation: compression.generation.clone(),
            labels,
            bytes,
        };
        self.learn(size, arrival, compressor);
        Some(slot)
    }

    /// Checks that the type of the first objects reads what it writes. Otherwise its objects could not be
    /// read again.
    fn is_supported(&self, encoded: &[u8]) -> bool {
        match self.checked.load(Ordering::Relaxed) {
            UNSUPPORTED => return false,
            CHECKED.. => return true,
            checked => self.checked.store(checked + 1, Ordering::Relaxed),
        }
        let mut again = Vec::new();
        let is_equal = self.codec.decode(encoded).is_some_and(|object| {
            // As values: the order of a map may differ.
            let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
            self.codec.encode(&object, &mut again) && value(&again) == value(encoded)
        });
        if !is_equal {
            self.checked.store(UNSUPPORTED, Ordering::Relaxed);
            tracing::warn!(
                kind = std::any::type_name::<K>(),
                "objects of this type are not packed: what it serializes, it does not deserialize to the \
                 same object"
            );
        }
        is_equal
    }

    /// Records the object in `compressor`, and trains a dictionary if it is time for one.
    fn learn(self: &Arc<Self>, size: usize, arrival: Arrival, compressor: &mut Compressor) {
        let samples = self.learner().observe(&compressor.encoded, size);
        let Some(samples) = samples else {
            return;
        };
        match (arrival, self.offload) {
            // Listed objects are packed where long work may run. The rest of the list needs the dictionary.
            (Arrival::Listed, _) | (_, Offload::Inline) => self.train(&samples, compressor),
            (Arrival::Changed, Offload::BlockingPool) => {
                let packer = self.clone();
                drop(offload::start(move || {
                    COMPRESSORS.with(|compressor| packer.train(&samples, compressor));
                }));
            }
        }
    }

    fn train(&self, samples: &Samples, compressor: &mut Compressor) {
        let trained = samples.train(compressor);
        self.learner().trained(trained.as_ref());
        if let Some(trained) = trained {
            self.compression.store(Arc::new(trained.compression));
        }
    }

    fn learner(&self) -> std::sync::MutexGuard<'_, Learner> {
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
