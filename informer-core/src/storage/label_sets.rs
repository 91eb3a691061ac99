//! The labels of packed objects, one copy per distinct set: the Pods of a Deployment have the same labels.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Distinct sets of labels that are in use.
#[derive(Default)]
pub(super) struct LabelSets {
    sets: HashSet<Arc<str>>,
    /// How many sets there may be before unused ones are removed.
    limit: usize,
}

/// The limit while few sets are in use.
const SMALLEST_LIMIT: usize = 256;

/// Ends each name and each value. No server accepts it in one.
const END: char = '\0';

impl LabelSets {
    /// The set of these labels.
    pub(super) fn intern(&mut self, labels: &BTreeMap<String, String>) -> Arc<str> {
        let size = labels.iter().map(|(name, value)| name.len() + value.len() + 2);
        let mut text = String::with_capacity(size.sum());
        for (name, value) in labels {
            text.push_str(name);
            text.push(END);
            text.push_str(value);
            text.push(END);
        }
        if let Some(set) = self.sets.get(text.as_str()) {
            return set.clone();
        }
        if self.sets.len() >= self.limit.max(SMALLEST_LIMIT) {
            self.sets.retain(|set| Arc::strong_count(set) > 1);
            // So that the cost of this is constant per set that was added.
            self.limit = 2 * self.sets.len();
        }
        let set: Arc<str> = text.into();
        self.sets.insert(set.clone());
        set
    }
}

/// Whether a set of these labels can be searched.
pub(super) fn is_representable(labels: &BTreeMap<String, String>) -> bool {
    labels
        .iter()
        .all(|(name, value)| !name.contains(END) && !value.contains(END))
}

/// The value of a label in a set.
pub(super) fn find<'s>(set: &'s str, name: &str) -> Option<&'s str> {
    let mut texts = set.split(END);
    while let (Some(found), Some(value)) = (texts.next(), texts.next()) {
        if found == name {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn equal_labels_are_one_set() {
        let mut sets = LabelSets::default();
        let first = sets.intern(&labels(&[("app", "web"), ("tier", "")]));
        let second = sets.intern(&labels(&[("tier", ""), ("app", "web")]));
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(find(&first, "app"), Some("web"));
        assert_eq!(find(&first, "tier"), Some(""));
        assert_eq!(find(&first, "web"), None);
        assert_eq!(find(&first, ""), None);
        assert!(is_representable(&labels(&[("app", "web")])));
        assert!(!is_representable(&labels(&[("app", "\0")])));
    }

    #[test]
    fn unused_sets_are_removed() {
        let mut sets = LabelSets::default();
        let kept = sets.intern(&labels(&[("app", "kept")]));
        for number in 0..10_000 {
            sets.intern(&labels(&[("app", &number.to_string())]));
        }
        assert!(sets.sets.len() <= SMALLEST_LIMIT + 1, "{} sets", sets.sets.len());
        assert!(sets.sets.contains(&*kept));
    }
}
