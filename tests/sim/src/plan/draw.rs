//! Draws a plan from a seed.

use std::time::Duration;

use informer_core::{InitialState, Offload, Overflow};
use informer_testing::{WatchCache, WatchList};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{
    Action, AfterStall, Cancelled, HandlerKind, HandlerPlan, InformerPlan, InvalidVersion, NAMESPACES,
    PLACES, Pause, Plan, Refusal, Scenario, ServerPlan, Step, Transform, Write, WriteKind, faults,
};

/// The number of steps of a plan, after the opening ones.
const STEPS: std::ops::Range<usize> = 90..120;

pub(super) fn plan(seed: u64) -> Plan {
    let mut random = SmallRng::seed_from_u64(seed);
    let server = server(&mut random);
    let second = random.random_bool(0.25);
    let informers: Vec<InformerPlan> = (0..1 + usize::from(second))
        .map(|_| informer(&mut random))
        .collect();
    let yields = [0, 10, 30, 60][random.random_range(0..4)];
    let work = Duration::from_millis(pick(&mut random, [0, 0, 20, 200]));
    let mut actions = opening(&mut random, informers.len());
    for _ in 0..random.random_range(STEPS) {
        actions.push(action(&mut random, informers.len()));
    }
    let steps = actions
        .into_iter()
        .enumerate()
        .map(|(number, action)| Step {
            number,
            action,
            pause: pause(&mut random),
        })
        .collect();
    Plan {
        seed,
        server,
        informers,
        yields,
        work,
        steps,
    }
}

fn server(random: &mut SmallRng) -> ServerPlan {
    ServerPlan {
        history: pick(random, [100_000, 100_000, 100, 20]),
        watch_cache: pick(random, [WatchCache::On, WatchCache::Off]),
        watch_list: pick(
            random,
            [WatchList::On, WatchList::On, WatchList::On, WatchList::Off],
        ),
        bookmark_interval: Duration::from_secs(pick(random, [1, 10, 60])),
        watch_buffer: pick(random, [10_000, 5]),
    }
}

fn informer(random: &mut SmallRng) -> InformerPlan {
    InformerPlan {
        initial: pick(
            random,
            [
                InitialState::WatchList,
                InitialState::WatchList,
                InitialState::List,
            ],
        ),
        page_size: pick(random, [None, Some(1), Some(3), Some(500)]),
        namespaces: pick(random, [None, None, Some(1), Some(2), Some(NAMESPACES.len())]),
        selective: random.random_bool(0.2),
        resync: pick(random, [None, None, Some(Duration::from_secs(30))]),
        transform: pick(
            random,
            [
                Transform::None,
                Transform::Counting,
                Transform::Counting,
                Transform::Failing,
                Transform::Panicking,
            ],
        ),
        gzip: random.random_bool(0.5),
        capacity: pick(random, [1, 4, 1_000]),
        batch: pick(random, [1, 4, 100]),
        offload: pick(random, [Offload::Inline, Offload::BlockingPool]),
    }
}

/// The opening steps: some objects, the first handlers, and the start of the informers.
fn opening(random: &mut SmallRng, informers: usize) -> Vec<Action> {
    let mut actions = Vec::new();
    let objects = random.random_range(0..PLACES);
    actions.push(Action::Burst((0..objects).map(|_| write(random)).collect()));
    for informer in 0..informers {
        for _ in 0..random.random_range(1..4) {
            actions.push(add_handler(random, informer));
        }
        actions.push(Action::AddIndex {
            informer,
            panics: false,
        });
    }
    if random.random_bool(0.3) {
        actions.push(Action::RandomFaults {
            seed: random.random(),
            harsh: random.random_bool(0.5),
        });
    }
    // Some informers are started late, or never.
    actions.extend(
        (0..informers)
            .filter(|_| random.random_bool(0.9))
            .map(|informer| Action::Start { informer }),
    );
    actions
}

fn action(random: &mut SmallRng, informers: usize) -> Action {
    let informer = random.random_range(0..informers);
    match random.random_range(0..208) {
        0..60 => Action::Write(write(random)),
        60..76 => Action::Burst((0..random.random_range(2..12)).map(|_| write(random)).collect()),
        76..106 => Action::Fault(faults::draw(random)),
        106..109 => Action::RandomFaults {
            seed: random.random(),
            harsh: random.random_bool(0.5),
        },
        109..114 => Action::EndFaults,
        114..119 => Action::Compact {
            keep: random.random_range(0..20),
        },
        119 => Action::Rewind {
            back: random.random_range(1..15),
        },
        120..126 => Action::CloseWatches,
        126..131 => Action::Unseen((0..random.random_range(1..4)).map(|_| write(random)).collect()),
        131..137 => add_handler(random, informer),
        137..141 => Action::RemoveHandler {
            informer,
            which: random.random_range(0..8),
        },
        141..147 => Action::ReadStreams {
            events: random.random_range(1..20),
        },
        147..150 => Action::AddIndex {
            informer,
            panics: random.random_bool(0.3),
        },
        150..152 => Action::Stop { informer },
        152..156 => Action::Start { informer },
        156 if random.random_bool(0.5) => Action::Stall {
            then: pick(
                random,
                [
                    AfterStall::Nothing,
                    AfterStall::Refused(Refusal::Forbidden),
                    AfterStall::Refused(Refusal::NotFound),
                    AfterStall::Unavailable,
                    AfterStall::List,
                    AfterStall::Stop,
                ],
            ),
        },
        156 => Action::Refusals {
            first: pick(random, [Refusal::Forbidden, Refusal::NotFound]),
            times: random.random_range(1..4),
            emptied: random.random_bool(0.5),
        },
        157..160 => Action::WaitUntil {
            informer,
            timeout: Duration::from_secs(pick(random, [1, 20, 120])),
        },
        160..162 => Action::Calm,
        162..170 => Action::Advance(Duration::from_secs(random.random_range(60..1_300))),
        170 | 171 => Action::ShortStreams {
            informer,
            count: random.random_range(1..20),
        },
        172 | 173 => Action::Scenario(scenario(random)),
        174 | 175 => Action::WaitFor {
            informer,
            write: write(random),
            timeout: Duration::from_secs(pick(random, [1, 20, 120])),
        },
        176 => Action::CancelledStart(pick(
            random,
            [
                Cancelled::BeforeBuild,
                Cancelled::BeforeStart,
                Cancelled::AfterStart,
            ],
        )),
        // Drawn apart from the others: few other plans lead from a watch-list of the newest state to a probe.
        177 if random.random_bool(0.3) => Action::Scenario(Scenario::MuteWatches),
        _ => Action::Advance(Duration::from_millis(random.random_range(1..20_000))),
    }
}

fn scenario(random: &mut SmallRng) -> Scenario {
    match random.random_range(0..10) {
        0 => Scenario::CutEvery(Duration::from_secs(pick(random, [3, 10, 60, 100]))),
        1 => Scenario::BlackHole,
        2 => Scenario::BusyInitial,
        3 => Scenario::LateAnswer(Duration::from_secs(random.random_range(40..200))),
        4 => Scenario::Foreign(pick(random, [None, Some("elsewhere"), Some(NAMESPACES[2])])),
        5 => Scenario::EndlessPages,
        6 => Scenario::InvalidVersion(pick(
            random,
            [
                InvalidVersion::Text,
                InvalidVersion::Text,
                InvalidVersion::Long,
                InvalidVersion::Control,
            ],
        )),
        7 => Scenario::SilentRewind {
            back: random.random_range(1..15),
        },
        8 => Scenario::SlowWork(Duration::from_secs(pick(random, [4, 30]))),
        _ => Scenario::RefusedWaits,
    }
}

fn add_handler(random: &mut SmallRng, informer: usize) -> Action {
    let kind = match random.random_range(0..12) {
        0..4 => HandlerKind::Quick,
        4..6 => HandlerKind::Slow(Duration::from_millis(pick(random, [1, 100, 4_000]))),
        6..8 => HandlerKind::Async,
        8 => HandlerKind::Panicking(random.random_range(1..6)),
        9 => HandlerKind::AsyncPanicking(random.random_range(1..6)),
        _ => HandlerKind::Stream,
    };
    let mut handler = HandlerPlan {
        kind,
        buffer: pick(random, [None, Some(1), Some(2), Some(8)]),
        overflow: pick(
            random,
            [
                Overflow::Coalesce,
                Overflow::Coalesce,
                Overflow::Coalesce,
                Overflow::Grow,
                Overflow::Disconnect,
            ],
        ),
        resync: pick(random, [None, None, Some(0), Some(10)]),
    };
    // A slow handler that receives everything again every few seconds, and keeps every event, never catches
    // up.
    let keeps_all = handler.overflow != Overflow::Coalesce || handler.buffer.is_none();
    if keeps_all && matches!(kind, HandlerKind::Slow(_)) {
        handler.resync = Some(0);
    }
    Action::AddHandler { informer, handler }
}

fn write(random: &mut SmallRng) -> Write {
    Write {
        place: random.random_range(0..PLACES),
        value: random.random_range(0..40),
        kind: pick(
            random,
            [
                WriteKind::Put,
                WriteKind::Put,
                WriteKind::Put,
                WriteKind::Delete,
                WriteKind::Recreate,
            ],
        ),
    }
}

fn pause(random: &mut SmallRng) -> Pause {
    match random.random_range(0..10) {
        0..3 => Pause::Turns(random.random_range(0..12)),
        3..8 => Pause::Millis(random.random_range(0..1_000)),
        _ => Pause::Millis(random.random_range(0..4_000)),
    }
}

fn pick<T: Clone, const N: usize>(random: &mut SmallRng, choices: [T; N]) -> T {
    choices[random.random_range(0..N)].clone()
}
