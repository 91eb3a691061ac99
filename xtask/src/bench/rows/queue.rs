//! Rows of the work queue.

use super::{Figure, Goal, Group, Library, Needs, Pace, Program, Row, figure};

const QUEUES: &[Library] = &[Library::Informers, Library::ClientGo];

const OPERATIONS: &[Figure] = &[
    figure("operations_per_second", "operations per second", Goal::Larger),
    figure("additions_per_second", "additions per second", Goal::Shown),
    figure("taken", "keys taken", Goal::Shown),
];

const fn row(name: &'static str, title: &'static str, full: &'static str, quick: &'static str) -> Row {
    Row {
        name,
        title,
        group: Group::Queue,
        libraries: QUEUES,
        needs: Needs::Nothing,
        program: Program::Plain,
        pace: Pace::Always,
        full,
        quick,
        figures: OPERATIONS,
    }
}

pub(super) const ROWS: &[Row] = &[
    row(
        "queue-distinct-1",
        "add, get and done of distinct keys, 1 worker",
        "queue --workers 1 --additions 2000000 --distinct 2000000",
        "queue --workers 1 --additions 500000 --distinct 500000",
    ),
    row(
        "queue-distinct-10",
        "add, get and done of distinct keys, 10 workers",
        "queue --workers 10 --additions 2000000 --distinct 2000000",
        "queue --workers 10 --additions 500000 --distinct 500000",
    ),
    row(
        "queue-duplicates-1",
        "additions of 1,000 keys in turn, 1 worker",
        "queue --workers 1 --additions 5000000 --distinct 1000",
        "queue --workers 1 --additions 1000000 --distinct 1000",
    ),
    row(
        "queue-duplicates-10",
        "additions of 1,000 keys in turn, 10 workers",
        "queue --workers 10 --additions 5000000 --distinct 1000",
        "queue --workers 10 --additions 1000000 --distinct 1000",
    ),
    Row {
        name: "memory",
        title: "1,000,000 keys",
        group: Group::Queue,
        libraries: QUEUES,
        needs: Needs::Nothing,
        program: Program::Counting,
        pace: Pace::Always,
        full: "memory --keys 1000000",
        quick: "memory --keys 1000000",
        figures: &[
            figure("bytes_per_key", "bytes per key", Goal::Smaller),
            figure(
                "bytes_per_low_priority_key",
                "bytes per low-priority key",
                Goal::Shown,
            ),
        ],
    },
];
