//! The keys of a tree node: packed text for object keys, a plain slice for index values.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::store::key_ref::KeyRef;

/// The ordered keys of one node. A clone shares them; every change creates a new block.
pub(in crate::store) trait Keys: Clone {
    /// One key, borrowed.
    type Ref<'a>: Copy
    where
        Self: 'a;

    /// The maximum number of keys in a leaf. A change copies a leaf, which touches the reference count of
    /// every entry, most of them not in the processor's cache. Larger leaves make changes slower, smaller
    /// ones make walks over many objects slower.
    const LEAF: usize;

    /// Packs keys that are already in order.
    fn collect<'a>(keys: &[Self::Ref<'a>]) -> Self
    where
        Self: 'a;
    fn len(&self) -> usize;
    fn get(&self, at: usize) -> Self::Ref<'_>;
    /// The position of the key, or the position to insert it at.
    fn find(&self, key: Self::Ref<'_>) -> Result<usize, usize>;
    fn insert(&mut self, at: usize, key: Self::Ref<'_>);
    fn remove(&mut self, at: usize);
    /// Keeps the keys before `at` and returns the rest.
    fn split_off(&mut self, at: usize) -> Self;
    fn append(&mut self, other: &Self);
}

/// Object keys in one allocation, without the namespace if all keys share it.
///
/// Layout, numbers of four bytes: `shared`, `count`, `prefix`, the end of each entry; then the heads of eight
/// bytes, then the text. With a shared namespace, `shared` is its length, the text begins with it, and an
/// entry is a name. All names begin with the same `prefix` bytes, and the head of a name is what follows. A
/// search compares heads as numbers, and names only if their heads are equal. Otherwise `shared` is `MIXED`,
/// there are no heads, and an entry is the length of its namespace, the namespace and the name. Names are
/// contiguous, so that a key can be read in place.
#[derive(Clone)]
pub(in crate::store) struct Packed(Arc<[u8]>);

const MIXED: u32 = u32::MAX;
const WORD: usize = 4;
const HEADER: usize = 3 * WORD;
const HEAD: usize = 8;

impl Packed {
    fn word(&self, at: usize) -> usize {
        let mut word = [0; WORD];
        word.copy_from_slice(&self.0[at..at + WORD]);
        u32::from_le_bytes(word) as usize
    }

    fn is_mixed(&self) -> bool {
        self.word(0) == MIXED as usize
    }

    /// The offset of the heads.
    fn heads(&self) -> usize {
        HEADER + WORD * self.len()
    }

    /// The offset of the text.
    fn text(&self) -> usize {
        match self.is_mixed() {
            true => self.heads(),
            false => self.heads() + HEAD * self.len(),
        }
    }

    /// The namespace that all keys share, or `None`.
    fn shared(&self) -> Option<&[u8]> {
        let text = self.text();
        (!self.is_mixed()).then(|| &self.0[text..text + self.word(0)])
    }

    fn head(&self, at: usize) -> u64 {
        let start = self.heads() + HEAD * at;
        let mut head = [0; HEAD];
        head.copy_from_slice(&self.0[start..start + HEAD]);
        u64::from_le_bytes(head)
    }

    fn entry(&self, at: usize, first: usize) -> &[u8] {
        let start = if at == 0 {
            0
        } else {
            self.word(HEADER + WORD * (at - 1))
        };
        let end = self.word(HEADER + WORD * at);
        &self.0[first + start..first + end]
    }

    fn pack<'a>(keys: impl Iterator<Item = KeyRef<'a>> + Clone) -> Self {
        let count = keys.clone().count();
        let mut namespaces = keys.clone().map(|key| key.namespace);
        let first = namespaces.next().unwrap_or_default();
        let is_shared = namespaces.all(|namespace| namespace == first);
        let size = |key: KeyRef<'_>| key.name.len() + if is_shared { 0 } else { WORD + key.namespace.len() };

        let text: usize = keys.clone().map(size).sum();
        let (shared, heads) = if is_shared {
            (first, HEAD * count)
        } else {
            (&[][..], 0)
        };
        let mut block = Vec::with_capacity(HEADER + WORD * count + heads + shared.len() + text);
        block.extend(if is_shared {
            word(shared.len())
        } else {
            MIXED.to_le_bytes()
        });
        block.extend(word(count));
        let prefix = common_prefix(keys.clone().map(|key| key.name));
        block.extend(word(prefix));
        let mut end = 0;
        for key in keys.clone() {
            end += size(key);
            block.extend(word(end));
        }
        if is_shared {
            block.extend(
                keys.clone()
                    .flat_map(|key| head(&key.name[prefix..]).to_le_bytes()),
            );
        }
        block.extend(shared);
        for key in keys {
            if !is_shared {
                block.extend(word(key.namespace.len()));
                block.extend(key.namespace);
            }
            block.extend(key.name);
        }
        Self(block.into())
    }

    fn iter(&self) -> impl Iterator<Item = KeyRef<'_>> + Clone {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The position of a name among names of one namespace, which begin at the offset `first`.
    fn find_name(&self, name: &[u8], first: usize) -> Result<usize, usize> {
        let (count, prefix) = (self.len(), self.word(2 * WORD));
        let (start, rest) = name.split_at(prefix.min(name.len()));
        match start.cmp(&self.0[first..first + prefix]) {
            Ordering::Less => return Err(0),
            Ordering::Greater => return Err(count),
            Ordering::Equal => {}
        }
        let head = head(rest);
        let low = partition(0, count, |at| self.head(at) < head);
        if low == count || self.head(low) != head {
            return Err(low);
        }
        let high = partition(low, count, |at| self.head(at) == head);
        search(low, high, |at| self.entry(at, first)[prefix..].cmp(rest))
    }
}

/// The length of the prefix that all names share, which are in order.
fn common_prefix<'a>(mut names: impl Iterator<Item = &'a [u8]>) -> usize {
    let first = names.next().unwrap_or_default();
    let last = names.last().unwrap_or(first);
    let pairs = first.iter().zip(last);
    pairs.take_while(|(this, that)| this == that).count()
}

/// The first eight bytes as a number: of two texts, the smaller one has no larger head.
fn head(text: &[u8]) -> u64 {
    let mut head = [0; HEAD];
    let length = text.len().min(HEAD);
    head[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(head)
}

fn word(number: usize) -> [u8; WORD] {
    u32::try_from(number)
        .expect("the keys of one node are far below 4 GiB")
        .to_le_bytes()
}

impl Keys for Packed {
    type Ref<'a> = KeyRef<'a>;

    const LEAF: usize = 16;

    fn collect<'a>(keys: &[KeyRef<'a>]) -> Self
    where
        Self: 'a,
    {
        Self::pack(keys.iter().copied())
    }

    fn len(&self) -> usize {
        self.word(WORD)
    }

    fn get(&self, at: usize) -> KeyRef<'_> {
        if let Some(namespace) = self.shared() {
            return KeyRef {
                namespace,
                name: self.entry(at, self.text() + namespace.len()),
            };
        }
        let (length, text) = self.entry(at, self.text()).split_at(WORD);
        let mut word = [0; WORD];
        word.copy_from_slice(length);
        let (namespace, name) = text.split_at(u32::from_le_bytes(word) as usize);
        KeyRef { namespace, name }
    }

    fn find(&self, key: KeyRef<'_>) -> Result<usize, usize> {
        let Some(namespace) = self.shared() else {
            return search(0, self.len(), |at| self.get(at).cmp(&key));
        };
        match namespace.cmp(key.namespace) {
            Ordering::Less => Err(self.len()),
            Ordering::Greater => Err(0),
            Ordering::Equal => self.find_name(key.name, self.text() + namespace.len()),
        }
    }

    fn insert(&mut self, at: usize, key: KeyRef<'_>) {
        *self = Self::pack(self.iter().take(at).chain([key]).chain(self.iter().skip(at)));
    }

    fn remove(&mut self, at: usize) {
        *self = Self::pack(self.iter().take(at).chain(self.iter().skip(at + 1)));
    }

    fn split_off(&mut self, at: usize) -> Self {
        let rest = Self::pack(self.iter().skip(at));
        *self = Self::pack(self.iter().take(at));
        rest
    }

    fn append(&mut self, other: &Self) {
        *self = Self::pack(self.iter().chain(other.iter()));
    }
}

/// Keys of any ordered type.
#[derive(Clone)]
pub(in crate::store) struct Plain<V>(Arc<[V]>);

impl<V> Plain<V> {
    /// Like [`Keys::find`], by any borrowed form of the key.
    pub(in crate::store) fn find_borrowed<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        V: Borrow<Q>,
    {
        search(0, self.0.len(), |at| self.0[at].borrow().cmp(key))
    }
}

impl<V: Ord + Clone> Keys for Plain<V> {
    type Ref<'a>
        = &'a V
    where
        V: 'a;

    const LEAF: usize = 32;

    fn collect<'a>(keys: &[&'a V]) -> Self
    where
        Self: 'a,
    {
        Self(keys.iter().map(|key| (*key).clone()).collect())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> &V {
        &self.0[at]
    }

    fn find(&self, key: &V) -> Result<usize, usize> {
        self.find_borrowed(key)
    }

    fn insert(&mut self, at: usize, key: &V) {
        self.0 = self.0[..at]
            .iter()
            .chain([key])
            .chain(&self.0[at..])
            .cloned()
            .collect();
    }

    fn remove(&mut self, at: usize) {
        self.0 = self.0[..at].iter().chain(&self.0[at + 1..]).cloned().collect();
    }

    fn split_off(&mut self, at: usize) -> Self {
        let rest = Self(self.0[at..].into());
        self.0 = self.0[..at].into();
        rest
    }

    fn append(&mut self, other: &Self) {
        self.0 = self.0.iter().chain(&*other.0).cloned().collect();
    }
}

/// Binary search over positions `low..high`; `compare` orders the key at a position against the sought one.
fn search(mut low: usize, mut high: usize, compare: impl Fn(usize) -> Ordering) -> Result<usize, usize> {
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}

/// The first of the positions `low..high` that is not `before`, which holds for the first ones only.
fn partition(mut low: usize, mut high: usize, before: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        match before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
