//! Everything that can be chosen for one informer, before it is made.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::core::ClusterResourceScope;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lifecycle::{Life, Parts};
use super::{BuildError, Shared, SharedInformer};
use crate::audit::{AuditOptions, Auditor, CacheOf, IdentitiesOf};
use crate::committer::{Committer, Wiring};
use crate::delta::{DeltaFifo, QueueOptions, Transform};
use crate::handler::HandlerOptions;
use crate::object::{AnyObject, Object};
use crate::processor::Processor;
use crate::reflector::{InitialState, Reflector, ReflectorConfig, Relist};
use crate::scope::Scope;
use crate::selector::Selector;
use crate::source::{
    self, DecodeOn, KubeSource, KubeSourceError, KubeSourceOptions, ListOptions, ListOptionsError, ListWatch,
    ManagedFields, SourceError,
};
use crate::status::{Board, Reporter, WatchErrorHandler};
use crate::store::{self, IndexDefinition, IndexError, IndexValue, Indexer};
use crate::sync::{Latch, Mutex, Offload};

/// A transform that serves many kinds: it sees metadata, and may ask for the type.
pub type TransformAny = Arc<dyn Fn(&mut dyn AnyObject) -> Result<(), String> + Send + Sync>;

/// Which namespaces an informer covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// All of them, or a cluster-scoped kind.
    #[default]
    All,
    /// These: one informer to its user, with one list, one watch and one version for each.
    These(Vec<String>),
}

impl Namespaces {
    /// Finds mistakes that can be known without a server: no namespace at all, or one that is empty, named twice, or not a name.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn validate(&self) -> Result<(), BuildError> {
        self.scopes().map(drop)
    }

    /// One scope for all, or one for each namespace.
    fn scopes(&self) -> Result<Vec<Scope>, BuildError> {
        let namespaces = match self {
            Self::All => return Ok(vec![Scope::All]),
            Self::These(namespaces) => namespaces,
        };
        if namespaces.is_empty() {
            return Err(BuildError::NoNamespaces);
        }
        if namespaces.iter().any(String::is_empty) {
            return Err(BuildError::EmptyNamespace);
        }
        for namespace in namespaces {
            source::check_namespace(namespace)?;
        }
        let scopes: Vec<Scope> = namespaces.iter().map(|name| Scope::of(Some(name))).collect();
        check_scopes(&scopes)?;
        Ok(scopes)
    }
}

/// Chooses what one informer does. Made by [`SharedInformer::builder`].
#[must_use = "nothing happens before `build`"]
pub struct SharedInformerBuilder<K: Object> {
    origin: Origin<K>,
    namespaces: Namespaces,
    options: KubeSourceOptions<K>,
    reflector: ReflectorConfig,
    queue: QueueOptions,
    resync: Option<Duration>,
    transform: Option<Transform<K>>,
    on_watch_error: Option<WatchErrorHandler>,
    audit: Option<AuditOptions>,
    handler_defaults: HandlerOptions,
    indexes: Vec<AddIndex<K>>,
    runtime: Option<Handle>,
    token: CancellationToken,
    offload: Offload,
}

/// Adds one index to a store that is still empty.
type AddIndex<K> = Box<dyn FnOnce(&Indexer<K>) -> Result<(), IndexError> + Send>;

/// Where objects come from.
enum Origin<K> {
    /// A client; the kind, which may be known at run time only, is inside the function.
    Client(Box<dyn Fn(Scope, KubeSourceOptions<K>) -> Made<K> + Send + Sync>),
    /// Sources of the user's own.
    Sources(Vec<Arc<dyn ListWatch<K>>>),
}

type Made<K> = Result<Arc<dyn ListWatch<K>>, KubeSourceError>;

impl<K: Object> SharedInformerBuilder<K> {
    pub(super) fn over_client(client: kube::Client, dynamic_type: K::DynamicType) -> Self
    where
        K: DeserializeOwned,
    {
        Self::new(Origin::Client(Box::new(move |scope, options| {
            Ok(Arc::new(KubeSource::<K>::of_type(
                client.clone(),
                &dynamic_type,
                scope,
                options,
            )?))
        })))
    }

    pub(super) fn over_sources(sources: Vec<Arc<dyn ListWatch<K>>>) -> Self {
        Self::new(Origin::Sources(sources))
    }

    fn new(origin: Origin<K>) -> Self {
        Self {
            origin,
            namespaces: Namespaces::All,
            options: KubeSourceOptions::default(),
            reflector: ReflectorConfig::default(),
            queue: QueueOptions::default(),
            resync: None,
            transform: None,
            on_watch_error: None,
            audit: None,
            handler_defaults: HandlerOptions::default(),
            indexes: Vec::new(),
            runtime: None,
            token: CancellationToken::new(),
            offload: Offload::default(),
        }
    }

    /// Covers all namespaces: the default, for where an earlier choice is to be taken back.
    pub fn all_namespaces(mut self) -> Self {
        self.namespaces = Namespaces::All;
        self
    }

    /// Covers one namespace. Default: all.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Covers several namespaces.
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.namespaces = Namespaces::These(namespaces.into_iter().map(Into::into).collect());
        self
    }

    /// Covers only objects with these labels: a selector such as `tier=frontend,env in (prod, test)`.
    pub fn labels(self, selector: impl Into<String>) -> Self {
        let selector = selector.into();
        self.tweak_list_options(|options| options.labels(selector))
    }

    /// Covers only objects with these fields: a selector such as `spec.nodeName=node-1`.
    pub fn fields(self, selector: impl Into<String>) -> Self {
        let selector = selector.into();
        self.tweak_list_options(|options| options.fields(selector))
    }

    /// Changes the options of every list and watch: selectors, further parameters.
    pub fn tweak_list_options(mut self, tweak: impl FnOnce(ListOptions) -> ListOptions) -> Self {
        self.options.list_options = tweak(self.options.list_options);
        self
    }

    /// Tells every object again, changed or not, this often. Default: never.
    ///
    /// The informer checks this often whether a handler's own period (this one, unless its options say otherwise) has
    /// passed. A handler added before the start may ask for less; one added later is raised to this. Less than one second
    /// counts as one second.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// How many objects a page of a LIST holds.
    pub fn page_size(mut self, objects: u32) -> Self {
        self.reflector.page_size = Some(objects);
        self
    }

    /// How the whole state is read.
    pub fn initial_state(mut self, initial: InitialState) -> Self {
        self.reflector.initial = initial;
        self
    }

    /// Changes how the reflector asks, waits and gives up. `edit` receives the current settings, so
    /// everything it leaves alone stays as it is:
    ///
    /// ```no_run
    /// # use informer_core::SharedInformer;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # fn example(client: kube::Client) {
    /// use std::time::Duration;
    ///
    /// let builder = SharedInformer::<Pod>::builder(client).page_size(100).reflector(|mut config| {
    ///     config.backoff.cap = Duration::from_secs(10);
    ///     config
    /// });
    /// # }
    /// ```
    pub fn reflector(mut self, edit: impl FnOnce(ReflectorConfig) -> ReflectorConfig) -> Self {
        self.reflector = edit(self.reflector);
        self
    }

    /// How large the queue between reflector and store may get.
    pub fn queue(mut self, options: QueueOptions) -> Self {
        self.queue = options;
        self
    }

    /// Changes each object once, before anyone sees it: see [`Transform`].
    pub fn transform(self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.try_transform(move |object| {
            transform(object);
            Ok(())
        })
    }

    /// Like [`transform`](Self::transform), for a transform that can fail.
    pub fn try_transform(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// Like [`transform`](Self::transform), with a transform that serves many kinds: it sees metadata, and may ask for the type.
    pub fn transform_any(mut self, transform: TransformAny) -> Self {
        self.transform = Some(Arc::new(move |object: &mut K| transform(object)));
        self
    }

    /// Adds an index to be there from the beginning; [`SharedInformer::index`] with the same definition finds it.
    pub fn index<V: IndexValue>(mut self, definition: &'static IndexDefinition<K, V>) -> Self {
        self.indexes
            .push(Box::new(|indexer| indexer.index(definition).map(drop)));
        self
    }

    /// Adds an index over the values of one label, which listers use for selectors on that label.
    pub fn label_index(mut self, label: impl Into<String>) -> Self {
        let label = label.into();
        self.indexes
            .push(Box::new(move |indexer| indexer.add_label_index(&label).map(drop)));
        self
    }

    /// What handlers and streams that bring no options of their own get: buffer, overflow, resync.
    pub fn handler_defaults(mut self, options: HandlerOptions) -> Self {
        self.handler_defaults = options;
        self
    }

    /// Called with every failed list or watch. The informer retries in any case.
    pub fn on_watch_error(mut self, handler: impl Fn(&Scope, &SourceError) + Send + Sync + 'static) -> Self {
        self.on_watch_error = Some(Arc::new(handler));
        self
    }

    /// Compares the cache with the server every so often, and heals it if it is wrong: see [`AuditOptions`], also for the cost.
    /// Default: never.
    pub fn audit(mut self, options: AuditOptions) -> Self {
        self.audit = Some(options);
        self
    }

    /// Never compares the cache with the server: the default, for where an earlier choice is to be taken back.
    pub fn no_audit(mut self) -> Self {
        self.audit = None;
        self
    }

    /// Whether objects keep their `managedFields`. Default: they are dropped while decoding.
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.options.managed_fields = managed_fields;
        self
    }

    /// The largest object accepted, in bytes on the wire. Default 16 MiB.
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.options.max_object_bytes = bytes;
        self
    }

    /// How long the server may take until it begins to answer a request. Default 30 s. See
    /// [`KubeSourceOptions::answer_deadline`].
    pub fn answer_deadline(mut self, time: Duration) -> Self {
        self.options.answer_deadline = time;
        self
    }

    /// Changes how requests are made and bodies read. `edit` receives the current options, selectors
    /// included, so everything it leaves alone stays as it is. Namespaces are chosen by
    /// [`namespaces`](Self::namespaces).
    pub fn source_options(mut self, edit: impl FnOnce(KubeSourceOptions<K>) -> KubeSourceOptions<K>) -> Self {
        self.options = edit(self.options);
        self
    }

    /// Where the tasks run. Default: the runtime in which `start` is called.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Stops the informer when this token, or one it comes from, is cancelled.
    pub fn cancel_with(mut self, token: &CancellationToken) -> Self {
        self.token = token.child_token();
        self
    }

    /// Where long work and user code run: decoding large pieces, committing large lists, transforms, index
    /// functions. [`Offload::Inline`] keeps an informer on one thread, for simulations.
    pub fn offload(mut self, offload: Offload) -> Self {
        self.offload = offload;
        if offload == Offload::Inline {
            self.options.decode_on = DecodeOn::Worker;
        }
        self
    }

    /// The label selector of every request. Custom sources select as they like.
    fn selector(&self) -> Result<Selector, BuildError> {
        match (&self.origin, &self.options.list_options.labels) {
            (Origin::Client(_), Some(labels)) => {
                let parsed = labels.parse().map_err(ListOptionsError::from);
                Ok(parsed.map_err(KubeSourceError::from)?)
            }
            _ => Ok(Selector::everything()),
        }
    }

    /// Makes the informer. Nothing is asked of the server yet.
    pub fn build(self) -> Result<SharedInformer<K>, BuildError> {
        if self.reflector.page_size == Some(0) {
            return Err(BuildError::ZeroPageSize);
        }
        let sources = sources(&self.origin, &self.namespaces, &self.options)?;
        let selector = self.selector()?;
        let first = sources.first().ok_or(BuildError::NoSource)?;
        let resource = first.resource().to_owned();
        let scopes: Vec<Scope> = sources
            .iter()
            .map(|source| Scope::of(source.namespace()))
            .collect();
        check_scopes(&scopes)?;

        let queue = self.queue.offload(self.offload);
        let (mut senders, receiver) = DeltaFifo::channel(scopes.iter().cloned(), queue, self.transform);
        let (writer, indexer) = store::new();
        for add in self.indexes {
            add(&indexer)?;
        }
        let board = Arc::new(Board::new(resource, &scopes, self.on_watch_error));
        let processor = Arc::new(Processor::new(self.resync));
        let synced = Latch::new();
        let commits = watch::Sender::new(0);
        let resync_queue = senders.first().cloned().ok_or(BuildError::NoSource)?;
        let mut auditors = Vec::new();
        let reflectors = sources
            .into_iter()
            .zip(senders.drain(..))
            .map(|(source, mut queue)| {
                let reporter = board.reporter(queue.scope());
                queue.report_to(reporter.clone());
                let relist = match &self.audit {
                    Some(options) => {
                        let relist = Relist::on_request();
                        let auditor = auditor(options, &source, &indexer, &reporter, &relist);
                        auditors.push(auditor.offload(self.offload).seed(self.reflector.seed));
                        relist
                    }
                    None => Relist::Never,
                };
                Reflector::new(source, queue, self.reflector.clone(), reporter, relist)
            })
            .collect();
        let wiring = Wiring {
            processor: processor.clone(),
            board: board.clone(),
            synced: synced.clone(),
            commits: commits.clone(),
            offload: self.offload,
        };
        let committer = Committer::new(receiver, writer, &scopes, wiring);
        let parts = Parts {
            reflectors,
            auditors,
            committer,
            resync_queue,
            handlers: Vec::new(),
            runtime: self.runtime,
        };
        Ok(SharedInformer {
            shared: Arc::new(Shared {
                indexer,
                processor,
                board,
                synced,
                stopped: Latch::new(),
                commits,
                selector,
                handler_defaults: self.handler_defaults,
                life: Mutex::new(Life::Created(Box::new(parts))),
                token: self.token,
                tasks: TaskTracker::new(),
            }),
        })
    }
}

fn sources<K: Object>(
    origin: &Origin<K>,
    namespaces: &Namespaces,
    options: &KubeSourceOptions<K>,
) -> Result<Vec<Arc<dyn ListWatch<K>>>, BuildError> {
    let make = match origin {
        Origin::Sources(sources) => return Ok(sources.clone()),
        Origin::Client(make) => make,
    };
    let scopes = namespaces.scopes()?;
    let mut sources = Vec::with_capacity(scopes.len());
    for scope in scopes {
        let namespaced = scope != Scope::All;
        let source = make(scope, options.clone())?;
        if namespaced && is_cluster_scoped::<K>() {
            return Err(BuildError::ClusterScoped(source.resource().to_owned()));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// What audits one scope, and asks its reflector to list again.
fn auditor<K: Object>(
    options: &AuditOptions,
    source: &Arc<dyn ListWatch<K>>,
    indexer: &Indexer<K>,
    reporter: &Reporter,
    relist: &Relist,
) -> Auditor {
    let (indexer, scope) = (indexer.clone(), reporter.scope().clone());
    let relist = relist.clone();
    Auditor::new(
        options.clone(),
        Box::new(IdentitiesOf(source.clone())),
        Box::new(CacheOf { indexer, scope }),
        reporter.clone(),
        Box::new(move || relist.ask()),
    )
}

/// Whether the kind is known to live outside namespaces. One that is known at run time only says nothing.
fn is_cluster_scoped<K: Object>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

/// Each scope once, and all namespaces only alone: every object belongs to one source.
fn check_scopes(scopes: &[Scope]) -> Result<(), BuildError> {
    let mut seen = BTreeSet::new();
    for scope in scopes {
        if !seen.insert(scope) || (*scope == Scope::All && scopes.len() > 1) {
            return Err(BuildError::RepeatedScope(scope.to_string()));
        }
    }
    Ok(())
}
