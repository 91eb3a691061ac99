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
    /// A server, the namespace with many Pods, and a program that changes them.
    Pods,
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
    /// How many times client-go's result ours has to reach: at least, if the goal is a larger number, and at
    /// most, if it is a smaller one. Other libraries must not be ahead.
    pub(super) bar: f64,
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

/// The Pods of the rows that need many.
pub(super) fn pods(size: Size) -> usize {
    match size {
        Size::Full => 20_000,
        Size::Quick => 3_000,
    }
}

const CACHES: &[Library] = &[Library::Informers, Library::ClientGo, Library::Kube];
const QUEUES: &[Library] = &[Library::Informers, Library::ClientGo];
const CONTROLLERS: &[Library] = &[Library::Informers, Library::ControllerRuntime, Library::Kube];
const OPERATIONS: &[Figure] = &[
    figure("operations_per_second", "operations per second", Goal::Larger),
    figure("additions_per_second", "additions per second", Goal::Shown),
    figure("taken", "keys taken", Goal::Shown),
];

const UPDATES: &[Figure] = &[
    figure("writes_per_second", "changes per second", Goal::Larger),
    figure("cpu_per_write", "µs of processor time per change", Goal::Shown),
];
const READERS: &[Figure] = &[
    figure("writes_per_second", "changes per second", Goal::Larger),
    figure(
        "reads_per_second",
        "reads of 10,000 objects per second",
        Goal::Larger,
    ),
];
const MANY_READERS: &[Figure] = &[
    bar("writes_per_second", "changes per second", Goal::Larger, 80.0),
    bar(
        "reads_per_second",
        "reads of 10,000 objects per second",
        Goal::Larger,
        4.0,
    ),
];
const CALLS: &[Figure] = &[figure(
    "cpu_per_call",
    "µs of processor time per call of a handler",
    Goal::Smaller,
)];

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
    Row {
        name: "sync",
        title: "all Pods into a cache, then their changes",
        libraries: CACHES,
        needs: Needs::Pods,
        full: "sync --objects 20000 --updates 5000",
        quick: "sync --objects 3000 --updates 1000",
        figures: &[
            bar("cpu", "ms of processor time until synced", Goal::Smaller, 0.5),
            figure("wall", "ms until synced", Goal::Smaller),
            bar("peak_rss", "MB, largest resident size", Goal::Smaller, 1.15),
            bar(
                "cpu_per_event",
                "µs of processor time per change",
                Goal::Smaller,
                0.6,
            ),
            figure("heap_per_object", "bytes of live heap per Pod", Goal::Shown),
        ],
    },
    Row {
        name: "updates-10",
        title: "informer without a server: 10 changes in flight",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 0 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 0 --milliseconds 1000",
        figures: UPDATES,
    },
    Row {
        name: "updates-1000",
        title: "informer without a server: 1,000 changes in flight",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 1000",
        figures: &[
            bar("writes_per_second", "changes per second", Goal::Larger, 2.0),
            figure("cpu_per_write", "µs of processor time per change", Goal::Shown),
        ],
    },
    Row {
        name: "readers-1",
        title: "informer without a server: 10 changes in flight, 1 reader of the namespace",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 1 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 1 --milliseconds 1000",
        figures: READERS,
    },
    Row {
        name: "readers-10",
        title: "informer without a server: 10 changes in flight, 10 readers of the namespace",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 10 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 10 --milliseconds 1000",
        figures: MANY_READERS,
    },
    Row {
        name: "readers-80",
        title: "informer without a server: 10 changes in flight, 80 readers of the namespace",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 80 --milliseconds 5000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 10 --readers 80 --milliseconds 2000",
        figures: MANY_READERS,
    },
    Row {
        name: "gets",
        title: "informer without a server: single reads while 10 changes are in flight",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --in-flight 10 --readers 1 --getters 1 --milliseconds 3000",
        quick: "updates --objects 10000 --in-flight 10 --readers 1 --getters 1 --milliseconds 1000",
        figures: &[
            figure("get_median", "µs, median", Goal::Shown),
            bar("get_p99", "µs, p99", Goal::Smaller, 0.2),
        ],
    },
    Row {
        name: "handlers-1",
        title: "informer without a server: 1,000 changes in flight, 1 handler",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 1000",
        figures: CALLS,
    },
    Row {
        name: "handlers-100",
        title: "informer without a server: 1,000 changes in flight, 100 handlers",
        libraries: QUEUES,
        needs: Needs::Nothing,
        full: "updates --objects 10000 --handlers 100 --in-flight 1000 --readers 0 --milliseconds 3000",
        quick: "updates --objects 10000 --handlers 100 --in-flight 1000 --readers 0 --milliseconds 1000",
        figures: CALLS,
    },
];

const fn figure(name: &'static str, title: &'static str, goal: Goal) -> Figure {
    bar(name, title, goal, 1.0)
}

const fn bar(name: &'static str, title: &'static str, goal: Goal, bar: f64) -> Figure {
    Figure {
        name,
        title,
        goal,
        bar,
    }
}
