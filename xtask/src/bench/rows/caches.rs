//! Rows of caches that read from a server: sync, heap, relist, latency, idle informers, growth.

use super::{
    AHEAD, Figure, Goal, Group, Library, Needs, Pace, PodSize, Program, Row, bars, client_go, figure, own,
    value,
};

const CACHES: &[Library] = &[Library::Informers, Library::ClientGo, Library::Kube];
const WITHOUT_KUBE: &[Library] = &[Library::Informers, Library::ClientGo];
const ALLOCATORS: &[Library] = &[
    Library::Informers,
    Library::ClientGo,
    Library::System,
    Library::Mimalloc,
];

/// The bars of growth: 16 times as many objects must not take much more per object. A get may take the time
/// of a deeper tree and of memory that is not in the processor's cache.
const SMALLEST: &str = "growth-1";

const SYNC: &[Figure] = &[
    bars(
        "cpu",
        "ms of processor time until synced",
        Goal::Smaller,
        &[client_go(0.5, 0.3), AHEAD],
    ),
    bars(
        "wall",
        "ms until synced",
        Goal::Smaller,
        &[client_go(1.0, 0.6), AHEAD],
    ),
    bars(
        "peak_rss",
        "MB, largest resident size",
        Goal::Smaller,
        &[client_go(1.15, 1.0), AHEAD],
    ),
    bars(
        "cpu_per_event",
        "µs of processor time per change",
        Goal::Smaller,
        &[client_go(0.6, 0.3), AHEAD],
    ),
];

const HEAP: &[Figure] = &[figure(
    "heap_per_object",
    "bytes of live heap per Pod",
    Goal::Shown,
)];

/// Only memory has a bar: packing is paid with processor time.
const PACKED: &[Figure] = &[
    figure("cpu", "ms of processor time until synced", Goal::Shown),
    figure("wall", "ms until synced", Goal::Shown),
    bars(
        "peak_rss",
        "MB, largest resident size",
        Goal::Smaller,
        &[client_go(0.25, 0.1)],
    ),
    figure("cpu_per_event", "µs of processor time per change", Goal::Shown),
];

const GROWTH: &[Figure] = &[
    figure("wall_per_object", "µs until synced, per Pod", Goal::Shown),
    bars(
        "cpu_per_object",
        "µs of processor time per Pod",
        Goal::Smaller,
        &[own(SMALLEST, 1.25)],
    ),
    bars(
        "user_per_object",
        "µs of it outside the kernel",
        Goal::Smaller,
        &[own(SMALLEST, 1.25)],
    ),
    bars(
        "rss_per_object",
        "KB resident per Pod",
        Goal::Smaller,
        &[own(SMALLEST, 1.1)],
    ),
    bars("get", "ns per get", Goal::Smaller, &[own(SMALLEST, 4.0)]),
    bars(
        "list",
        "µs per list of a namespace of 200",
        Goal::Smaller,
        &[own(SMALLEST, 4.0)],
    ),
];

const fn growth(name: &'static str, title: &'static str, full: &'static str, quick: &'static str) -> Row {
    Row {
        name,
        title,
        group: Group::Growth,
        libraries: WITHOUT_KUBE,
        needs: Needs::Replay(PodSize::Large),
        program: Program::Plain,
        pace: Pace::Always,
        full,
        quick,
        figures: GROWTH,
    }
}

const ALLOCATED: &[Figure] = &[
    figure("writes_per_second", "changes per second", Goal::Shown),
    figure("cpu_per_write", "µs of processor time per change", Goal::Shown),
];

/// A row of changes with several allocators. client-go has its own, so its result is shown as well.
const fn allocators(name: &'static str, title: &'static str, arguments: &'static str) -> Row {
    Row {
        name,
        title,
        group: Group::Allocators,
        libraries: ALLOCATORS,
        needs: Needs::Nothing,
        program: Program::Plain,
        pace: Pace::NotIfQuick,
        full: arguments,
        quick: arguments,
        figures: ALLOCATED,
    }
}

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "sync",
        title: "typical Pods into a cache, then their changes",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::Always,
        full: "sync --objects 20000 --updates 5000",
        quick: "sync --objects 3000 --updates 1000",
        figures: SYNC,
    },
    Row {
        name: "sync-json",
        title: "the same in JSON, as custom resources are read",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::Always,
        full: "sync --format json --objects 20000 --updates 5000",
        quick: "sync --format json --objects 3000 --updates 1000",
        figures: SYNC,
    },
    Row {
        name: "sync-large",
        title: "large Pods into a cache, then their changes",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Pods(PodSize::Large),
        program: Program::Plain,
        pace: Pace::Always,
        full: "sync --objects 20000 --updates 5000",
        quick: "sync --objects 3000 --updates 1000",
        figures: SYNC,
    },
    Row {
        name: "heap",
        title: "typical Pods in a cache",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Counting,
        pace: Pace::Always,
        full: "sync --objects 20000 --updates 0",
        quick: "sync --objects 3000 --updates 0",
        figures: HEAP,
    },
    Row {
        name: "heap-large",
        title: "large Pods in a cache",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Pods(PodSize::Large),
        program: Program::Counting,
        pace: Pace::Always,
        full: "sync --objects 20000 --updates 0",
        quick: "sync --objects 3000 --updates 0",
        figures: HEAP,
    },
    Row {
        name: "packed",
        title: "typical Pods into a packed cache, then their changes",
        group: Group::Sync,
        libraries: WITHOUT_KUBE,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::Always,
        full: "sync --storage packed --objects 20000 --updates 5000",
        quick: "sync --storage packed --objects 3000 --updates 1000",
        figures: PACKED,
    },
    Row {
        name: "packed-heap",
        title: "typical Pods in a packed cache",
        group: Group::Sync,
        libraries: WITHOUT_KUBE,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Counting,
        pace: Pace::Always,
        full: "sync --storage packed --objects 20000 --updates 0",
        quick: "sync --storage packed --objects 3000 --updates 0",
        figures: &[bars(
            "heap_per_object",
            "bytes of live heap per Pod",
            Goal::Smaller,
            &[client_go(0.15, 0.05)],
        )],
    },
    Row {
        name: "relist",
        title: "relists of an unchanged set of large Pods",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Replay(PodSize::Large),
        program: Program::Plain,
        pace: Pace::Always,
        full: "relist --objects 20000 --relists 3",
        quick: "relist --objects 3000 --relists 3",
        figures: &[
            bars(
                "peak_over_steady",
                "largest resident size over the steady one",
                Goal::Smaller,
                &[value(1.15, Some(1.05))],
            ),
            figure("steady_rss", "MB, steady", Goal::Shown),
            figure("cpu", "ms of processor time per relist", Goal::Smaller),
            figure("wall", "ms per relist", Goal::Shown),
        ],
    },
    Row {
        name: "churn",
        title: "typical Pods, each of which has changed twice",
        group: Group::Sync,
        libraries: CACHES,
        needs: Needs::Replay(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::Always,
        full: "churn --objects 20000 --updates 40000",
        quick: "churn --objects 3000 --updates 6000",
        figures: &[
            bars(
                "rss",
                "MB, resident size after the changes",
                Goal::Smaller,
                &[client_go(1.15, 1.0), AHEAD],
            ),
            figure("synced_rss", "MB, before them", Goal::Shown),
            figure("cpu_per_event", "µs of processor time per change", Goal::Smaller),
        ],
    },
    Row {
        name: "notice",
        title: "from an update to the call of a handler",
        group: Group::Latency,
        libraries: CACHES,
        needs: Needs::NewNamespace,
        program: Program::Plain,
        pace: Pace::Always,
        full: "latency --to handler --updates 1000",
        quick: "latency --to handler --updates 300",
        figures: &[
            bars(
                "from_request_median",
                "µs from the request, median",
                Goal::Smaller,
                &[client_go(1.0, 0.7), AHEAD],
            ),
            bars(
                "from_request_p99",
                "µs from the request, p99",
                Goal::Smaller,
                &[client_go(1.0, 0.7), AHEAD],
            ),
            figure("from_answer_median", "µs from the answer, median", Goal::Shown),
            figure("from_answer_p99", "µs from the answer, p99", Goal::Shown),
        ],
    },
    Row {
        name: "idle",
        title: "100 idle informers",
        group: Group::Idle,
        libraries: CACHES,
        needs: Needs::NewNamespace,
        program: Program::Plain,
        pace: Pace::Always,
        full: "idle --informers 100",
        quick: "idle --informers 100",
        figures: &[
            bars(
                "above_first",
                "MB above the first one",
                Goal::Smaller,
                &[value(15.0, None)],
            ),
            bars("connections", "connections", Goal::Smaller, &[value(3.0, None)]),
            figure("first", "MB with one informer", Goal::Shown),
            figure("cpu", "ms of processor time per second", Goal::Shown),
        ],
    },
    growth(
        SMALLEST,
        "10,000 Pods (quick: 2,000)",
        "growth --objects 10000",
        "growth --objects 2000",
    ),
    growth(
        "growth-4",
        "40,000 Pods (quick: 8,000)",
        "growth --objects 40000",
        "growth --objects 8000",
    ),
    growth(
        "growth-16",
        "160,000 Pods (quick: 32,000)",
        "growth --objects 160000",
        "growth --objects 32000",
    ),
    Row {
        name: "allocators-sync",
        title: "typical Pods into a cache, then their changes",
        group: Group::Allocators,
        libraries: ALLOCATORS,
        needs: Needs::Pods(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::NotIfQuick,
        full: "sync --objects 20000 --updates 5000",
        quick: "sync --objects 3000 --updates 1000",
        figures: &[
            figure("cpu", "ms of processor time until synced", Goal::Shown),
            figure("wall", "ms until synced", Goal::Shown),
            figure("peak_rss", "MB, largest resident size", Goal::Shown),
            figure("cpu_per_event", "µs of processor time per change", Goal::Shown),
        ],
    },
    Row {
        name: "allocators-churn",
        title: "typical Pods, each of which has changed twice",
        group: Group::Allocators,
        libraries: ALLOCATORS,
        needs: Needs::Replay(PodSize::Typical),
        program: Program::Plain,
        pace: Pace::NotIfQuick,
        full: "churn --objects 20000 --updates 40000",
        quick: "churn --objects 3000 --updates 6000",
        figures: &[
            figure("rss", "MB, resident size after the changes", Goal::Shown),
            figure("cpu_per_event", "µs of processor time per change", Goal::Shown),
        ],
    },
    allocators(
        "allocators-updates-10",
        "changes without a server, 10 in flight",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 0 --milliseconds 3000",
    ),
    allocators(
        "allocators-updates-1000",
        "changes without a server, 1,000 in flight",
        "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 3000",
    ),
];
