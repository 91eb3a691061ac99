//! Rows of controllers, on a real server.

use super::{Goal, Group, Library, Needs, Pace, Program, Row, figure};

const CONTROLLERS: &[Library] = &[Library::Informers, Library::ControllerRuntime, Library::Kube];

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "latency",
        title: "from an update to the start of its reconcile",
        group: Group::Controllers,
        libraries: CONTROLLERS,
        needs: Needs::NewNamespace,
        program: Program::Plain,
        pace: Pace::Always,
        full: "latency --to reconcile --updates 1000",
        quick: "latency --to reconcile --updates 300",
        figures: &[
            figure(
                "from_request_median",
                "µs from the request, median",
                Goal::Smaller,
            ),
            figure("from_request_p99", "µs from the request, p99", Goal::Smaller),
            figure("from_answer_median", "µs from the answer, median", Goal::Shown),
            figure("from_answer_p99", "µs from the answer, p99", Goal::Shown),
        ],
    },
    Row {
        name: "start",
        title: "a fresh object during the initial reconciles of 1 ms",
        group: Group::Controllers,
        libraries: CONTROLLERS,
        needs: Needs::FilledNamespace,
        program: Program::Plain,
        pace: Pace::Always,
        full: "start --after 1000",
        quick: "start --after 200",
        figures: &[
            figure("position", "reconciles until it began", Goal::Smaller),
            figure("milliseconds", "ms from the request", Goal::Smaller),
        ],
    },
];
