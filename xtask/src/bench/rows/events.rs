//! Rows of events and reads, through an informer without a server.

use super::{Figure, Goal, Group, Library, Needs, Pace, Program, Row, bars, client_go, figure, own};

const LIBRARIES: &[Library] = &[Library::Informers, Library::ClientGo];

const fn row(
    name: &'static str,
    title: &'static str,
    full: &'static str,
    quick: &'static str,
    figures: &'static [Figure],
) -> Row {
    Row {
        name,
        title,
        group: Group::Events,
        libraries: LIBRARIES,
        needs: Needs::Nothing,
        program: Program::Plain,
        pace: Pace::Always,
        full,
        quick,
        figures,
    }
}

const CPU: Figure = figure("cpu_per_write", "µs of processor time per change", Goal::Shown);
const READS: &str = "reads of 10,000 objects per second";
const CALL: &str = "µs of processor time per call of a handler";

pub(super) const ROWS: &[Row] = &[
    row(
        "updates-10",
        "10 changes in flight",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 0 --milliseconds 3000",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 0 --milliseconds 1000",
        &[
            bars(
                "writes_per_second",
                "changes per second",
                Goal::Larger,
                &[client_go(1.0, 2.0)],
            ),
            CPU,
        ],
    ),
    row(
        "updates-1000",
        "1,000 changes in flight",
        "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 3000",
        "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 1000",
        &[
            bars(
                "writes_per_second",
                "changes per second",
                Goal::Larger,
                &[client_go(2.0, 4.0)],
            ),
            CPU,
        ],
    ),
    row(
        "readers-1",
        "10 changes in flight, 1 reader of the namespace",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 1 --milliseconds 3000",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 1 --milliseconds 1000",
        &[
            figure("writes_per_second", "changes per second", Goal::Larger),
            figure("reads_per_second", READS, Goal::Larger),
        ],
    ),
    row(
        "readers-10",
        "10 changes in flight, 10 readers of the namespace",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 10 --milliseconds 3000",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 10 --milliseconds 1000",
        &[
            bars(
                "writes_per_second",
                "changes per second",
                Goal::Larger,
                &[client_go(80.0, 150.0)],
            ),
            bars("reads_per_second", READS, Goal::Larger, &[client_go(4.0, 10.0)]),
        ],
    ),
    row(
        "readers-80",
        "10 changes in flight, 80 readers of the namespace",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 80 --milliseconds 5000",
        "updates --objects 10000 --handlers 1 --in-flight 10 --readers 80 --milliseconds 2000",
        &[
            bars(
                "writes_per_second",
                "changes per second",
                Goal::Larger,
                &[client_go(80.0, 400.0)],
            ),
            bars("reads_per_second", READS, Goal::Larger, &[client_go(4.0, 10.0)]),
        ],
    ),
    row(
        "gets",
        "single reads while 10 changes are in flight",
        "updates --objects 10000 --in-flight 10 --readers 1 --getters 1 --milliseconds 3000",
        "updates --objects 10000 --in-flight 10 --readers 1 --getters 1 --milliseconds 1000",
        &[
            figure("get_median", "µs, median", Goal::Shown),
            bars("get_p99", "µs, p99", Goal::Smaller, &[client_go(0.2, 0.1)]),
        ],
    ),
    row(
        "handlers-1",
        "1,000 changes in flight, 1 handler",
        "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 3000",
        "updates --objects 10000 --handlers 1 --in-flight 1000 --readers 0 --milliseconds 1000",
        &[bars("cpu_per_call", CALL, Goal::Smaller, &[client_go(1.0, 0.5)])],
    ),
    row(
        "handlers-100",
        "1,000 changes in flight, 100 handlers",
        "updates --objects 10000 --handlers 100 --in-flight 1000 --readers 0 --milliseconds 3000",
        "updates --objects 10000 --handlers 100 --in-flight 1000 --readers 0 --milliseconds 1000",
        // Flat: a handler among 100 costs no more than a single one.
        &[bars(
            "cpu_per_call",
            CALL,
            Goal::Smaller,
            &[client_go(1.0, 0.5), own("handlers-1", 1.0)],
        )],
    ),
];
