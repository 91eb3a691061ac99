//! One process: a replica of the program from its start to its end, with its clock, network and caches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use informer_core::controller::Controller;
use informer_core::leader::Leadership;
use informer_core::{ObjectKey, SharedInformer};
use informers::controller::Phase as Managed;
use informers::health::Health;
use k8s_openapi::api::core::v1::ConfigMap;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::Instant;

use super::clock::ProcessClock;
use super::judge::{Flood, LEASE, Record};
use super::network::{Fate, LeaseWrite, Loss};
use super::plan::{ControllerPlan, Election, Freeze, Host, Options, Weather};

/// One process, from its start to its end.
pub(super) struct Process {
    /// `r0.2` is the third process of the first replica.
    pub(super) name: String,
    pub(super) options: Options,
    pub(super) election: Election,
    pub(super) host: Host,
    /// The rate of its clock.
    pub(super) rate: f64,
    pub(super) clock: ProcessClock,
    network: Mutex<Network>,
    /// Tasks that wait for the end of a freeze, or for a change of the weather.
    wakers: Mutex<Vec<Waker>>,
    state: Mutex<State>,
}

struct Network {
    random: SmallRng,
    weather: Weather,
}

/// What the judge knows of the process.
#[derive(Default)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// The caches and the controller. Emptied at the end, because their client has the process.
    pub(super) parts: Option<Parts>,
    /// The leadership of a process without a manager.
    pub(super) leadership: Option<Leadership>,
    /// The health of a process with a manager.
    pub(super) health: Option<Health>,
    /// When the server last stored a lease that this process holds.
    pub(super) stored: Option<Instant>,
    pub(super) records: BTreeMap<ObjectKey, Record>,
    pub(super) flood: Option<Flood>,
    /// Since when the controller is idle, and what the caches have shown since then.
    pub(super) idle: Option<(Instant, Vec<String>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Reads its caches, or campaigns.
    #[default]
    Starting,
    Running,
    /// It received the request to stop.
    Stopping,
    Ended,
}

#[derive(Clone)]
pub(super) struct Parts {
    pub(super) controller: Controller<ConfigMap>,
    pub(super) caches: Caches,
}

#[derive(Clone)]
pub(super) struct Caches {
    pub(super) parents: SharedInformer<ConfigMap>,
    pub(super) children: SharedInformer<ConfigMap>,
    pub(super) settings: SharedInformer<ConfigMap>,
}

impl Caches {
    pub(super) fn all(&self) -> [&SharedInformer<ConfigMap>; 3] {
        [&self.parents, &self.children, &self.settings]
    }
}

impl State {
    pub(super) fn running(&mut self) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
        }
    }

    pub(super) fn stopping(&mut self) {
        self.phase = Phase::Stopping;
    }
}

impl Process {
    /// A process of a replica of the plan.
    pub(super) fn new(name: String, seed: u64, plan: &ControllerPlan, replica: usize) -> Arc<Self> {
        let rate = plan.rates[replica];
        Arc::new(Self {
            name,
            options: plan.controller,
            election: plan.election,
            host: plan.host,
            rate,
            clock: ProcessClock::new(rate, plan.uptime),
            network: Mutex::new(Network {
                random: SmallRng::seed_from_u64(seed),
                weather: Weather::Good,
            }),
            wakers: Mutex::default(),
            state: Mutex::default(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn phase(&self) -> Phase {
        let state = self.state();
        match &state.health {
            None => state.phase,
            // A manager notices the request to stop when it is polled.
            Some(health) => match health.phase() {
                Some(Managed::Running) => Phase::Running,
                Some(Managed::Stopping | Managed::Stopped) => Phase::Stopping,
                _ => Phase::Starting,
            },
        }
    }

    /// It has ended: nothing of it is judged any more.
    pub(super) fn end(&self) {
        let parts = {
            let mut state = self.state();
            state.phase = Phase::Ended;
            (state.parts.take(), state.leadership.take(), state.health.take())
        };
        // Dropped without the lock, because their ends may ask for the state.
        drop(parts);
    }

    pub(super) fn parts(&self) -> Option<Parts> {
        self.state().parts.clone()
    }

    /// Whether it holds a lease that it trusts. A frozen process does nothing, whatever it would believe.
    ///
    /// A manager does not show its leadership: its controllers run or stop, and nobody can have taken the
    /// lease.
    pub(super) fn leads(&self) -> bool {
        let leadership = self.state().leadership.clone();
        let trusts = match self.host {
            Host::Replica => leadership.is_some_and(|leadership| leadership.is_valid()),
            Host::Manager => {
                [Phase::Running, Phase::Stopping].contains(&self.phase()) && self.is_lease_safe()
            }
        };
        trusts && !self.is_frozen()
    }

    /// Whether no candidate can have taken the lease: one counts from the moment when it saw the record, by a
    /// clock that may be 10 % faster.
    pub(super) fn is_lease_safe(&self) -> bool {
        let soonest = LEASE.div_f64(self.rate * 1.1);
        self.lease_age().is_some_and(|age| age <= soonest)
    }

    /// The time since the server last stored the lease.
    pub(super) fn lease_age(&self) -> Option<Duration> {
        self.state().stored.map(|stored| stored.elapsed())
    }

    /// Whether it may reconcile.
    pub(super) fn may_work(&self) -> bool {
        self.election == Election::Off || self.leads()
    }

    pub(super) fn stored_lease(&self, lease: LeaseWrite) {
        self.check_lease_write(lease);
        self.state().stored = match lease {
            LeaseWrite::Holds => Some(Instant::now()),
            LeaseWrite::Releases => None,
        };
    }

    pub(super) fn weather(&self) -> Weather {
        self.network().weather
    }

    pub(super) fn set_weather(&self, weather: Weather) {
        self.network().weather = weather;
        self.wake();
    }

    /// Draws what happens to a request.
    pub(super) fn fate(&self) -> Fate {
        let network = &mut *self.network();
        let random = &mut network.random;
        let mut upto = |millis| Duration::from_millis(random.random_range(0..millis));
        match network.weather {
            Weather::Good => Fate::default(),
            Weather::Bad => {
                let (before, after) = (upto(1_500), upto(1_900));
                let loss = match random.random_range(0..8) {
                    0 => Loss::Request,
                    1 => Loss::Answer,
                    _ => Loss::Nothing,
                };
                Fate { before, after, loss }
            }
            Weather::Late => Fate {
                after: Duration::from_millis(1_000) + upto(900),
                ..Fate::default()
            },
            Weather::Cut => Fate {
                before: upto(3_000),
                loss: Loss::Request,
                ..Fate::default()
            },
            Weather::Dead => Fate {
                loss: Loss::Everything,
                ..Fate::default()
            },
        }
    }

    /// Whether it does not run: it is frozen or was killed.
    pub(super) fn is_frozen(&self) -> bool {
        self.clock.is_frozen() || self.phase() == Phase::Ended
    }

    /// Sets the wall clock ahead or back. A running process reads its clocks before and after it.
    pub(super) fn set_wall(&self, seconds: f64) {
        self.leads();
        self.clock.set_wall(seconds);
        self.leads();
    }

    pub(super) fn freeze(&self, freeze: Freeze) {
        self.clock.freeze(freeze);
    }

    pub(super) fn thaw(&self) {
        self.clock.thaw();
        self.wake();
    }

    /// Waits until the process is not frozen.
    pub(super) async fn thawed(&self) {
        std::future::poll_fn(|cx| {
            if self.is_frozen() {
                self.wake_later(cx.waker());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    pub(super) fn wake_later(&self, waker: &Waker) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }
}
