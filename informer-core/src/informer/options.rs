//! The options that the builders of informers and of factories share: fields, defaults, validation, methods.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::BuildError;
use crate::audit::AuditOptions;
use crate::delta::QueueOptions;
use crate::handler::HandlerOptions;
use crate::reflector::{ReflectorConfig, RequestBudget};
use crate::scope::Scope;
use crate::source::{self, KubeSourceError, KubeSourceOptions};
use crate::status::WatchErrorHandler;
use crate::store::total::TotalBytes;
use crate::sync::Offload;

/// The options of one informer, or of every informer of a factory.
///
/// Transforms are not among them: an informer's transform takes its kind, a factory's takes any object.
#[derive(Clone, Default)]
#[allow(missing_docs, reason = "documented at the methods that set them")]
pub struct InformerOptions {
    pub namespaces: Namespaces,
    pub source: KubeSourceOptions,
    pub reflector: ReflectorConfig,
    pub queue: QueueOptions,
    pub resync: Option<Duration>,
    pub on_watch_error: Option<WatchErrorHandler>,
    pub audit: Option<AuditOptions>,
    pub handler_defaults: HandlerOptions,
    pub budget: Option<RequestBudget>,
    pub total_bytes: Option<TotalBytes>,
    pub runtime: Option<Handle>,
    /// Every informer gets a child of this token, so stopping one informer does not stop the others.
    pub token: CancellationToken,
    pub offload: Offload,
}

impl InformerOptions {
    /// Reports the first invalid option that can be found without a server.
    pub fn validate(&self) -> Result<(), BuildError> {
        if self.reflector.page_size == Some(0) {
            return Err(BuildError::ZeroPageSize);
        }
        self.namespaces.scopes()?;
        self.source
            .list_options
            .validate()
            .map_err(KubeSourceError::from)?;
        Ok(())
    }
}

/// The namespaces that an informer covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// All namespaces, or a cluster-scoped kind.
    #[default]
    All,
    /// The listed namespaces: one informer with one list, one watch and one version per namespace.
    These(Vec<String>),
    /// None. They are added later.
    None,
    /// Namespaces that are added when they become known. Until [`AWAITED`] is removed, the informer is not in
    /// sync.
    Awaited,
}

/// Stands for the namespaces that are not known yet. No namespace has this name.
pub const AWAITED: &str = "";

impl Namespaces {
    /// Returns one scope for all namespaces, or one per listed namespace.
    pub(super) fn scopes(&self) -> Result<Vec<Scope>, BuildError> {
        let namespaces = match self {
            Self::All => return Ok(vec![Scope::All]),
            Self::None | Self::Awaited => return Ok(vec![Scope::of(Some(AWAITED))]),
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

/// Checks the name of a namespace.
pub fn check_namespace(namespace: &str) -> Result<(), BuildError> {
    if namespace.is_empty() {
        return Err(BuildError::EmptyNamespace);
    }
    Ok(source::check_namespace(namespace)?)
}

/// Rejects repeated scopes, and "all namespaces" beside another scope: every object belongs to one source.
pub(super) fn check_scopes(scopes: &[Scope]) -> Result<(), BuildError> {
    let mut seen = BTreeSet::new();
    for scope in scopes {
        if !seen.insert(scope) || (*scope == Scope::All && scopes.len() > 1) {
            return Err(BuildError::RepeatedScope(scope.to_string()));
        }
    }
    Ok(())
}

/// Writes the methods of the shared options into the `impl` block of a builder.
///
/// The builder has a field `options: InformerOptions` and a field `transform: Option<Transform<$object>>`.
/// A macro and not a trait, so that users import nothing and rustdoc lists the methods on both builders.
#[doc(hidden)]
#[macro_export]
macro_rules! __shared_options {
    ($object:ty) => {
        /// Covers all namespaces. This is the default; use it to undo an earlier choice.
        pub fn all_namespaces(mut self) -> Self {
            self.options.namespaces = $crate::__options::Namespaces::All;
            self
        }

        /// Covers one namespace. Default: all namespaces.
        ///
        /// A factory ignores namespaces for cluster-scoped kinds. For a single informer of a cluster-scoped
        /// kind they are an error of `build`.
        pub fn namespace(self, namespace: impl Into<String>) -> Self {
            self.namespaces([namespace])
        }

        /// Covers several namespaces, with one cache per kind, and one list and one watch per namespace. See
        /// [`namespace`](Self::namespace).
        pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
            let namespaces = namespaces.into_iter().map(Into::into).collect();
            self.options.namespaces = $crate::__options::Namespaces::These(namespaces);
            self
        }

        /// Covers no namespace until some are added with `add_namespace`. Until then nothing is requested and
        /// the cache is empty.
        pub fn no_namespaces(mut self) -> Self {
            self.options.namespaces = $crate::__options::Namespaces::None;
            self
        }

        /// Covers only objects that match a label selector, such as `tier=frontend,env in (prod, test)`.
        pub fn labels(self, selector: impl Into<String>) -> Self {
            let selector = selector.into();
            self.tweak_list_options(|options| options.labels(selector))
        }

        /// Covers only objects that match a field selector, such as `spec.nodeName=node-1`.
        pub fn fields(self, selector: impl Into<String>) -> Self {
            let selector = selector.into();
            self.tweak_list_options(|options| options.fields(selector))
        }

        /// Edits the options of every list and watch: selectors and further parameters.
        pub fn tweak_list_options(
            mut self,
            tweak: impl FnOnce($crate::source::ListOptions) -> $crate::source::ListOptions,
        ) -> Self {
            self.options.source.list_options = tweak(self.options.source.list_options);
            self
        }

        /// Sets how often handlers receive every cached object again, changed or not. Default: never.
        ///
        /// The informer checks this often whether the resync period of a handler (this one, unless its
        /// options set another) has passed. A handler added before the start may have a shorter period; for
        /// one added later this period is the minimum. A period below one second counts as one second.
        pub fn resync(mut self, period: ::std::time::Duration) -> Self {
            self.options.resync = Some(period);
            self
        }

        /// Sets how many objects a page of a LIST holds.
        pub fn page_size(mut self, objects: u32) -> Self {
            self.options.reflector.page_size = Some(objects);
            self
        }

        /// Sets how the initial state is read: by LIST, or by a streaming watch.
        pub fn initial_state(mut self, initial: $crate::InitialState) -> Self {
            self.options.reflector.initial = initial;
            self
        }

        /// Edits the settings of the reflector: pages, backoff, timeouts. `edit` receives the current
        /// settings:
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
        pub fn reflector(
            mut self,
            edit: impl FnOnce($crate::ReflectorConfig) -> $crate::ReflectorConfig,
        ) -> Self {
            self.options.reflector = edit(self.options.reflector);
            self
        }

        /// Sets the limits of the queue between reflector and store.
        pub fn queue(mut self, options: $crate::delta::QueueOptions) -> Self {
            self.options.queue = options;
            self
        }

        /// Sets a function that edits each object once, before it reaches store, indexes and handlers. See
        /// [`Transform`](informer_core::delta::Transform).
        ///
        /// The transform of a factory receives the objects of every kind; one that is set for a
        /// single kind replaces it for that kind.
        pub fn transform(self, transform: impl Fn(&mut $object) + Send + Sync + 'static) -> Self {
            self.try_transform(move |object: &mut $object| {
                transform(object);
                Ok(())
            })
        }

        /// Like [`transform`](Self::transform), for a transform that can fail.
        pub fn try_transform(
            mut self,
            transform: impl Fn(&mut $object) -> Result<(), String> + Send + Sync + 'static,
        ) -> Self {
            self.transform = Some(::std::sync::Arc::new(transform));
            self
        }

        /// Sets the options (buffer, overflow, resync) of handlers and streams that are added without
        /// options.
        pub fn handler_defaults(mut self, options: $crate::HandlerOptions) -> Self {
            self.options.handler_defaults = options;
            self
        }

        /// Sets a function that is called with every failed list or watch. The informer retries in any case.
        pub fn on_watch_error(
            mut self,
            handler: impl Fn(&$crate::Scope, &$crate::source::SourceError) + Send + Sync + 'static,
        ) -> Self {
            self.options.on_watch_error = Some(::std::sync::Arc::new(handler));
            self
        }

        /// Compares the cache with the server at intervals, and relists if they differ. Default: never. See
        /// [`AuditOptions`](informer_core::AuditOptions) for the cost.
        pub fn audit(mut self, options: $crate::AuditOptions) -> Self {
            self.options.audit = Some(options);
            self
        }

        /// Disables the audit. This is the default; use it to undo an earlier choice.
        pub fn no_audit(mut self) -> Self {
            self.options.audit = None;
            self
        }

        /// Sets whether objects keep their `managedFields`. Default: they are dropped while decoding.
        pub fn managed_fields(mut self, managed_fields: $crate::source::ManagedFields) -> Self {
            self.options.source.managed_fields = managed_fields;
            self
        }

        /// Sets the encoding that is requested from the server. Default: protobuf for kinds that have a
        /// decoder of it, with JSON as the second choice.
        pub fn encoding(mut self, encoding: $crate::source::Encoding) -> Self {
            self.options.source.encoding = encoding;
            self
        }

        /// Sets how many objects an informer may hold. Default: 10,000,000. See
        /// [`ReflectorConfig::max_objects`](informer_core::ReflectorConfig::max_objects).
        ///
        /// Past a limit the cache keeps its last state and does not grow: `status()` reports
        /// [`State::LimitReached`](informer_core::State::LimitReached), and the cache is current again when
        /// the server has less.
        pub fn max_objects(mut self, objects: usize) -> Self {
            self.options.reflector.max_objects = objects;
            self
        }

        /// Sets the largest size of all objects of an informer, in the approximate bytes of
        /// [`Snapshot::bytes`](informer_core::store::Snapshot::bytes). Default: no limit. Enforced like
        /// [`max_objects`](Self::max_objects).
        pub fn max_bytes(mut self, bytes: u64) -> Self {
            self.options.reflector.max_bytes = Some(bytes);
            self
        }

        /// Sets the largest object that is accepted, in bytes of its encoding. Default: 16 MiB.
        ///
        /// A larger one is skipped and reported like one that cannot be decoded: the cache keeps its last
        /// good state, marked stale. At most 32 MiB beyond the limit are skipped; more of one object ends
        /// the list or watch with an error.
        pub fn max_object_bytes(mut self, bytes: usize) -> Self {
            self.options.source.max_object_bytes = bytes;
            self
        }

        /// Sets how long the server may take to begin its answer. Default: 30 s. See
        /// [`KubeSourceOptions::answer_deadline`](informer_core::source::KubeSourceOptions::answer_deadline).
        pub fn answer_deadline(mut self, time: ::std::time::Duration) -> Self {
            self.options.source.answer_deadline = time;
            self
        }

        /// Edits how requests are sent and responses are read. `edit` receives the current options,
        /// selectors included. [`namespaces`](Self::namespaces) sets the namespaces.
        pub fn source_options(
            mut self,
            edit: impl FnOnce($crate::source::KubeSourceOptions) -> $crate::source::KubeSourceOptions,
        ) -> Self {
            self.options.source = edit(self.options.source);
            self
        }

        /// Shares a budget of requests, so that many informers that start or fail together do not overload
        /// the server. Default: a factory's informers share one, a single informer has none. See
        /// [`RequestBudget`](informer_core::RequestBudget).
        pub fn request_budget(mut self, budget: &$crate::RequestBudget) -> Self {
            self.options.budget = Some(budget.clone());
            self
        }

        /// Removes the limit on requests.
        pub fn no_request_budget(mut self) -> Self {
            self.options.budget = None;
            self
        }

        /// Sets the runtime on which the tasks run. Default: the runtime in which `start` is called.
        pub fn runtime(mut self, runtime: ::tokio::runtime::Handle) -> Self {
            self.options.runtime = Some(runtime);
            self
        }

        /// Stops the informers when this token, or a parent of it, is cancelled.
        pub fn cancel_with(mut self, token: &::tokio_util::sync::CancellationToken) -> Self {
            self.options.token = token.clone();
            self
        }

        /// Sets where long work and user code run: decoding large batches, committing large lists,
        /// transforms, index functions. [`Offload::Inline`](informer_core::Offload::Inline) keeps an
        /// informer on one thread, for simulations.
        pub fn offload(mut self, offload: $crate::Offload) -> Self {
            self.options.offload = offload;
            if offload == $crate::Offload::Inline {
                self.options.source.decode_on = $crate::source::DecodeOn::Worker;
            }
            self
        }
    };
}
