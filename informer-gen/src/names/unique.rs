//! Gives every name once: names in use get a number.

use std::collections::{BTreeMap, BTreeSet};

/// The names in use. Each name is given once.
#[derive(Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// The next number for a name in use, so that a thousand equal names take a thousand steps.
    next: BTreeMap<String, u64>,
}

impl Names {
    /// Reserves a name.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// `name`, or the first of `name2`, `name3`, ... (with `joint` before the number) that is free.
    pub(crate) fn give(&mut self, name: &str, joint: &str) -> String {
        let mut given = name.to_owned();
        while !self.taken.insert(given.clone()) {
            let number = self.next.entry(name.to_owned()).or_insert(2);
            given = format!("{}{joint}{number}", name.trim_end_matches('_'));
            *number += 1;
        }
        given
    }
}
