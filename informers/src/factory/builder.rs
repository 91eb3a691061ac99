//! Everything that can be chosen for a factory, and for one kind in it.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use informer_core::delta::QueueOptions;
use informer_core::registry::{Registry, WaitLimits};
use informer_core::source::KubeSourceError;
use informer_core::{
    AnyObject, AuditOptions, BuildError, HandlerOptions, InitialState, ListOptions, ManagedFields,
    Namespaces, Object, Offload, ReflectorConfig, Scope, SharedInformer, SharedInformerBuilder, SourceError,
    TransformAny, WatchErrorHandler,
};
use kube::core::ClusterResourceScope;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::error::check_resource;
use super::{FactoryBuildError, Inner, SharedInformerFactory, resource_of};

/// Chooses what a factory's informers do. Made by [`SharedInformerFactory::builder`].
///
/// ```no_run
/// # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use informers::SharedInformerFactory;
/// use k8s_openapi::api::core::v1::{Pod, Secret};
///
/// let factory = SharedInformerFactory::builder(client)
///     .namespaces(["web", "db"])
///     .resync(Duration::from_secs(600))
///     .kind::<Pod>(|pods| pods.labels("tier=frontend").label_index("app"))
///     .kind::<Secret>(|secrets| secrets.transform(|secret| secret.data = None))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing happens before `build`"]
pub struct SharedInformerFactoryBuilder {
    client: kube::Client,
    defaults: Defaults,
    limits: WaitLimits,
    kinds: Vec<Prepare>,
}

/// Makes the informer of one kind with options of its own, and keeps it for when it is asked for.
type Prepare = Box<dyn FnOnce(&kube::Client, &Defaults, &Registry) -> Result<(), FactoryBuildError> + Send>;

/// What every informer of a factory begins with.
#[derive(Clone)]
pub(super) struct Defaults {
    namespaces: Namespaces,
    list_options: ListOptions,
    resync: Option<Duration>,
    reflector: ReflectorConfig,
    queue: QueueOptions,
    transform: Option<TransformAny>,
    handlers: HandlerOptions,
    managed_fields: ManagedFields,
    max_object_bytes: Option<usize>,
    answer_deadline: Option<Duration>,
    on_watch_error: Option<WatchErrorHandler>,
    audit: Option<AuditOptions>,
    runtime: Option<Handle>,
    token: CancellationToken,
    offload: Offload,
}

/// Which namespaces an informer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the factory, unless its type says that it lives outside of namespaces.
    Configured,
    /// None: the server said that it lives outside of namespaces.
    Cluster,
}

impl SharedInformerFactoryBuilder {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client,
            defaults: Defaults {
                namespaces: Namespaces::All,
                list_options: ListOptions::default(),
                resync: None,
                reflector: ReflectorConfig::default(),
                queue: QueueOptions::default(),
                transform: None,
                handlers: HandlerOptions::default(),
                managed_fields: ManagedFields::default(),
                max_object_bytes: None,
                answer_deadline: None,
                on_watch_error: None,
                audit: None,
                runtime: None,
                token: CancellationToken::new(),
                offload: Offload::default(),
            },
            limits: WaitLimits::default(),
            kinds: Vec::new(),
        }
    }

    /// Covers one namespace. Default: all. Cluster-scoped kinds are not affected.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Covers several namespaces: each kind has one informer and one cache, with one list and one watch per namespace.
    /// Cluster-scoped kinds are not affected.
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.defaults.namespaces = Namespaces::These(namespaces.into_iter().map(Into::into).collect());
        self
    }

    /// Changes the options of every list and watch of every kind: selectors, further parameters.
    pub fn tweak_list_options(mut self, tweak: impl FnOnce(ListOptions) -> ListOptions) -> Self {
        self.defaults.list_options = tweak(self.defaults.list_options);
        self
    }

    /// Tells every object again, changed or not, this often. Default: never. See [`SharedInformerBuilder::resync`].
    pub fn resync(mut self, period: Duration) -> Self {
        self.defaults.resync = Some(period);
        self
    }

    /// How many objects a page of a LIST holds.
    pub fn page_size(mut self, objects: u32) -> Self {
        self.defaults.reflector.page_size = Some(objects);
        self
    }

    /// How the whole state is read.
    pub fn initial_state(mut self, initial: InitialState) -> Self {
        self.defaults.reflector.initial = initial;
        self
    }

    /// Changes how reflectors ask, wait and give up. `edit` receives the current settings; see
    /// [`SharedInformerBuilder::reflector`].
    pub fn reflector(mut self, edit: impl FnOnce(ReflectorConfig) -> ReflectorConfig) -> Self {
        self.defaults.reflector = edit(self.defaults.reflector);
        self
    }

    /// How large the queue between a reflector and its store may get.
    pub fn queue(mut self, options: QueueOptions) -> Self {
        self.defaults.queue = options;
        self
    }

    /// Changes each object of every kind once, before anyone sees it. A kind with a transform of its own has that instead.
    ///
    /// ```no_run
    /// # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use informers::{AnyObject, SharedInformerFactory};
    ///
    /// let factory = SharedInformerFactory::builder(client)
    ///     .transform(|object: &mut dyn AnyObject| object.metadata_mut().annotations = None)
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn transform(self, transform: impl Fn(&mut dyn AnyObject) + Send + Sync + 'static) -> Self {
        self.try_transform(move |object| {
            transform(object);
            Ok(())
        })
    }

    /// Like [`transform`](Self::transform), for a transform that can fail.
    pub fn try_transform(
        mut self,
        transform: impl Fn(&mut dyn AnyObject) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.defaults.transform = Some(Arc::new(transform));
        self
    }

    /// What handlers and streams that bring no options of their own get: buffer, overflow, resync.
    pub fn handler_defaults(mut self, options: HandlerOptions) -> Self {
        self.defaults.handlers = options;
        self
    }

    /// Whether objects keep their `managedFields`. Default: they are dropped while decoding.
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.defaults.managed_fields = managed_fields;
        self
    }

    /// The largest object accepted, in bytes on the wire. Default 16 MiB.
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.defaults.max_object_bytes = Some(bytes);
        self
    }

    /// How long the server may take until it begins to answer a request. Default 30 s. See
    /// [`SharedInformerBuilder::answer_deadline`].
    pub fn answer_deadline(mut self, time: Duration) -> Self {
        self.defaults.answer_deadline = Some(time);
        self
    }

    /// Called with every failed list or watch. Informers retry in any case.
    pub fn on_watch_error(mut self, handler: impl Fn(&Scope, &SourceError) + Send + Sync + 'static) -> Self {
        self.defaults.on_watch_error = Some(Arc::new(handler));
        self
    }

    /// Lets every informer compare its cache with the server every so often, and heal it if it is wrong: see [`AuditOptions`], also
    /// for the cost. Default: never. A kind can have options of its own, or
    /// [none](SharedInformerBuilder::no_audit).
    pub fn audit(mut self, options: AuditOptions) -> Self {
        self.defaults.audit = Some(options);
        self
    }

    /// Where the tasks run. Default: the runtime in which `start` is called.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.defaults.runtime = Some(runtime);
        self
    }

    /// Stops every informer when this token, or one it comes from, is cancelled.
    pub fn cancel_with(mut self, token: &CancellationToken) -> Self {
        self.defaults.token = token.child_token();
        self
    }

    /// Where long work is done: see [`SharedInformerBuilder::offload`].
    pub fn offload(mut self, offload: Offload) -> Self {
        self.defaults.offload = offload;
        self
    }

    /// How long an informer may fail in a way that no waiting heals (401, 403, 404, 400, 422, certificates)
    /// before [`wait_for_sync`](SharedInformerFactory::wait_for_sync) gives up on it. Default 10 s. See
    /// [`WaitLimits::refused`].
    pub fn give_up_refused_after(mut self, time: Duration) -> Self {
        self.limits = self.limits.refused(time);
        self
    }

    /// How long the server may be unreachable for an informer (connections fail, answers are late or 5xx)
    /// before [`wait_for_sync`](SharedInformerFactory::wait_for_sync) gives up on it. Default 60 s. See
    /// [`WaitLimits::unreachable`].
    pub fn give_up_unreachable_after(mut self, time: Duration) -> Self {
        self.limits = self.limits.unreachable(time);
        self
    }

    /// Sets more for one kind. `options` begins with what the factory has for every kind, and everything an informer alone could be
    /// given can be set: resync, page size, selectors, namespaces, transform, indexes, buffers, managedFields. What is set here
    /// replaces what the factory has: a label selector here is not joined with the factory's.
    ///
    /// Giving a kind options does not make its informer: it is made when it is asked for.
    pub fn kind<K>(
        self,
        options: impl FnOnce(SharedInformerBuilder<K>) -> SharedInformerBuilder<K> + Send + 'static,
    ) -> Self
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Default + Clone + Send,
    {
        self.kind_with(K::DynamicType::default(), options)
    }

    /// Like [`kind`](Self::kind), for a kind that is known at run time only: `DynamicObject` with its `ApiResource`.
    pub fn kind_with<K>(
        mut self,
        dynamic_type: K::DynamicType,
        options: impl FnOnce(SharedInformerBuilder<K>) -> SharedInformerBuilder<K> + Send + 'static,
    ) -> Self
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone + Send,
    {
        self.kinds.push(Box::new(move |client, defaults, registry| {
            let resource = resource_of::<K>(&dynamic_type);
            check_resource(&resource.group, &resource.version, &resource.resource)?;
            let name = match resource.group.as_str() {
                "" => resource.resource.clone(),
                group => format!("{}.{group}", resource.resource),
            };
            let builder = SharedInformer::<K>::builder_with(client.clone(), dynamic_type);
            let informer = options(defaults.apply(builder, Reach::Configured))
                .build()
                .map_err(|error| FactoryBuildError::Kind {
                    resource: name.clone(),
                    error,
                })?;
            registry
                .prepare(resource, informer)
                .map_err(|_| FactoryBuildError::KindTwice { resource: name })
        }));
        self
    }

    /// Makes the factory. Nothing is asked of the server yet.
    ///
    /// # Errors
    /// The first option that cannot be used: an empty namespace, a broken selector, a page size of zero.
    pub fn build(self) -> Result<SharedInformerFactory, FactoryBuildError> {
        self.defaults.validate().map_err(FactoryBuildError::Defaults)?;
        let registry = Registry::new();
        for prepare in self.kinds {
            prepare(&self.client, &self.defaults, &registry)?;
        }
        Ok(SharedInformerFactory {
            inner: Arc::new(Inner {
                client: self.client,
                defaults: self.defaults,
                limits: self.limits,
                registry,
            }),
        })
    }
}

impl Defaults {
    fn validate(&self) -> Result<(), BuildError> {
        self.namespaces.validate()?;
        self.list_options.validate().map_err(KubeSourceError::from)?;
        match self.reflector.page_size {
            Some(0) => Err(BuildError::ZeroPageSize),
            _ => Ok(()),
        }
    }

    /// Gives an informer what the factory has for every kind.
    pub(super) fn apply<K: Object>(
        &self,
        builder: SharedInformerBuilder<K>,
        reach: Reach,
    ) -> SharedInformerBuilder<K> {
        let is_cluster_scoped =
            reach == Reach::Cluster || TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        // Every field is named, so that a new option cannot be forgotten here.
        let Self {
            namespaces,
            list_options,
            resync,
            reflector,
            queue,
            transform,
            handlers,
            managed_fields,
            max_object_bytes,
            answer_deadline,
            on_watch_error,
            audit,
            runtime,
            token,
            offload,
        } = self;
        let mut builder = builder
            .tweak_list_options(|_| list_options.clone())
            .reflector(|_| reflector.clone())
            .queue(*queue)
            .handler_defaults(handlers.clone())
            .managed_fields(*managed_fields)
            .cancel_with(token)
            .offload(*offload);
        if let Namespaces::These(namespaces) = namespaces
            && !is_cluster_scoped
        {
            builder = builder.namespaces(namespaces);
        }
        if let Some(period) = resync {
            builder = builder.resync(*period);
        }
        if let Some(transform) = transform {
            builder = builder.transform_any(transform.clone());
        }
        if let Some(bytes) = max_object_bytes {
            builder = builder.max_object_bytes(*bytes);
        }
        if let Some(time) = answer_deadline {
            builder = builder.answer_deadline(*time);
        }
        if let Some(handler) = on_watch_error.clone() {
            builder = builder.on_watch_error(move |scope, error| handler(scope, error));
        }
        if let Some(options) = audit {
            builder = builder.audit(options.clone());
        }
        if let Some(runtime) = runtime {
            builder = builder.runtime(runtime.clone());
        }
        builder
    }
}

impl std::fmt::Debug for SharedInformerFactoryBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedInformerFactoryBuilder")
            .field("namespaces", &self.defaults.namespaces)
            .field("list_options", &self.defaults.list_options)
            .field("kinds", &self.kinds.len())
            .finish_non_exhaustive()
    }
}
