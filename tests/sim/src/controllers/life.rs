//! The life of one process: its caches, its leadership and its controller, with a manager or without.

use std::sync::Arc;

use informer_core::controller::{Controller, Predicate, Run};
use informer_core::leader::LeaderElection;
use informer_core::workqueue::limiter::ExponentialBackoff;
use informer_core::{ObjectKey, Offload, SharedInformer, SharedInformerBuilder};
use informers::SharedInformerFactory;
use informers::controller::{Manager, ManagerError};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use super::judge::{Court, LEASE};
use super::objects::{self, NAMESPACE, Role};
use super::plan::{Election, Filter, Host, Notice, Order};
use super::process::{Caches, Parts, Process};
use super::reconciler::{Behaviour, Context, reconcile};
use crate::verdict::report;
use crate::wire;

/// What a process lives with.
pub(super) struct Life {
    pub(super) process: Arc<Process>,
    pub(super) client: Client,
    pub(super) court: Court,
    pub(super) behaviour: Behaviour,
    pub(super) seed: u64,
    /// Cancelled to stop the process.
    pub(super) stop: CancellationToken,
}

impl Life {
    /// Runs until the process is stopped, loses its leadership, or gives up its caches.
    pub(super) async fn live(self) {
        match self.process.host {
            Host::Replica => self.live_alone().await,
            Host::Manager => self.live_managed().await,
        }
        self.process.end();
    }

    /// Caches, then leadership, then workers, as a manager does.
    async fn live_alone(&self) {
        let caches = self.caches(self.cache(Role::Parent));
        let controller = self.controller(&caches);
        for cache in caches.all() {
            cache.start().expect("a new informer can be started");
        }
        self.work(&controller, self.context(&caches)).await;
        for cache in caches.all() {
            cache.shutdown().await;
        }
    }

    async fn work(&self, controller: &Controller<ConfigMap>, context: Context) {
        let (process, stop) = (&self.process, &self.stop);
        let Some(Ok(())) = stop.run_until_cancelled(controller.synced()).await else {
            return;
        };
        let mut run = Run::default().stop(stop.clone()).grace(process.options.grace);
        if process.election == Election::On {
            run.leadership = self.election().campaign(stop.clone()).await;
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

    /// The factory has the parents. It has one informer for each kind, so the other caches are the program's.
    async fn live_managed(&self) {
        let configure = {
            let (process, seed) = (self.process.clone(), self.seed);
            move |builder| configure(builder, &process, Role::Parent, seed)
        };
        let factory = SharedInformerFactory::builder(self.client.clone())
            .kind::<ConfigMap>(configure)
            .build()
            .expect("every drawn plan is valid");
        let caches = self.caches(factory.informer_for::<ConfigMap>());
        let controller = self.controller(&caches);
        let others = [&caches.children, &caches.settings];
        for cache in others {
            cache.start().expect("a new informer can be started");
        }
        let (process, context) = (&self.process, self.context(&caches));
        let mut manager = Manager::new(factory)
            .controller(controller, move |request| reconcile(context.clone(), request))
            .grace(process.options.grace);
        if process.election == Election::On {
            manager = manager.leader_election(self.election());
        }
        process.state().health = Some(manager.health());
        let finished = match manager.run_until(self.stop.clone().cancelled_owned()).await {
            Ok(finished) => {
                if !self.stop.is_cancelled() {
                    report("order", || format!("{} ended without a stop", process.name));
                }
                finished
            }
            Err(ManagerError::LeadershipLost { finished, .. }) => finished,
            // Refused or unreachable for longer than the wait for sync allows.
            Err(ManagerError::Sync(_)) => Default::default(),
            Err(error) => return report("order", || format!("{} failed: {error}", process.name)),
        };
        for (_, stopped) in &finished.controllers {
            process.stopped(stopped);
        }
        for cache in others {
            cache.shutdown().await;
        }
    }

    fn cache(&self, role: Role) -> SharedInformer<ConfigMap> {
        let builder = wire::builder(self.client.clone(), self.seed);
        let builder = configure(builder, &self.process, role, self.seed);
        builder.build().expect("every drawn plan is valid")
    }

    fn caches(&self, parents: SharedInformer<ConfigMap>) -> Caches {
        Caches {
            parents,
            children: self.cache(Role::Child),
            settings: self.cache(Role::Setting),
        }
    }

    fn context(&self, caches: &Caches) -> Context {
        Context {
            court: self.court.clone(),
            process: self.process.clone(),
            caches: caches.clone(),
            api: Api::namespaced(self.client.clone(), NAMESPACE),
            behaviour: self.behaviour.clone(),
        }
    }

    fn election(&self) -> LeaderElection {
        LeaderElection::new(self.client.clone(), NAMESPACE, "lock")
            .identity(&self.process.name)
            .seed(self.seed)
            .lease_duration(LEASE)
            .clock(self.process.clock.clone())
    }

    /// Creates the controller, and shows it and the caches to the judge.
    fn controller(&self, caches: &Caches) -> Controller<ConfigMap> {
        let options = &self.process.options;
        let (base, longest) = options.backoff;
        let judge = self.process.clone();
        let backoff = ExponentialBackoff::<ObjectKey>::new(base, longest)
            .jitter(options.jitter)
            .seed(self.seed);
        let mut builder = Controller::new("parents", &caches.parents)
            .workers(options.workers)
            .time_limit(options.time_limit)
            .write_deadline(options.write_deadline)
            .backoff(backoff)
            .on_error(move |failed| judge.failed(failed));
        if let Some(wait) = options.debounce {
            builder = builder.debounce(wait);
        }
        if options.order == Order::FirstInFirstOut {
            builder = builder.first_in_first_out();
        }
        if options.filter == Filter::Data {
            builder = builder.filter(data_changed());
        }
        if options.children == Notice::Event {
            builder = match options.filter {
                Filter::None => builder.owns(&caches.children),
                Filter::Data => builder.owns_with(&caches.children, data_changed()),
            };
        }
        if options.settings == Notice::Event {
            let parents = |setting: &ConfigMap| {
                let names = objects::parents_of(setting).into_iter();
                names.map(|name| objects::key(&name)).collect::<Vec<_>>()
            };
            builder = match options.filter {
                Filter::None => builder.watches(&caches.settings, parents),
                Filter::Data => builder.watches_with(&caches.settings, data_changed(), parents),
            };
        }
        let controller = builder.build().expect("every drawn plan is valid");
        self.process.state().parts = Some(Parts {
            controller: controller.clone(),
            caches: caches.clone(),
        });
        controller
    }
}

fn configure(
    builder: SharedInformerBuilder<ConfigMap>,
    process: &Process,
    role: Role,
    seed: u64,
) -> SharedInformerBuilder<ConfigMap> {
    let builder = builder
        .labels(role.selector())
        .reflector(|mut config| {
            config.seed = Some(seed ^ role as u64);
            config
        })
        .storage(wire::storage(seed))
        .offload(Offload::Inline);
    match process.options.resync {
        Some(period) => builder.resync(period),
        None => builder,
    }
}

fn data_changed() -> Predicate<ConfigMap> {
    Predicate::value_changed(|object: &ConfigMap| object.data.clone())
}
