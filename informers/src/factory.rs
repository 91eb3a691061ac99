//! The factory: one shared informer per kind, with one start, one wait and one shutdown.

mod builder;
mod discovery;
mod error;
mod lease;
mod namespaces;
mod resource;
mod rights;
mod status;
#[cfg(any(feature = "debug-server", feature = "metrics"))]
mod weak;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::controller::WeakController;
use informer_core::registry::{Registry, RegistryShutdownTimeout, SyncError, SyncProgress, WaitLimits};
use informer_core::{BuildError, DynInformer, Object, Scope, SharedInformer};
use kube::core::{ApiResource, DynamicObject, GroupVersionResource, PartialObjectMeta};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

pub use builder::SharedInformerFactoryBuilder;
use builder::{Defaults, Reach};
pub use error::{FactoryBuildError, LookupError, ResourceError};
pub use lease::InformerLease;
use namespaces::{Covered, Follows};
pub use resource::ResourceInformer;
pub use rights::Rights;
pub(crate) use rights::UsedLease;
pub use status::{FactoryStatus, StatusChanges};
#[cfg(feature = "debug-server")]
pub(crate) use weak::WeakFactory;

/// Creates informers and shares them: one per kind, so any number of components cost the API server one list
/// and one watch.
///
/// A factory is a handle; clones share everything. A component requests the kinds it needs, independently of
/// other components:
///
/// ```no_run
/// # #[cfg(feature = "core")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use informers::{Event, Selector, SharedInformerFactory};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let factory = SharedInformerFactory::new(informers::client::try_default().await?);
/// let pods = factory.core().v1().pods();
/// pods.informer().add_handler(|event: Event<Pod>| println!("{event:?}"))?;
///
/// factory.start();
/// factory.wait_for_sync().await?;
/// println!("{} pods", pods.lister().list(&Selector::everything()).len());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
///
/// # Lifetime
///
/// Requesting an informer or a lister creates the informer. [`start`](Self::start) starts those that are not
/// started yet, and may be called again. When the last handle of the factory is dropped, its informers stop,
/// even if other code holds one; listers continue to return the last state. An accessor
/// ([`ResourceInformer`]) counts as a handle, a [`SharedInformer`] or a lister does not. A handler should
/// capture listers, not the factory: a captured factory keeps itself alive.
///
/// # Options
///
/// The options of the [`builder`](Self::builder) apply to every kind;
/// [`kind`](SharedInformerFactoryBuilder::kind) overrides them for one.
#[derive(Clone)]
pub struct SharedInformerFactory {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    client: kube::Client,
    defaults: Defaults,
    limits: WaitLimits,
    pub(crate) registry: Registry,
    /// The controllers that are shown in the status.
    controllers: Mutex<Vec<WeakController>>,
    /// The leases of leader elections.
    leases: Mutex<Vec<UsedLease>>,
    covered: Mutex<Covered>,
    /// The handler that follows namespaces by their label.
    follows: Option<Follows>,
}

impl SharedInformerFactory {
    /// Creates a factory with all defaults: every namespace, no selectors, no resync.
    ///
    /// Any `kube::Client` works; [`client::try_default`](crate::client::try_default) creates one tuned for
    /// watching.
    pub fn new(client: kube::Client) -> Self {
        let built = Self::builder(client).build();
        built.expect("the defaults are valid")
    }

    /// Returns a builder, to set options.
    pub fn builder(client: kube::Client) -> SharedInformerFactoryBuilder {
        SharedInformerFactoryBuilder::new(client)
    }

    /// Returns the accessor of one kind, for its informer and its lister. The accessors of built-in kinds,
    /// such as `factory.core().v1().pods()`, call this. It does not create the informer.
    #[inline]
    pub fn kind<K>(&self) -> ResourceInformer<K> {
        ResourceInformer::new(self.clone())
    }

    /// Returns the informer of any kind that is known at compile time, such as a custom resource.
    pub fn informer_for<K>(&self) -> SharedInformer<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Default + Clone,
    {
        self.informer_of_type(K::DynamicType::default(), Reach::Configured)
    }

    /// Returns an informer that requests and caches only the metadata of a kind's objects. It is separate
    /// from the informer of whole objects: a program may have both.
    pub fn metadata_for<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Object,
        K::DynamicType: Default + Clone,
    {
        self.informer_for::<PartialObjectMeta<K>>()
    }

    /// Returns the informer of a kind that is known only at run time: `DynamicObject`, or `PartialObjectMeta`
    /// of it, with its `ApiResource`.
    ///
    /// If the factory is limited to namespaces, the kind is assumed to be namespaced; [`find`](Self::find)
    /// asks the server instead.
    ///
    /// # Errors
    /// [`ResourceError`] if the name is not a valid resource name.
    pub fn informer_with<K>(&self, dynamic_type: K::DynamicType) -> Result<SharedInformer<K>, ResourceError>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let GroupVersionResource {
            group,
            version,
            resource,
            ..
        } = resource_of::<K>(&dynamic_type);
        error::check_resource(&group, &version, &resource)?;
        Ok(self.informer_of_type(dynamic_type, Reach::Configured))
    }

    /// Like [`metadata_for`](Self::metadata_for), for a resource that is known only at run time.
    ///
    /// # Errors
    /// [`ResourceError`] if the name is not a valid resource name.
    #[inline]
    pub fn metadata_for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<SharedInformer<PartialObjectMeta<DynamicObject>>, ResourceError> {
        self.informer_with(unknown_kind(resource))
    }

    /// Returns the type-erased informer of a resource: the typed informer if this factory has created one or
    /// has [options](SharedInformerFactoryBuilder::kind) for it, else an informer of [`DynamicObject`]s. It
    /// is never one that has only a part of each object, such as metadata or a
    /// [projection](crate::Projected).
    ///
    /// This does not check that the server has the resource. If it does not, the status of the informer
    /// reports it, and [`wait_for_sync`](Self::wait_for_sync) names it. If the factory is limited to
    /// namespaces, the resource is assumed to be namespaced; [`find`](Self::find) asks the server about both.
    ///
    /// # Errors
    /// [`ResourceError`] if the name is not a valid resource name.
    #[inline]
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<DynInformer, ResourceError> {
        error::check_resource(&resource.group, &resource.version, &resource.resource)?;
        Ok(self.untyped(resource, unknown_kind(resource), Reach::Configured))
    }

    /// Returns the type-erased informer of a resource by any name that `kubectl get` accepts: plural
    /// (`deployments`), singular, kind (`Deployment`) or short name (`deploy`), alone or followed by `.group`
    /// or `.version.group`.
    ///
    /// This first asks the server for its resources (two requests, at most 30 s), then behaves like
    /// [`for_resource`](Self::for_resource).
    ///
    /// # Errors
    /// [`LookupError`] if the server has no such resource, cannot watch it, or does not answer.
    #[inline]
    pub async fn find(&self, name: impl AsRef<str>) -> Result<DynInformer, LookupError> {
        let found = discovery::look_up(&self.inner.client, name.as_ref()).await?;
        let informer = self.untyped(&found.resource(), found.api_resource, found.reach);
        match found.reach == Reach::Cluster && is_limited(&informer) {
            true => Err(LookupError::TakenAsNamespaced {
                resource: informer.resource().to_owned(),
            }),
            false => Ok(informer),
        }
    }

    #[inline]
    fn untyped(&self, resource: &GroupVersionResource, kind: ApiResource, reach: Reach) -> DynInformer {
        let Inner { registry, .. } = &*self.inner;
        let covered = self.inner.covered();
        let informer = registry.find_or_make(resource, || self.build::<DynamicObject>(kind, reach, &covered));
        informer.expect(CHECKED)
    }

    /// Returns every informer that was requested, in the order of the requests.
    pub fn informers(&self) -> Vec<DynInformer> {
        self.inner.registry.informers()
    }

    /// Starts every informer that was requested and is not started. Returns at once. Call it again after
    /// requesting more informers.
    ///
    /// Without a tokio runtime, either the current one or that of the
    /// [builder](SharedInformerFactoryBuilder::runtime), nothing starts, and
    /// [`wait_for_sync`](Self::wait_for_sync) reports it.
    pub fn start(&self) {
        self.inner.registry.start();
        let runtime = self
            .inner
            .defaults
            .runtime()
            .or_else(|| Handle::try_current().ok());
        if let (Some(follows), Some(runtime)) = (&self.inner.follows, runtime)
            && let Some(registration) = follows.begin()
        {
            runtime.spawn(Inner::find_all(registration, Arc::downgrade(&self.inner)));
        }
    }

    /// Waits until every started informer and all its handlers are in sync: the cache has the complete
    /// initial state, and the handlers have processed it. It does not wait for the readers of streams.
    ///
    /// As in client-go, informers created after the last [`start`](Self::start) are neither started nor
    /// waited for: call `start` again. This logs a warning that names each of them once, and so does the
    /// first read from a lister of an informer that was never started.
    ///
    /// # Errors
    /// [`SyncError`] names each informer that is not in sync, and why. It is returned when nothing else is
    /// left to wait for, that is when each of those informers
    ///
    /// - has failed for 10 s ([configurable](SharedInformerFactoryBuilder::give_up_refused_after)) in a way
    ///   that retries do not fix: forbidden (403), no such resource (404), bad credentials (401), a bad
    ///   request (400, 422), an untrusted certificate, an object over the size limit;
    /// - has not reached the server, or has received nothing but 5xx answers, for 60 s
    ///   ([configurable](SharedInformerFactoryBuilder::give_up_unreachable_after));
    /// - or has stopped.
    ///
    /// These times count from the call and include at least one attempt that began after it, so calling this
    /// again waits again. If nothing was ever started, the error is returned at once. Informers keep retrying
    /// in any case.
    pub async fn wait_for_sync(&self) -> Result<(), SyncError> {
        self.inner.registry.wait_for_sync(self.inner.limits).await
    }

    /// Like [`wait_for_sync`](Self::wait_for_sync), with one time limit for the whole wait instead of the
    /// others: while an informer is refused or cannot reach the server, this waits until `time` has passed.
    pub async fn wait_for_sync_within(&self, time: Duration) -> Result<(), SyncError> {
        self.inner.registry.wait_for_sync(WaitLimits::within(time)).await
    }

    /// Returns the sync progress of each informer, for display while waiting.
    ///
    /// ```no_run
    /// # fn example(factory: informers::SharedInformerFactory) {
    /// let mut progress = factory.progress();
    /// tokio::spawn(async move {
    ///     while let Some(report) = progress.next().await {
    ///         println!("{report}"); // 3 of 5 informers in sync; pods: listing, 1200 of 5000; ..
    ///     }
    /// });
    /// # }
    /// ```
    pub fn progress(&self) -> SyncProgress {
        self.inner.registry.progress()
    }

    /// Stops every informer. When this returns, none of their tasks runs. Informers requested later are
    /// already stopped.
    ///
    /// Do not await it inside a handler: it waits for that handler.
    pub async fn shutdown(&self) {
        self.inner.registry.shutdown().await;
    }

    /// Like [`shutdown`](Self::shutdown), with a time limit.
    ///
    /// # Errors
    /// [`RegistryShutdownTimeout`] names the handlers that are still busy when `time` has passed.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), RegistryShutdownTimeout> {
        self.inner.registry.shutdown_timeout(time).await
    }

    /// Returns the client that the informers use.
    pub fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    fn informer_of_type<K>(&self, dynamic_type: K::DynamicType, reach: Reach) -> SharedInformer<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let resource = resource_of::<K>(&dynamic_type);
        let covered = self.inner.covered();
        let informer = self
            .inner
            .registry
            .get_or_make(&resource, || self.build(dynamic_type, reach, &covered));
        informer.expect(CHECKED)
    }

    fn build<K>(
        &self,
        dynamic_type: K::DynamicType,
        reach: Reach,
        covered: &Covered,
    ) -> Result<SharedInformer<K>, BuildError>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let Inner { client, defaults, .. } = &*self.inner;
        let namespaces = covered.namespaces();
        let informer = defaults
            .builder_within(client, dynamic_type, reach, namespaces)
            .build()?;
        covered.settle(&DynInformer::new(informer.clone()));
        Ok(informer)
    }
}

/// Why building an informer with the options of the factory cannot fail.
const CHECKED: &str = "the options and the name of the resource were validated before";

/// Returns whether an informer covers only certain namespaces.
fn is_limited(informer: &DynInformer) -> bool {
    let scopes = informer.status().scopes;
    !scopes.iter().any(|scope| scope.scope == Scope::All)
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("registry", &self.inner.registry)
            .finish_non_exhaustive()
    }
}

/// Returns the resource of a kind.
fn resource_of<K: Object>(dynamic_type: &K::DynamicType) -> GroupVersionResource {
    GroupVersionResource::gvr(
        &K::group(dynamic_type),
        &K::version(dynamic_type),
        &K::plural(dynamic_type),
    )
}

/// Describes a resource whose kind is unknown; its objects carry it.
fn unknown_kind(resource: &GroupVersionResource) -> ApiResource {
    let GroupVersionResource { group, version, .. } = resource;
    ApiResource {
        group: group.clone(),
        version: version.clone(),
        api_version: match group.as_str() {
            "" => version.clone(),
            group => format!("{group}/{version}"),
        },
        kind: String::new(),
        plural: resource.resource.clone(),
    }
}
