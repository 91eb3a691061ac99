//! Lets other threads run after long reads.
//!
//! Reads never wait, so threads that read without pause would use all processors, and the threads that apply
//! changes would get a turn only when the system takes a processor away, which takes milliseconds. A change
//! needs several turns.

use std::cell::Cell;

/// A thread that has read so many objects gives way once. Reading them takes about a tenth of a millisecond,
/// and giving way less than a microsecond if no other thread waits for the processor.
const OBJECTS: usize = 50_000;

thread_local! {
    /// The number of objects that this thread has read since it gave way.
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// Counts objects that this thread has read, and gives way to other threads from time to time. Objects that
/// were compared with a selector count as well. The caller holds no lock and no snapshot.
pub(super) fn after_reading(objects: usize) {
    if is_due(objects) {
        std::thread::yield_now();
    }
}

/// How many objects this thread has read since it gave way.
#[cfg(test)]
pub(super) fn counted() -> usize {
    READ.get()
}

fn is_due(objects: usize) -> bool {
    READ.with(|read| {
        let total = read.get().saturating_add(objects);
        let is_due = total >= OBJECTS;
        read.set(if is_due { 0 } else { total });
        is_due
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_way_after_many_objects_in_any_number_of_reads() {
        assert!(is_due(OBJECTS), "one long read");
        assert!(!is_due(OBJECTS - 2));
        assert!(!is_due(0) && !is_due(1));
        assert!(is_due(1), "the sum counts");
        assert!(!is_due(1), "it begins again");
        assert!(is_due(usize::MAX));
    }
}
