//! The rows: what is measured, with which libraries, and what the goal is.

mod caches;
mod controllers;
mod events;
mod queue;

use super::Size;

/// A library that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    Informers,
    ClientGo,
    ControllerRuntime,
    Kube,
    /// Informers, with the allocator of the system instead of jemalloc.
    System,
    /// Informers, with mimalloc instead.
    Mimalloc,
}

impl Library {
    /// All, in the order of the report.
    pub(super) const ALL: [Self; 6] = [
        Self::Informers,
        Self::ClientGo,
        Self::ControllerRuntime,
        Self::Kube,
        Self::System,
        Self::Mimalloc,
    ];

    /// Its name in the report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Informers => "informers",
            Self::ClientGo => "client-go",
            Self::ControllerRuntime => "controller-runtime",
            Self::Kube => "kube-rs",
            Self::System => "with the system's malloc",
            Self::Mimalloc => "with mimalloc",
        }
    }

    /// Its name on the command line of the programs.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::System | Self::Mimalloc => Self::Informers.name(),
            library => library.name(),
        }
    }
}

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Sync,
    Events,
    Latency,
    Idle,
    Growth,
    Queue,
    Controllers,
    Allocators,
}

impl Group {
    /// All, in the order of the report.
    pub(super) const ALL: [Self; 8] = [
        Self::Sync,
        Self::Events,
        Self::Latency,
        Self::Idle,
        Self::Growth,
        Self::Queue,
        Self::Controllers,
        Self::Allocators,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sync => "Initial sync and relist",
            Self::Events => "Events and reads",
            Self::Latency => "From a change to a handler",
            Self::Idle => "Idle informers",
            Self::Growth => "Growth",
            Self::Queue => "Work queue",
            Self::Controllers => "Controllers",
            Self::Allocators => "Allocators",
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
    /// A server, the namespace with many such Pods, and a program that changes them. The replay server does
    /// as well.
    Pods(PodSize),
    /// The replay server with such Pods.
    Replay(PodSize),
}

/// Which Pods are read. docs/bench/README.md describes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodSize {
    Typical,
    Large,
}

impl PodSize {
    pub(super) const ALL: [Self; 2] = [Self::Typical, Self::Large];

    /// Its name on the command line of the programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Typical => "typical",
            Self::Large => "large",
        }
    }

    /// The namespace of a real server that has such Pods.
    pub(super) fn namespace(self) -> &'static str {
        match self {
            Self::Typical => "pods-typical",
            Self::Large => "pods-large",
        }
    }
}

/// Which program measures this library and kube-rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Plain,
    /// Its allocator counts bytes, which takes time.
    Counting,
}

/// Which runs include a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Always,
    /// Runs with `--quick` have it only if it is named.
    NotIfQuick,
}

/// One measurement: a run of a program, which prints one or more figures.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) group: Group,
    /// This library first.
    pub(super) libraries: &'static [Library],
    pub(super) needs: Needs,
    pub(super) program: Program,
    pub(super) pace: Pace,
    /// The row of the programs and its options, without the namespace.
    full: &'static str,
    quick: &'static str,
    pub(super) figures: &'static [Figure],
}

impl Row {
    /// Whether an argument of the command line chooses this row: its name, or how it begins; after `=`,
    /// exactly its name.
    pub(super) fn is_chosen_by(&self, argument: &str) -> bool {
        match argument.strip_prefix('=') {
            Some(name) => self.name == name,
            None => self.name.starts_with(argument),
        }
    }

    pub(super) fn arguments(&self, size: Size) -> impl Iterator<Item = &'static str> {
        let arguments = match size {
            Size::Full => self.full,
            Size::Quick => self.quick,
        };
        arguments.split(' ')
    }

    /// The value of an option; `None` if the row does not have it.
    pub(super) fn option(&self, name: &str, size: Size) -> Option<&'static str> {
        self.arguments(size).skip_while(|option| *option != name).nth(1)
    }
}

/// One number that a program prints.
pub(super) struct Figure {
    /// The name in the output of the programs.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) goal: Goal,
    /// What has to be reached. All of them, to pass.
    pub(super) bars: &'static [Bar],
}

/// Which result is better than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Larger,
    Smaller,
    /// The number is documented, and has no goal.
    Shown,
}

/// How many times another result ours has to reach: at least, if the goal is a larger number, and at most, if
/// it is a smaller one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) against: Against,
    pub(super) bar: f64,
    pub(super) aim: Option<f64>,
}

/// The other result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    ClientGo,
    /// Each other library of the row; client-go only if no bar names it.
    OtherLibraries,
    /// None: ours is compared with the bar itself.
    Value,
    /// Our own result in another row.
    Row(&'static str),
}

const AHEAD: Bar = Bar {
    against: Against::OtherLibraries,
    bar: 1.0,
    aim: None,
};

/// A figure in which no other library may be ahead; without a goal, nothing is compared.
const fn figure(name: &'static str, title: &'static str, goal: Goal) -> Figure {
    bars(name, title, goal, &[AHEAD])
}

const fn bars(name: &'static str, title: &'static str, goal: Goal, bars: &'static [Bar]) -> Figure {
    Figure {
        name,
        title,
        goal,
        bars,
    }
}

const fn client_go(bar: f64, aim: f64) -> Bar {
    Bar {
        against: Against::ClientGo,
        bar,
        aim: Some(aim),
    }
}

const fn own(row: &'static str, bar: f64) -> Bar {
    Bar {
        against: Against::Row(row),
        bar,
        aim: None,
    }
}

const fn value(bar: f64, aim: Option<f64>) -> Bar {
    Bar {
        against: Against::Value,
        bar,
        aim,
    }
}

/// The objects in the filled namespace.
pub(super) fn objects(size: Size) -> usize {
    match size {
        Size::Full => 10_000,
        Size::Quick => 2_000,
    }
}

/// How many Pods the rows read that need many.
pub(super) fn pods(size: Size) -> usize {
    match size {
        Size::Full => 20_000,
        Size::Quick => 3_000,
    }
}

/// All rows, in the order in which they are measured.
pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    [queue::ROWS, controllers::ROWS, caches::ROWS, events::ROWS]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_bars_refer_to_rows() {
        let names: BTreeSet<_> = all().map(|row| row.name).collect();
        assert_eq!(names.len(), all().count());
        for bar in all().flat_map(|row| row.figures).flat_map(|figure| figure.bars) {
            if let Against::Row(name) = bar.against {
                assert!(names.contains(name), "{name}");
            }
        }
    }

    #[test]
    fn a_row_is_chosen_by_its_beginning_or_by_its_exact_name() {
        for (argument, expected) in [
            ("sync", &["sync", "sync-json", "sync-large"][..]),
            ("=sync", &["sync"]),
            ("=syn", &[]),
        ] {
            let chosen: Vec<_> = all().filter(|row| row.is_chosen_by(argument)).collect();
            let chosen: Vec<_> = chosen.iter().map(|row| row.name).collect();
            assert_eq!(chosen, expected, "{argument}");
        }
    }

    #[test]
    fn an_aim_is_beyond_its_bar() {
        for figure in all().flat_map(|row| row.figures) {
            for bar in figure.bars {
                let Some(aim) = bar.aim else { continue };
                match figure.goal {
                    Goal::Larger => assert!(aim > bar.bar, "{}", figure.name),
                    Goal::Smaller => assert!(aim < bar.bar, "{}", figure.name),
                    Goal::Shown => panic!("{} has a bar and no goal", figure.name),
                }
            }
        }
    }

    #[test]
    fn a_row_that_replays_says_how_many_pods() {
        for row in all().filter(|row| matches!(row.needs, Needs::Replay(_) | Needs::Pods(_))) {
            for size in [Size::Full, Size::Quick] {
                let objects = row.option("--objects", size);
                assert!(
                    objects.is_some_and(|objects| objects.parse::<usize>().is_ok()),
                    "{}",
                    row.name
                );
                if let Needs::Pods(_) = row.needs {
                    assert_eq!(objects, Some(pods(size).to_string().as_str()), "{}", row.name);
                }
            }
        }
    }
}
