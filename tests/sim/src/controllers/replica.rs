//! One replica: a program with a controller that is started, stopped, killed and started again.

use std::sync::Arc;
use std::time::Duration;

use informer_core::controller::{Controller, Run};
use informer_core::leader::LeaderElection;
use informer_core::workqueue::limiter::ExponentialBackoff;
use informer_core::{ObjectKey, Offload, SharedInformer};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::judge::{Court, LEASE};
use super::network;
use super::objects::{self, NAMESPACE, Role};
use super::plan::{ControllerPlan, Election, Notice, Order, Weather};
use super::process::{Caches, Parts, Process};
use super::reconciler::{Behaviour, Context, reconcile};
use crate::verdict::report;

/// How long a stopped process may take in addition to its grace period: to drop reconciles, to release its
/// lease, and to stop its caches.
const STOP: Duration = Duration::from_secs(20);

/// One replica.
pub(super) struct Replica {
    number: usize,
    /// The number of processes it has had.
    processes: u64,
    current: Option<Current>,
}

/// The process of a replica.
struct Current {
    process: Arc<Process>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Replica {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            processes: 0,
            current: None,
        }
    }

    pub(super) fn process(&self) -> Option<&Arc<Process>> {
        self.current.as_ref().map(|current| &current.process)
    }

    /// Starts a process, unless one runs.
    pub(super) fn start(
        &mut self,
        plan: &ControllerPlan,
        server: &ApiServer,
        court: &Court,
        behaviour: &Behaviour,
    ) {
        if self.current.is_some() {
            return;
        }
        let name = format!("r{}.{}", self.number, self.processes);
        let seed = plan.seed ^ (self.number as u64) << 32 ^ self.processes << 40;
        self.processes += 1;
        let process = Process::new(name, seed, plan, self.number);
        court.admit(&process);
        let stop = CancellationToken::new();
        let client = network::client(server, &process);
        let life = live(
            process.clone(),
            client,
            court.clone(),
            behaviour.clone(),
            seed,
            stop.clone(),
        );
        self.current = Some(Current {
            process,
            stop,
            task: tokio::spawn(life),
        });
    }

    /// Whether its process has ended by itself, because it lost its leadership.
    pub(super) fn has_ended(&mut self) -> bool {
        let has_ended = self
            .current
            .as_ref()
            .is_some_and(|current| current.task.is_finished());
        if has_ended {
            self.current = None;
        }
        has_ended
    }

    /// Stops the process, and waits for its end.
    pub(super) async fn stop(&mut self) {
        let Some(Current { process, stop, task }) = self.current.take() else {
            return;
        };
        process.thaw();
        process.state().stopping();
        stop.cancel();
        let limit = process.options.grace + STOP;
        match tokio::time::timeout(limit, task).await {
            Err(_) => report("C4", || format!("{} did not end within {limit:?}", process.name)),
            Ok(Err(error)) => report("panic", || format!("{}: {error}", process.name)),
            Ok(Ok(())) => {}
        }
    }

    /// Kills the process: it does nothing more, and its lease is not released.
    pub(super) fn kill(&mut self) {
        if let Some(Current { process, task, .. }) = self.current.take() {
            process.set_weather(Weather::Dead);
            process.thaw();
            task.abort();
            process.end();
        }
    }
}

/// The life of a process: caches, then leadership, then workers, as `informers::controller::Manager` does.
async fn live(
    process: Arc<Process>,
    client: Client,
    court: Court,
    behaviour: Behaviour,
    seed: u64,
    stop: CancellationToken,
) {
    let cache = |role: Role| cache(&process, &client, role, seed);
    let caches = Caches {
        parents: cache(Role::Parent),
        children: cache(Role::Child),
        settings: cache(Role::Setting),
    };
    let controller = controller(&process, &caches);
    process.state().parts = Some(Parts {
        controller: controller.clone(),
        caches: caches.clone(),
    });
    for cache in caches.all() {
        cache.start().expect("a new informer can be started");
    }
    let api = Api::namespaced(client.clone(), NAMESPACE);
    let context = Context {
        court,
        process: process.clone(),
        caches: caches.clone(),
        api,
        behaviour,
    };
    work(&process, client, &controller, context, seed, &stop).await;
    for cache in caches.all() {
        cache.shutdown().await;
    }
    process.end();
}

async fn work(
    process: &Arc<Process>,
    client: Client,
    controller: &Controller<ConfigMap>,
    context: Context,
    seed: u64,
    stop: &CancellationToken,
) {
    let Some(Ok(())) = stop.run_until_cancelled(controller.synced()).await else {
        return;
    };
    let mut run = Run::default().stop(stop.clone()).grace(process.options.grace);
    if process.election == Election::On {
        let election = LeaderElection::new(client, NAMESPACE, "lock")
            .identity(&process.name)
            .seed(seed)
            .lease_duration(LEASE)
            .clock(process.clock.clone());
        run.leadership = election.campaign(stop.clone()).await;
        if run.leadership.is_none() {
            return;
        }
        process.state().leadership = run.leadership.clone();
    }
    let leadership = run.leadership.clone();
    process.state().running();
    let stopped = controller
        .run(move |request| reconcile(context.clone(), request), run)
        .await;
    process.stopped(&stopped);
    if let Some(leadership) = leadership {
        process.state().leadership = None;
        leadership.resign().await;
    }
}

fn cache(process: &Process, client: &Client, role: Role, seed: u64) -> SharedInformer<ConfigMap> {
    let mut builder = SharedInformer::builder(client.clone())
        .labels(role.selector())
        .reflector(|mut config| {
            config.seed = Some(seed ^ role as u64);
            config
        })
        .offload(Offload::Inline);
    if let Some(period) = process.options.resync {
        builder = builder.resync(period);
    }
    builder.build().expect("every drawn plan is valid")
}

fn controller(process: &Arc<Process>, caches: &Caches) -> Controller<ConfigMap> {
    let options = &process.options;
    let (base, longest) = options.backoff;
    let judge = process.clone();
    let mut builder = Controller::new("parents", &caches.parents)
        .workers(options.workers)
        .time_limit(options.time_limit)
        .write_deadline(options.write_deadline)
        .backoff(ExponentialBackoff::<ObjectKey>::new(base, longest))
        .on_error(move |failed| judge.failed(failed));
    if let Some(wait) = options.debounce {
        builder = builder.debounce(wait);
    }
    if options.order == Order::FirstInFirstOut {
        builder = builder.first_in_first_out();
    }
    if options.children == Notice::Event {
        builder = builder.owns(&caches.children);
    }
    if options.settings == Notice::Event {
        let parents = |setting: &ConfigMap| {
            let names = objects::parents_of(setting).into_iter();
            names.map(|name| objects::key(&name)).collect::<Vec<_>>()
        };
        builder = builder.watches(&caches.settings, parents);
    }
    builder.build().expect("every drawn plan is valid")
}
