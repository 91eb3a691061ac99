//! Draws the plan of a seed.

use std::time::Duration;

use informer_testing::{ApiError, Cut, Fault, Verb, WatchList};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::plan::{
    Action, CHILDREN, ChildChange, ControllerPlan, Election, Filter, Freeze, Host, Mood, Notice, Options,
    Order, PARENTS, ParentChange, ParentChangeKind, SETTINGS, Step, Uptime, Weather,
};

/// The number of steps of a plan, after the opening ones.
const STEPS: std::ops::Range<usize> = 30..60;

/// Rates of clocks differ by at most 10 %, the default of `LeaderElection::clock_drift`.
const RATES: [f64; 3] = [1.0 / 1.1, 0.96, 1.0];

pub(super) fn plan(seed: u64) -> ControllerPlan {
    // Other numbers than those of the informers' plan of the same seed.
    let mut random = SmallRng::seed_from_u64(seed ^ 0xC0_1701);
    let random = &mut random;
    let replicas = pick(random, [1, 1, 2, 2, 3]);
    let election = match replicas {
        1 => pick(random, [Election::Off, Election::Off, Election::On]),
        _ => Election::On,
    };
    let mut actions = vec![Action::Parents(
        (0..PARENTS).map(|parent| put(random, parent)).collect(),
    )];
    for _ in 0..random.random_range(STEPS) {
        actions.push(action(random, replicas));
    }
    ControllerPlan {
        seed,
        yields: pick(random, [0, 10, 30, 60]),
        work: Duration::from_millis(pick(random, [0, 0, 20, 200])),
        watch_list: pick(random, [WatchList::On, WatchList::On, WatchList::Off]),
        bookmark_interval: Duration::from_secs(pick(random, [1, 10, 60])),
        rates: (0..replicas).map(|_| pick(random, RATES)).collect(),
        election,
        controller: options(random),
        steps: actions
            .into_iter()
            .enumerate()
            .map(|(number, action)| Step {
                number,
                action,
                pause: pick(random, [0, 0, 10, 100, 1_000, 3_000]),
            })
            .collect(),
        host: pick(random, [Host::Replica, Host::Manager]),
        uptime: pick(random, [Uptime::Counted, Uptime::Missing]),
    }
}

fn options(random: &mut SmallRng) -> Options {
    let notice = |random: &mut SmallRng| {
        pick(
            random,
            [Notice::Event, Notice::Event, Notice::Event, Notice::Requeue],
        )
    };
    Options {
        workers: random.random_range(1..=4),
        order: pick(
            random,
            [Order::Priorities, Order::Priorities, Order::FirstInFirstOut],
        ),
        debounce: pick(random, [None, None, Some(50), Some(2_000)]).map(Duration::from_millis),
        time_limit: seconds(pick(random, [5, 20, 600])),
        write_deadline: seconds(pick(random, [2, 30])),
        grace: seconds(pick(random, [0, 2, 30])),
        backoff: (
            Duration::from_millis(pick(random, [5, 1_000])),
            seconds(pick(random, [4, 60])),
        ),
        jitter: pick(random, [0.0, 0.3]),
        filter: pick(random, [Filter::None, Filter::Data]),
        children: notice(random),
        settings: notice(random),
        resync: pick(random, [None, None, Some(30)]).map(seconds),
    }
}

fn action(random: &mut SmallRng, replicas: usize) -> Action {
    let replica = random.random_range(0..replicas);
    match random.random_range(0..100) {
        0..24 => {
            let count = pick(random, [1, 1, 1, 2, 6]);
            Action::Parents((0..count).map(|_| change(random)).collect())
        }
        24..27 => Action::Annotate {
            parent: random.random_range(0..PARENTS),
            child: random.random_bool(0.5).then(|| random.random_range(0..CHILDREN)),
            value: random.random_range(0..1_000),
        },
        27..34 => Action::Child {
            parent: random.random_range(0..PARENTS),
            child: random.random_range(0..CHILDREN),
            change: pick(random, [ChildChange::Spoil, ChildChange::Delete]),
        },
        34..40 => Action::Setting {
            which: random.random_range(0..SETTINGS),
            parents: random
                .random_bool(0.8)
                .then(|| random.random_range(0..1 << PARENTS)),
            value: random.random_range(0..40),
        },
        40..50 => fault(random),
        50..53 => Action::EndFaults,
        53..56 => Action::Lag(seconds(pick(random, [1, 5, 40]))),
        56 => Action::CloseWatches,
        57 => Action::Relist,
        58..64 => Action::Mood(mood(random)),
        64..70 => Action::Weather {
            replica,
            weather: pick(random, [Weather::Good, Weather::Bad, Weather::Bad, Weather::Cut]),
        },
        70..74 => Action::Stop {
            replica,
            down: seconds(pick(random, [0, 1, 20])),
        },
        74..77 => Action::Kill {
            replica,
            down: seconds(pick(random, [0, 1, 20])),
        },
        77..83 => Action::Freeze {
            replica,
            freeze: pick(random, [Freeze::Process, Freeze::Machine]),
            time: seconds(pick(random, [1, 8, 14, 40])),
        },
        83 => Action::SetWall {
            replica,
            seconds: random.random_range(-50..50),
        },
        84..86 => Action::Trigger {
            parent: random.random_range(0..PARENTS),
        },
        86 => Action::ReconcileAll,
        87 => Action::Flood,
        88 => Action::LateThenCut { replica },
        89 => Action::Calm,
        _ => Action::Advance(Duration::from_millis(random.random_range(1..20_000))),
    }
}

fn change(random: &mut SmallRng) -> ParentChange {
    let parent = random.random_range(0..PARENTS);
    let kind = pick(
        random,
        [
            ParentChangeKind::Put,
            ParentChangeKind::Put,
            ParentChangeKind::Put,
            ParentChangeKind::Delete,
            ParentChangeKind::Recreate,
        ],
    );
    ParentChange {
        kind,
        ..put(random, parent)
    }
}

/// `Put` for one parent.
pub(super) fn put(random: &mut SmallRng, parent: usize) -> ParentChange {
    ParentChange {
        parent,
        kind: ParentChangeKind::Put,
        children: random.random_range(0..1 << CHILDREN),
        value: random.random_range(0..1_000),
    }
}

fn mood(random: &mut SmallRng) -> Mood {
    match random.random_range(0..4) {
        0 => Mood::default(),
        _ => Mood {
            errors: pick(random, [0, 20, 60]),
            panics: pick(random, [0, 0, 10]),
            slow: pick(random, [0, 300, 3_000, 30_000]),
        },
    }
}

/// Draws one fault that delays the controller and does not change what it reads.
fn fault(random: &mut SmallRng) -> Action {
    let after = random.random_range(0..8);
    let write = pick(random, [Verb::Create, Verb::Update, Verb::Delete]);
    let (on, fault) = match random.random_range(0..16) {
        0 => (None, Fault::internal_error()),
        1 => (None, Fault::unavailable()),
        2 => (None, Fault::too_many_requests(random.random_range(0..5))),
        3 => (None, Fault::timeout()),
        4 => (None, Fault::Refuse),
        5 => (None, Fault::Hang),
        6 => (
            None,
            Fault::Delay(Duration::from_millis(random.random_range(1..5_000))),
        ),
        7 => (Some(write), Fault::internal_error()),
        8 => (Some(write), Fault::Forbidden),
        9 => (Some(write), Fault::Hang),
        10 => (
            Some(Verb::Update),
            Fault::Delay(Duration::from_millis(random.random_range(1..3_000))),
        ),
        11 => (None, Fault::CloseWatch { after }),
        12 => (None, Fault::HalfOpen { after }),
        13 => {
            let error = ApiError::new(
                410,
                "Expired",
                "The resourceVersion for the provided watch is too old.",
            );
            (None, Fault::ErrorEvent { after, error })
        }
        14 => (None, Fault::expired()),
        _ => (None, Fault::Cut(Cut::Events(after))),
    };
    Action::Fault {
        fault,
        on,
        times: pick(random, [Some(1), Some(3), Some(10), None]),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn pick<T: Clone, const N: usize>(random: &mut SmallRng, choices: [T; N]) -> T {
    choices[random.random_range(0..N)].clone()
}
