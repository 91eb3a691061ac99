//! Decodes batches, large ones on several threads at once, and returns the results in the order of the body.

use std::collections::VecDeque;
use std::num::NonZero;
use std::thread::available_parallelism;

use super::DecodeOn;
use crate::sync::offload::{self, Job};

/// The largest number of batches of one response that are decoded at once, on a machine with as many cores.
const MOST: usize = 4;

/// The batches of one response that are being decoded, in the order of the body.
pub(super) struct Decoding<E> {
    on: DecodeOn,
    batches: VecDeque<Batch<E>>,
    /// How many batches may be decoded at once.
    most: usize,
    /// How many bytes were decoded on the caller's thread since memory was reserved there.
    since_room: usize,
}

enum Batch<E> {
    /// On another thread.
    Running(Job<Vec<E>>),
    /// Small: decoded at once, but behind a large one.
    Decoded(Vec<E>),
}

impl<E: Send + 'static> Decoding<E> {
    pub(super) fn new(on: DecodeOn) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            on,
            batches: VecDeque::new(),
            most: cores.min(MOST),
            since_room: ROOM_LASTS,
        }
    }

    /// Whether the next batch has to wait for the first one.
    pub(super) fn is_full(&self) -> bool {
        self.batches.len() >= self.most
    }

    /// Begins to decode a batch of items, which have this size in total. Small batches are decoded in this
    /// call.
    pub(super) fn push<T: Send + 'static>(
        &mut self,
        items: Vec<T>,
        bytes: usize,
        decode: impl Fn(T) -> E + Send + 'static,
    ) {
        let is_large = self.on.threshold().is_some_and(|threshold| bytes > threshold);
        let batch = match is_large {
            true => Batch::Running(offload::start(move || decode_many(items, bytes, decode))),
            false => {
                self.make_room_for(bytes);
                Batch::Decoded(items.into_iter().map(decode).collect())
            }
        };
        self.batches.push_back(batch);
    }

    /// Reserves memory before a small batch, such as one event of a watch, if the last reservation is used
    /// up.
    fn make_room_for(&mut self, bytes: usize) {
        if bytes >= WORTH_ROOM && self.since_room >= ROOM_LASTS {
            make_room();
            self.since_room = 0;
        }
        self.since_room = self.since_room.saturating_add(bytes);
    }

    /// Waits for the first batch. Returns `None` if there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Vec<E>> {
        if let Batch::Running(job) = self.batches.front_mut()? {
            let events = job.done().await;
            self.batches.pop_front();
            return Some(events);
        }
        match self.batches.pop_front() {
            Some(Batch::Decoded(events)) => Some(events),
            Some(Batch::Running(_)) | None => unreachable!("the first batch was decoded"),
        }
    }
}

/// Decodes a large batch, on a thread of its own.
fn decode_many<T, E>(items: Vec<T>, bytes: usize, decode: impl Fn(T) -> E) -> Vec<E> {
    let average = (bytes / items.len().max(1)).max(1);
    let stride = (ROOM_LASTS / average).max(1);
    let decode = |(number, item): (usize, T)| {
        if number.is_multiple_of(stride) {
            make_room();
        }
        decode(item)
    };
    items.into_iter().enumerate().map(decode).collect()
}

/// What [`make_room`] reserves, below the size from which glibc maps a block of its own (128 KiB).
const ROOM: usize = 96 * 1024;

/// How many bytes of a response are decoded between two reservations. A decoded Pod takes four times its size
/// in protobuf, and three times that in JSON.
const ROOM_LASTS: usize = 24 * 1024;

/// A smaller batch takes no more than a page or two.
const WORTH_ROOM: usize = 1024;

/// Reserves memory for the next objects in one step.
///
/// glibc extends the heap of a thread by one page per system call, ten calls for a Pod and a fifth of the
/// processor time of a sync. A block that is freed at once stays in the heap as its free end, from which the
/// next small blocks are taken. Other allocators do little for it.
fn make_room() {
    if cfg!(target_env = "gnu") {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(ROOM)));
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt as _;

    use super::*;

    const LARGE: usize = 2_000;

    fn decoding(most: usize) -> Decoding<u32> {
        let mut decoding = Decoding::new(DecodeOn::BlockingPool { threshold: 1_000 });
        decoding.most = most;
        decoding
    }

    /// The first batch can only end while the second one is decoded as well.
    #[tokio::test]
    async fn batches_are_decoded_at_once_and_returned_in_order() {
        let mut decoding = decoding(3);
        let (second_runs, wait_for_second) = mpsc::channel();
        decoding.push(vec![1], LARGE, move |item| {
            wait_for_second.recv().expect("the second batch is decoded");
            item
        });
        decoding.push(vec![2], LARGE, move |item| {
            second_runs.send(()).expect("the first batch waits");
            item
        });
        decoding.push(vec![3], 1, |item| item);
        assert!(decoding.is_full());
        for expected in 1..=3 {
            assert_eq!(decoding.next().await, Some(vec![expected]));
        }
        assert_eq!(decoding.next().await, None);
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_nothing() {
        let mut decoding = decoding(2);
        let (go, wait) = mpsc::channel();
        decoding.push(vec![1], LARGE, move |item| {
            wait.recv().expect("the test continues");
            item
        });
        assert_eq!(decoding.next().now_or_never(), None);
        go.send(()).expect("the batch waits");
        assert_eq!(decoding.next().await, Some(vec![1]));
    }

    #[tokio::test]
    async fn a_large_batch_keeps_its_order() {
        let mut decoding = decoding(1);
        let items: Vec<u32> = (0..5_000).collect();
        decoding.push(items.clone(), 100 * LARGE, |item| item);
        assert_eq!(decoding.next().await, Some(items));
    }

    #[tokio::test]
    async fn a_small_batch_is_decoded_at_once() {
        let mut decoding = decoding(2);
        let here = std::thread::current().id();
        decoding.push(vec![1], 10, move |item| {
            assert_eq!(std::thread::current().id(), here);
            item
        });
        assert_eq!(decoding.next().now_or_never(), Some(Some(vec![1])));
    }
}
