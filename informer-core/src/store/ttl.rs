//! A store whose objects expire: client-go's expiration cache.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::key::ObjectKey;

/// The time source of a [`TtlStore`].
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Instant;
}

/// The system clock, or tokio's clock in tests that pause it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// A small cache whose objects expire a fixed time after they were last inserted.
///
/// Nothing runs in the background: [`get`](Self::get) and [`list`](Self::list) drop the expired objects
/// they find. An object that is never read stays. For objects sent by a server, use an
/// [`Indexer`](super::Indexer).
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use informer_core::{ObjectKey, store::TtlStore};
///
/// let store = TtlStore::new(Some(Duration::from_secs(60)));
/// store.upsert(ObjectKey::cluster("node-1"), Arc::new("seen"));
/// assert_eq!(store.get(&ObjectKey::cluster("node-1")).as_deref(), Some(&"seen"));
/// ```
pub struct TtlStore<K, C = SystemClock> {
    /// How long an object lives; `None` means forever.
    ttl: Option<Duration>,
    clock: C,
    entries: Mutex<TtlEntries<K>>,
}

type TtlEntries<K> = BTreeMap<ObjectKey, TtlEntry<K>>;

struct TtlEntry<K> {
    object: Arc<K>,
    since: Instant,
}

impl<K> TtlStore<K> {
    /// Creates a store whose objects expire when they are older than `ttl`; with `None` they never do. An
    /// object whose age is exactly `ttl` has not expired. As in client-go, a TTL of zero means never.
    pub fn new(ttl: Option<Duration>) -> Self {
        Self::with_clock(ttl, SystemClock)
    }
}

impl<K, C: Clock> TtlStore<K, C> {
    /// Like [`new`](TtlStore::new), with a custom clock.
    pub fn with_clock(ttl: Option<Duration>, clock: C) -> Self {
        Self {
            ttl: ttl.filter(|ttl| !ttl.is_zero()),
            clock,
            entries: Mutex::default(),
        }
    }

    /// Inserts an object, with its age starting now, and returns the one it replaces, expired or not.
    pub fn upsert(&self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        let since = self.clock.now();
        self.entries()
            .insert(key, TtlEntry { object, since })
            .map(|entry| entry.object)
    }

    /// Removes an object, expired or not.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.entries().remove(key).map(|entry| entry.object)
    }

    /// Replaces all objects. If a key occurs twice, the last one wins.
    pub fn replace(&self, objects: impl IntoIterator<Item = (ObjectKey, Arc<K>)>) {
        let since = self.clock.now();
        let entries = objects
            .into_iter()
            .map(|(key, object)| (key, TtlEntry { object, since }))
            .collect();
        let old = std::mem::replace(&mut *self.entries(), entries);
        drop(old);
    }

    /// The object under a key. Drops it and returns `None` if it has expired.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let now = self.clock.now();
        let mut entries = self.entries();
        let entry = entries.get(key)?;
        if self.is_alive(entry, now) {
            return Some(entry.object.clone());
        }
        entries.remove(key);
        None
    }

    /// The objects that have not expired, ordered by key. Drops the others.
    pub fn list(&self) -> Vec<Arc<K>> {
        let now = self.clock.now();
        let mut entries = self.entries();
        entries.retain(|_, entry| self.is_alive(entry, now));
        entries.values().map(|entry| entry.object.clone()).collect()
    }

    /// All keys in order, including those of expired objects that were not read.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.entries().keys().cloned().collect()
    }

    fn is_alive(&self, entry: &TtlEntry<K>, now: Instant) -> bool {
        self.ttl
            .is_none_or(|ttl| now.saturating_duration_since(entry.since) <= ttl)
    }

    /// Only an object's own `Drop` can panic under this lock, and then the map is already consistent.
    fn entries(&self) -> MutexGuard<'_, TtlEntries<K>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, C: Clock> fmt::Debug for TtlStore<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtlStore")
            .field("ttl", &self.ttl)
            .field("keys", &self.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);
    const TICK: Duration = Duration::from_nanos(1);

    /// A clock that tests advance.
    #[derive(Clone)]
    struct Manual(Arc<Mutex<Instant>>);

    impl Manual {
        fn advance(&self, by: Duration) {
            *self.0.lock().unwrap() += by;
        }
    }

    impl Clock for Manual {
        fn now(&self) -> Instant {
            *self.0.lock().unwrap()
        }
    }

    fn store(ttl: Option<Duration>) -> (TtlStore<&'static str, Manual>, Manual) {
        let clock = Manual(Arc::new(Mutex::new(Instant::now())));
        (TtlStore::with_clock(ttl, clock.clone()), clock)
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("ns", name)
    }

    fn names(keys: &[ObjectKey]) -> Vec<&str> {
        keys.iter().map(ObjectKey::name).collect()
    }

    /// Upstream: TestTTLPolicy.
    #[test]
    fn an_object_lives_until_it_is_older_than_the_ttl() {
        let check = |ttl, age, is_alive| {
            let (store, clock) = store(ttl);
            store.upsert(key("a"), Arc::new("a"));
            clock.advance(age);
            assert_eq!(
                store.get(&key("a")).is_some(),
                is_alive,
                "ttl {ttl:?}, age {age:?}"
            );
        };
        check(Some(TTL), TTL - TICK, true);
        check(Some(TTL), TTL, true);
        check(Some(TTL), TTL + TICK, false);
        check(None, TTL * 1000, true);
    }

    /// Upstream: TestTTLExpirationBasic.
    #[test]
    fn get_drops_an_expired_object_and_keys_does_not() {
        let (store, clock) = store(Some(TTL));
        store.upsert(key("a"), Arc::new("a"));
        clock.advance(TTL + TICK);
        assert_eq!(names(&store.keys()), ["a"]);
        assert_eq!(store.get(&key("a")), None);
        assert_eq!(names(&store.keys()), [""; 0]);
    }

    /// Upstream: TestReAddExpiredItem.
    #[test]
    fn an_object_inserted_again_has_its_full_ttl() {
        let (store, clock) = store(Some(TTL));
        store.upsert(key("a"), Arc::new("old"));
        clock.advance(TTL + TICK);
        store.upsert(key("a"), Arc::new("new"));
        clock.advance(TTL);
        assert_eq!(store.get(&key("a")).as_deref(), Some(&"new"));
    }

    /// Upstream: TestTTLList.
    #[test]
    fn list_returns_live_objects_and_drops_the_others() {
        let (store, clock) = store(Some(TTL));
        store.upsert(key("old"), Arc::new("old"));
        clock.advance(TTL);
        store.upsert(key("young"), Arc::new("young"));
        clock.advance(TICK);
        assert_eq!(store.list(), [Arc::new("young")]);
        assert_eq!(names(&store.keys()), ["young"]);
    }

    #[test]
    fn replace_restarts_every_ttl() {
        let (store, clock) = store(Some(TTL));
        store.upsert(key("gone"), Arc::new("gone"));
        clock.advance(TTL);
        store.replace([
            (key("a"), Arc::new("first")),
            (key("a"), Arc::new("last")),
            (key("b"), Arc::new("b")),
        ]);
        clock.advance(TTL);
        assert_eq!(store.list(), [Arc::new("last"), Arc::new("b")]);
        assert_eq!(store.remove(&key("a")).as_deref(), Some(&"last"));
        assert_eq!(names(&store.keys()), ["b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_clock_is_tokio_s() {
        let store = TtlStore::new(Some(TTL));
        store.upsert(key("a"), Arc::new("a"));
        tokio::time::advance(TTL).await;
        assert!(store.get(&key("a")).is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(store.get(&key("a")).is_none());
    }
}
