//! A number that stands for a UID.

use std::hash::BuildHasher;
use std::num::NonZeroU64;
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;

/// A hash of a UID. Two UIDs have the same one with a probability of 2^-64; the hash has a random key in each
/// process, so no server can choose such UIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UidTag(NonZeroU64);

impl UidTag {
    pub(super) fn of(uid: &str) -> Self {
        static KEY: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
        Self(NonZeroU64::new(KEY.hash_one(uid)).unwrap_or(NonZeroU64::MIN))
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_uids_have_equal_tags_and_others_do_not() {
        let uid = |number: u32| format!("6f1c2f5e-52f0-4c6a-9d3e-{number:012}");
        let tags: HashSet<u64> = (0..10_000)
            .map(|number| UidTag::of(&uid(number)).0.get())
            .collect();
        assert_eq!(tags.len(), 10_000);
        assert!(UidTag::of("") == UidTag::of("") && UidTag::of("") != UidTag::of("a"));
    }
}
