//! `Fifo`: a plain queue of keys that remembers only the newest object of each.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::Closed;
use crate::key::ObjectKey;
use crate::sync::Mutex;

/// A queue of keys, each with its newest object. A pop returns the key that was queued first.
///
/// Upstream's plain FIFO: a deletion removes the key from the queue, and a key added again after it was
/// popped goes to the end. For consumers that need the current state and not every change. Its size is
/// bounded by the number of keys. Clones share one queue; any number of tasks may pop.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use informer_core::delta::Fifo;
/// use informer_core::ObjectKey;
///
/// let fifo = Fifo::new();
/// fifo.add(ObjectKey::cluster("a"), Arc::new(1));
/// fifo.add(ObjectKey::cluster("a"), Arc::new(2));
/// assert_eq!(*fifo.pop().await.unwrap().1, 2);
/// # });
/// ```
pub struct Fifo<K> {
    state: Arc<Mutex<FifoState<K>>>,
}

struct FifoState<K> {
    /// The newest object of each queued key, and the key's place in `line`.
    newest: HashMap<ObjectKey, (u64, Arc<K>)>,
    /// The keys by place. Places only grow: a deletion leaves a gap and keeps the order.
    line: BTreeMap<u64, ObjectKey>,
    next_place: u64,
    initial: Initial,
    closed: bool,
    poppers: Vec<Waker>,
}

/// How much of the first state was popped.
enum Initial {
    /// Nothing was ever queued.
    Unknown,
    /// These keys of the first replacement are still queued.
    Pending(HashSet<ObjectKey>),
    Done,
}

impl<K> FifoState<K> {
    fn put(&mut self, key: ObjectKey, object: Arc<K>) {
        match self.newest.entry(key) {
            // The key keeps its place.
            Entry::Occupied(mut waiting) => waiting.get_mut().1 = object,
            Entry::Vacant(vacant) => {
                self.line.insert(self.next_place, vacant.key().clone());
                vacant.insert((self.next_place, object));
                self.next_place += 1;
            }
        }
        self.wake();
    }

    fn wake(&mut self) {
        self.poppers.drain(..).for_each(Waker::wake);
    }

    fn popped(&mut self, key: &ObjectKey) {
        if let Initial::Pending(keys) = &mut self.initial {
            keys.remove(key);
            if keys.is_empty() {
                self.initial = Initial::Done;
            }
        }
    }
}

impl<K> Fifo<K> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            state: Arc::new(Mutex::new(FifoState {
                newest: HashMap::new(),
                line: BTreeMap::new(),
                next_place: 0,
                initial: Initial::Unknown,
                closed: false,
                poppers: Vec::new(),
            })),
        }
    }

    /// Queues an object, or replaces the queued object of its key.
    pub fn add(&self, key: ObjectKey, object: Arc<K>) {
        let mut state = self.state.lock();
        if matches!(state.initial, Initial::Unknown) {
            state.initial = Initial::Done;
        }
        state.put(key, object);
    }

    /// The same as [`add`](Self::add).
    pub fn update(&self, key: ObjectKey, object: Arc<K>) {
        self.add(key, object);
    }

    /// Removes a key from the queue. The consumer receives nothing for it.
    pub fn delete(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        if matches!(state.initial, Initial::Unknown) {
            state.initial = Initial::Done;
        }
        if let Some((place, _)) = state.newest.remove(key) {
            state.line.remove(&place);
            state.popped(key);
        }
    }

    /// Replaces everything queued with these objects.
    pub fn replace(&self, items: impl IntoIterator<Item = (ObjectKey, Arc<K>)>) {
        // The iterator is user code, so it does not run under the lock.
        let items: Vec<(ObjectKey, Arc<K>)> = items.into_iter().collect();
        let mut state = self.state.lock();
        state.newest.clear();
        state.line.clear();
        for (key, object) in items {
            state.put(key, object);
        }
        let waiting: HashSet<ObjectKey> = state.line.values().cloned().collect();
        if !matches!(state.initial, Initial::Done) {
            state.initial = if waiting.is_empty() {
                Initial::Done
            } else {
                Initial::Pending(waiting)
            };
        }
    }

    /// Queues every stored object whose key is not queued.
    ///
    /// As upstream's `Resync`, this changes nothing, because every operation keeps the key of each stored
    /// object queued. The order stays, and a popped key does not come back.
    pub fn resync(&self) {
        let mut state = self.state.lock();
        debug_assert_eq!(
            state.newest.len(),
            state.line.len(),
            "the key of each stored object is queued"
        );
        if !state.line.is_empty() {
            state.wake();
        }
    }

    /// Waits for the next key and its newest object; [`Closed`] once the queue is closed and empty.
    pub async fn pop(&self) -> Result<(ObjectKey, Arc<K>), Closed> {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            let Some((_, key)) = state.line.pop_first() else {
                if state.closed {
                    return Poll::Ready(Err(Closed));
                }
                if !state.poppers.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.poppers.push(cx.waker().clone());
                }
                return Poll::Pending;
            };
            let (_, object) = state
                .newest
                .remove(&key)
                .expect("a key is queued exactly while its object is stored");
            state.popped(&key);
            Poll::Ready(Ok((key, object)))
        })
        .await
    }

    /// Whether anything was queued and, if that was a replacement, all of it was popped.
    pub fn has_synced(&self) -> bool {
        matches!(self.state.lock().initial, Initial::Done)
    }

    /// The number of queued keys.
    pub fn len(&self) -> usize {
        self.state.lock().line.len()
    }

    /// Whether no key is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes the queue: every pop returns once it is empty.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.wake();
    }
}

impl<K> Default for Fifo<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for Fifo<K> {
    fn clone(&self) -> Self {
        Self {
            state: self.state.clone(),
        }
    }
}
