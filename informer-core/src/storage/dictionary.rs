//! Dictionaries for compression: trained on the first objects of a kind, and renewed when they stop paying.

use std::sync::{Arc, Weak};

use zstd::zstd_safe::{CDict, DDict};

use super::zstd_contexts::Compressor;

/// What objects of one generation need to be decompressed. Lives as long as one of them.
pub(super) struct Generation(Option<DDict<'static>>);

impl Generation {
    pub(super) fn dictionary(&self) -> Option<&DDict<'static>> {
        self.0.as_ref()
    }
}

/// What new objects are compressed with.
pub(super) struct Compression {
    pub(super) generation: Arc<Generation>,
    pub(super) dictionary: Option<CDict<'static>>,
}

impl Compression {
    /// Fast. Higher levels are 5 % smaller with a dictionary, and need 300 KB more memory for it.
    pub(super) const LEVEL: i32 = 1;

    /// Without a dictionary.
    pub(super) fn plain() -> Self {
        Self {
            generation: Arc::new(Generation(None)),
            dictionary: None,
        }
    }

    fn with(dictionary: &[u8]) -> Self {
        Self {
            generation: Arc::new(Generation(Some(DDict::create(dictionary)))),
            dictionary: Some(CDict::create(dictionary, Self::LEVEL)),
        }
    }
}

/// How many objects a dictionary is trained on.
pub(super) const SAMPLES: usize = 128;

/// At most so many bytes of one object are used, and so many in total. Training takes about 0.1 s per MB.
const SAMPLE_BYTES: usize = 32 * 1024;
const TOTAL_BYTES: usize = 1024 * 1024;

/// The size of a dictionary.
const DICTIONARY_BYTES: usize = 32 * 1024;

/// After how many objects the ratio of compression is judged.
const WINDOW: usize = 512;

/// How much worse than on its samples a dictionary may be.
const TOLERANCE: f64 = 2.0;

/// Of how many objects one is a sample when a dictionary is renewed: more spread than the first objects,
/// which often are of one namespace.
const STRIDE: usize = 8;

/// How many dictionaries may exist. Objects that never change keep theirs.
const GENERATIONS: usize = 4;

/// Decides when a dictionary is trained, and on which objects.
pub(super) struct Learner {
    phase: Phase,
    /// The generations that may have objects.
    generations: Vec<Weak<Generation>>,
}

enum Phase {
    Gathering {
        samples: Samples,
        /// One object of so many is a sample.
        stride: usize,
        seen: usize,
    },
    /// A dictionary is being trained.
    Training,
    /// A dictionary is in use.
    Judging { expected: f64, window: Window },
    /// These objects cannot be trained on: too small, or all different.
    GivenUp,
}

/// Encoded objects, one after the other.
#[derive(Default)]
pub(super) struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

/// The sizes of objects before and after compression.
#[derive(Default)]
struct Window {
    objects: usize,
    encoded: usize,
    compressed: usize,
}

/// The result of a training.
pub(super) struct Trained {
    pub(super) compression: Compression,
    /// The ratio of compression on its own samples.
    expected: f64,
}

impl Learner {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::gather(1),
            generations: Vec::new(),
        }
    }

    /// Records an object that was compressed. Returns samples if it is time to train on them.
    pub(super) fn observe(&mut self, encoded: &[u8], compressed: usize) -> Option<Samples> {
        match &mut self.phase {
            Phase::Gathering {
                samples,
                stride,
                seen,
            } => {
                *seen += 1;
                if seen.is_multiple_of(*stride) {
                    samples.add(encoded);
                }
                if !samples.is_enough() {
                    return None;
                }
                let samples = std::mem::take(samples);
                self.phase = Phase::Training;
                Some(samples)
            }
            Phase::Judging { expected, window } => {
                window.add(encoded.len(), compressed);
                if window.objects == WINDOW {
                    let is_worse = window.ratio() > *expected * TOLERANCE;
                    *window = Window::default();
                    if is_worse && self.may_renew() {
                        self.phase = Phase::gather(STRIDE);
                    }
                }
                None
            }
            Phase::Training | Phase::GivenUp => None,
        }
    }

    fn may_renew(&mut self) -> bool {
        self.generations
            .retain(|generation| generation.strong_count() > 0);
        self.generations.len() < GENERATIONS
    }

    /// Records the end of a training.
    pub(super) fn trained(&mut self, trained: Option<&Trained>) {
        self.phase = match trained {
            Some(trained) => {
                self.generations
                    .push(Arc::downgrade(&trained.compression.generation));
                Phase::Judging {
                    expected: trained.expected,
                    window: Window::default(),
                }
            }
            None => Phase::GivenUp,
        };
    }
}

impl Phase {
    fn gather(stride: usize) -> Self {
        Self::Gathering {
            samples: Samples::default(),
            stride,
            seen: 0,
        }
    }
}

impl Samples {
    fn add(&mut self, encoded: &[u8]) {
        let sample = &encoded[..encoded.len().min(SAMPLE_BYTES)];
        self.bytes.extend_from_slice(sample);
        self.sizes.push(sample.len());
    }

    fn is_enough(&self) -> bool {
        self.sizes.len() >= SAMPLES || self.bytes.len() >= TOTAL_BYTES
    }

    /// Trains a dictionary, which takes about 0.1 s. `None` if that is impossible.
    pub(super) fn train(&self, compressor: &mut Compressor) -> Option<Trained> {
        let dictionary = zstd::dict::from_continuous(&self.bytes, &self.sizes, DICTIONARY_BYTES).ok()?;
        let compression = Compression::with(&dictionary);
        let mut window = Window::default();
        let mut rest = self.bytes.as_slice();
        for size in &self.sizes {
            let (sample, next) = rest.split_at(*size);
            rest = next;
            compressor.encoded.clear();
            compressor.encoded.extend_from_slice(sample);
            window.add(*size, compressor.compress(&compression)?.len());
        }
        Some(Trained {
            compression,
            expected: window.ratio(),
        })
    }
}

impl Window {
    fn add(&mut self, encoded: usize, compressed: usize) {
        self.objects += 1;
        self.encoded += encoded;
        self.compressed += compressed;
    }

    fn ratio(&self) -> f64 {
        self.compressed as f64 / self.encoded.max(1) as f64
    }
}
