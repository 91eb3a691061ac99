//! The builder of a controller: what it watches, and its options.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;

use super::owner::OwnerKind;
use super::predicate::{Change, Predicate};
use super::status::Book;
use super::trigger::Trigger;
use super::{Controller, ControllerBuildError, ControllerShared, FailedReconcile};
use crate::handler::{Event, HandlerOptions, Origin, UpdateCause};
use crate::informer::SharedInformer;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::processor::Registration;
use crate::sync::{Mutex, Offload};
use crate::workqueue::{Priorities, Priority, RateLimiter, WorkQueue, default_controller_limiter};

/// Creates a [`Controller`].
#[must_use = "a builder does nothing before `build`"]
pub struct ControllerBuilder<K: Object> {
    name: String,
    primary: SharedInformer<K>,
    owner: OwnerKind,
    filter: Option<Predicate<K>>,
    sources: Vec<Source>,
    triggers: Vec<Trigger>,
    limiter: Box<dyn RateLimiter<ObjectKey>>,
    priorities: Priorities,
    debounce: Option<Duration>,
    options: Options,
}

/// The options of a controller that its workers use.
pub(super) struct Options {
    pub(super) workers: usize,
    pub(super) time_limit: Duration,
    pub(super) write_deadline: Duration,
    pub(super) on_error: Option<ErrorHook>,
}

pub(super) type ErrorHook = Arc<dyn Fn(&FailedReconcile<'_>) + Send + Sync>;

/// Adds one handler, when the queue exists.
type Source = Box<dyn FnOnce(&str, &Sink) -> Result<Registration, ControllerBuildError> + Send>;

/// Where handlers put keys.
#[derive(Clone)]
struct Sink {
    queue: WorkQueue<ObjectKey>,
    debounce: Option<Duration>,
}

impl<K: Object> ControllerBuilder<K> {
    pub(super) fn new(name: String, primary: &SharedInformer<K>, owner: OwnerKind) -> Self {
        Self {
            name,
            primary: primary.clone(),
            owner,
            filter: None,
            sources: Vec::new(),
            triggers: Vec::new(),
            limiter: Box::new(default_controller_limiter()),
            priorities: Priorities::default(),
            debounce: None,
            options: Options {
                workers: 1,
                time_limit: Duration::from_secs(600),
                write_deadline: Duration::from_secs(30),
                on_error: None,
            },
        }
    }

    /// Reconciles only after those changes of the primary objects that pass. Changes of other watched objects
    /// have their own predicates.
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.filter = Some(predicate);
        self
    }

    /// Reconciles the controller owner of every object of `informer` that changes: the primary object that
    /// the owner reference with `controller: true` names by group, kind, name and UID.
    ///
    /// If a reference moves, both owners are reconciled. A reference to an earlier object of the same name,
    /// recognised by its UID, is ignored.
    pub fn owns<C: Object>(self, informer: &SharedInformer<C>) -> Self {
        self.add_owned(informer, None)
    }

    /// Like [`owns`](Self::owns), only for changes that pass.
    pub fn owns_with<C: Object>(self, informer: &SharedInformer<C>, predicate: Predicate<C>) -> Self {
        self.add_owned(informer, Some(predicate))
    }

    fn add_owned<C: Object>(self, informer: &SharedInformer<C>, predicate: Option<Predicate<C>>) -> Self {
        let (owner, owners) = (self.owner.clone(), self.primary.indexer());
        let map = move |object: &C| {
            let (key, uid) = owner.controller_key(object.meta())?;
            // If the cache is behind and still has the earlier object, its update reconciles the key.
            let is_other = owners
                .peek()
                .stored(&key)
                .is_some_and(|cached| cached.uid().is_some_and(|cached| *cached != *uid));
            (!is_other).then_some(key)
        };
        let run_on = own_code_runs_on(predicate.as_ref());
        self.add_source(informer, predicate, run_on, map)
    }

    /// Reconciles the keys that `map` returns for every object of `informer` that changes. `map` is called
    /// with the old and with the new state, so that a key is also reconciled when it is no longer named.
    ///
    /// `map` runs on a thread that may block. It must not panic: a change whose mapping panics is logged and
    /// skipped.
    pub fn watches<C, M, I>(self, informer: &SharedInformer<C>, map: M) -> Self
    where
        C: Object,
        M: Fn(&C) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.add_source(informer, None, Offload::BlockingPool, map)
    }

    /// Like [`watches`](Self::watches), only for changes that pass.
    pub fn watches_with<C, M, I>(self, informer: &SharedInformer<C>, predicate: Predicate<C>, map: M) -> Self
    where
        C: Object,
        M: Fn(&C) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.add_source(informer, Some(predicate), Offload::BlockingPool, map)
    }

    fn add_source<C, M, I>(
        mut self,
        informer: &SharedInformer<C>,
        predicate: Option<Predicate<C>>,
        run_on: Offload,
        map: M,
    ) -> Self
    where
        C: Object,
        M: Fn(&C) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        let informer = informer.clone();
        self.sources.push(Box::new(move |controller, sink| {
            register(controller, &informer, sink, predicate, run_on, map)
        }));
        self
    }

    /// Also reconciles the keys of a stream: for events from outside the cluster. The stream is polled while
    /// the controller runs.
    pub fn reconcile_on(mut self, keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        self.triggers.push(Trigger::Keys(Box::pin(keys)));
        self
    }

    /// Also reconciles every object in the cache, at low priority, whenever a stream yields: such as after
    /// a change of the program's configuration.
    pub fn reconcile_all_on(mut self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.triggers.push(Trigger::All(Box::pin(stream)));
        self
    }

    /// Sets the number of keys that are reconciled at once. Default: 1.
    pub fn workers(mut self, workers: usize) -> Self {
        self.options.workers = workers;
        self
    }

    /// Waits this long after the first change of a key before it is reconciled, so that several changes lead
    /// to one reconcile. Later changes do not extend the wait. Default: no wait.
    pub fn debounce(mut self, wait: Duration) -> Self {
        self.debounce = (!wait.is_zero()).then_some(wait);
        self
    }

    /// Sets the delays of failed keys. Default: [`default_controller_limiter`], as in client-go: per key 5
    /// ms, doubled with each failure up to 1000 s, and 10 retries per second over all keys, after a burst of
    /// 100.
    pub fn backoff(mut self, limiter: impl RateLimiter<ObjectKey>) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Sets how long one reconcile may take. A longer one is cancelled and counts as failed. Default: 10
    /// minutes.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = limit;
        self
    }

    /// Sets how long a key waits for the cache to show its writes ([`Request::wrote`](super::Request::wrote))
    /// before it is reconciled anyway. Default: 30 seconds.
    pub fn write_deadline(mut self, deadline: Duration) -> Self {
        self.options.write_deadline = deadline;
        self
    }

    /// Reconciles keys in the order in which they were added: the initial state and resyncs no longer yield
    /// to fresh changes.
    pub fn first_in_first_out(mut self) -> Self {
        self.priorities = Priorities::Ignored;
        self
    }

    /// Calls `hook` after each failed reconcile, for metrics and reports. It runs on a worker's task and
    /// must not block. A panic in it is logged.
    pub fn on_error(mut self, hook: impl Fn(&FailedReconcile<'_>) + Send + Sync + 'static) -> Self {
        self.options.on_error = Some(Arc::new(hook));
        self
    }

    /// Builds the controller, which begins to collect keys.
    ///
    /// # Errors
    /// [`ControllerBuildError`] if one of the informers has stopped, or there are no workers.
    pub fn build(self) -> Result<Controller<K>, ControllerBuildError> {
        if self.options.workers == 0 {
            return Err(ControllerBuildError::NoWorkers {
                controller: self.name,
            });
        }
        let queue = WorkQueue::builder()
            .limiter(self.limiter)
            .priorities(self.priorities)
            .build();
        let sink = Sink {
            queue: queue.clone(),
            debounce: self.debounce,
        };
        let run_on = own_code_runs_on(self.filter.as_ref());
        let own_key = |object: &K| ObjectKey::of(object.meta());
        let first = register(&self.name, &self.primary, &sink, self.filter, run_on, own_key);
        // Created before the rest is registered, so that its `Drop` removes what was registered if one fails.
        let mut shared = ControllerShared {
            name: self.name.into(),
            primary: self.primary,
            queue,
            options: self.options,
            book: Arc::new(Mutex::new(Book::new())),
            registrations: vec![first?],
            triggers: Mutex::new(self.triggers),
        };
        for source in self.sources {
            let registration = source(&shared.name, &sink)?;
            shared.registrations.push(registration);
        }
        Ok(Controller {
            shared: Arc::new(shared),
        })
    }
}

/// Without a predicate only our own short code runs for an event, so the event need not change threads.
fn own_code_runs_on<K>(predicate: Option<&Predicate<K>>) -> Offload {
    match predicate {
        Some(_) => Offload::BlockingPool,
        None => Offload::Inline,
    }
}

fn register<C, M, I>(
    controller: &str,
    informer: &SharedInformer<C>,
    sink: &Sink,
    predicate: Option<Predicate<C>>,
    run_on: Offload,
    map: M,
) -> Result<Registration, ControllerBuildError>
where
    C: Object,
    M: Fn(&C) -> I + Send + Sync + 'static,
    I: IntoIterator<Item = ObjectKey>,
{
    let resource = informer.resource();
    let options = HandlerOptions::default()
        .name(format!("controller {controller}: {resource}"))
        .run_on(run_on);
    let sink = sink.clone();
    let handler = move |event: Event<C>| {
        let change = Change::of(&event);
        if predicate
            .as_ref()
            .is_some_and(|predicate| !predicate.passes(change))
        {
            return;
        }
        let priority = priority_of(&event);
        // A resync has the same object twice.
        let states = match &event {
            Event::Updated {
                new,
                cause: UpdateCause::Resync,
                ..
            } => [None, Some(&**new)],
            _ => change.states(),
        };
        for object in states.into_iter().flatten() {
            for key in map(object) {
                sink.add(key, priority);
            }
        }
    };
    informer
        .add_handler_with(options, handler)
        .map_err(|source| ControllerBuildError::Handler {
            controller: controller.to_owned(),
            resource: resource.to_owned(),
            source,
        })
}

/// What existed before and what is only repeated waits behind fresh changes.
fn priority_of<K>(event: &Event<K>) -> Priority {
    match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => Priority::Low,
        Event::Updated {
            cause: UpdateCause::Resync,
            ..
        } => Priority::Low,
        Event::Added { .. } | Event::Updated { .. } | Event::Deleted(_) => Priority::Normal,
    }
}

impl Sink {
    fn add(&self, key: ObjectKey, priority: Priority) {
        match self.debounce {
            None => self.queue.add_with(key, priority),
            Some(wait) => self.queue.add_after_with(key, wait, priority),
        }
    }
}

impl<K: Object> fmt::Debug for ControllerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerBuilder")
            .field("name", &self.name)
            .field("primary", &self.primary)
            .finish_non_exhaustive()
    }
}
