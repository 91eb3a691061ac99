//! The rows: what is measured, with which libraries, and what the goal is.

use super::Size;

/// A library that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    Informers,
    ClientGo,
    ControllerRuntime,
    Kube,
}

impl Library {
    /// Its name in the report and on the command line of the programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Informers => "informers",
            Self::ClientGo => "client-go",
            Self::ControllerRuntime => "controller-runtime",
            Self::Kube => "kube-rs",
        }
    }
}

/// What a row needs beside its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A server, and a namespace that does not exist.
    NewNamespace,
    /// A server, and the namespace with many objects.
    FilledNamespace,
}

/// One measurement: a run of a program, which prints one or more figures.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// This library first.
    pub(super) libraries: &'static [Library],
    pub(super) needs: Needs,
    /// The row of the programs and its options, without the namespace.
    full: &'static str,
    quick: &'static str,
    pub(super) figures: &'static [Figure],
}

impl Row {
    pub(super) fn arguments(&self, size: Size) -> impl Iterator<Item = &'static str> {
        let arguments = match size {
            Size::Full => self.full,
            Size::Quick => self.quick,
        };
        arguments.split(' ')
    }
}

/// One number that a program prints.
pub(super) struct Figure {
    /// The name in the output of the programs.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) goal: Goal,
}

/// Which result is better than another library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Larger,
    Smaller,
    /// The number is documented, and has no goal.
    Shown,
}

/// The objects in the filled namespace.
pub(super) fn objects(size: Size) -> usize {
    match size {
        Size::Full => 10_000,
        Size::Quick => 2_000,
    }
}

const QUEUES: &[Library] = &[Library::Informers, Library::ClientGo];
const CONTROLLERS: &[Library] = &[Library::Informers, Library::ControllerRuntime, Library::Kube];
const OPERATIONS: &[Figure] = &[
    figure("operations_per_second", "operations per second", Goal::Larger),
    figure("additions_per_second", "additions per second", Goal::Shown),
    figure("taken", "keys taken", Goal::Shown),
];

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "queue-distinct-1",
        title: "queue: add, get and done of distinct keys, 1 worker",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "queue --workers 1 --additions 2000000 --distinct 2000000",
        quick: "queue --workers 1 --additions 500000 --distinct 500000",
        figures: OPERATIONS,
    },
    Row {
        name: "queue-distinct-10",
        title: "queue: add, get and done of distinct keys, 10 workers",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "queue --workers 10 --additions 2000000 --distinct 2000000",
        quick: "queue --workers 10 --additions 500000 --distinct 500000",
        figures: OPERATIONS,
    },
    Row {
        name: "queue-duplicates-1",
        title: "queue: additions of 1,000 keys in turn, 1 worker",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "queue --workers 1 --additions 5000000 --distinct 1000",
        quick: "queue --workers 1 --additions 1000000 --distinct 1000",
        figures: OPERATIONS,
    },
    Row {
        name: "queue-duplicates-10",
        title: "queue: additions of 1,000 keys in turn, 10 workers",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "queue --workers 10 --additions 5000000 --distinct 1000",
        quick: "queue --workers 10 --additions 1000000 --distinct 1000",
        figures: OPERATIONS,
    },
    Row {
        name: "memory",
        title: "queue: 1,000,000 keys",
        libraries: QUEUES,
        needs: Needs::Nothing,
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
    Row {
        name: "latency",
        title: "controller: from an update to the start of its reconcile",
        libraries: CONTROLLERS,
        needs: Needs::NewNamespace,
        full: "latency --updates 1000",
        quick: "latency --updates 300",
        figures: &[
            figure(
                "from_request_median",
                "µs from the request, median",
                Goal::Smaller,
            ),
            figure("from_request_p99", "µs from the request, p99", Goal::Smaller),
            figure("from_answer_median", "µs from the answer, median", Goal::Smaller),
            figure("from_answer_p99", "µs from the answer, p99", Goal::Smaller),
        ],
    },
    Row {
        name: "start",
        title: "controller: a fresh object during the initial reconciles of 1 ms",
        libraries: CONTROLLERS,
        needs: Needs::FilledNamespace,
        full: "start --after 1000",
        quick: "start --after 200",
        figures: &[
            figure("position", "reconciles until it began", Goal::Smaller),
            figure("milliseconds", "ms from the request", Goal::Smaller),
        ],
    },
];

const fn figure(name: &'static str, title: &'static str, goal: Goal) -> Figure {
    Figure { name, title, goal }
}
