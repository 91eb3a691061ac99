//! The factory: one informer for each kind a program asks for, whoever asks, with one start, one wait and one end.

mod builder;
mod discovery;
mod error;
mod resource;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_core::registry::{Registry, RegistryShutdownTimeout, SyncError, SyncProgress, WaitLimits};
use informer_core::{BuildError, DynInformer, InformerStatus, Object, Scope, SharedInformer};
use kube::core::{ApiResource, DynamicObject, GroupVersionResource, PartialObjectMeta};
use serde::de::DeserializeOwned;

pub use builder::SharedInformerFactoryBuilder;
use builder::{Defaults, Reach};
pub use error::{FactoryBuildError, LookupError, ResourceError};
pub use resource::ResourceInformer;

/// Makes informers and shares them: for each kind there is one, so that any number of parts of a program cost the API server one
/// list and one watch.
///
/// A factory is a handle; clones share everything. A part of a program asks for what it needs and does not know what others
/// asked for:
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
/// # Life
///
/// Asking for an informer or a lister makes the informer; [`start`](Self::start) starts those that were made and are not
/// started, and may be called again. When the last handle of the factory is gone, its informers stop, whoever else holds one;
/// listers go on answering from the last state. An accessor ([`ResourceInformer`]) counts as a handle, a [`SharedInformer`] or a
/// lister does not. A handler should capture listers, not the factory: it would keep alive what keeps it alive.
///
/// # Options
///
/// What the [`builder`](Self::builder) sets holds for every kind; [`kind`](SharedInformerFactoryBuilder::kind) sets more for one.
#[derive(Clone)]
pub struct SharedInformerFactory {
    inner: Arc<Inner>,
}

struct Inner {
    client: kube::Client,
    defaults: Defaults,
    limits: WaitLimits,
    registry: Registry,
}

impl SharedInformerFactory {
    /// A factory with all defaults: every namespace, no selectors, no resync.
    ///
    /// Any `kube::Client` will do; [`client::try_default`](crate::client::try_default) makes one that suits watching best.
    pub fn new(client: kube::Client) -> Self {
        let built = Self::builder(client).build();
        built.expect("the defaults are valid")
    }

    /// Prepares a factory with options.
    pub fn builder(client: kube::Client) -> SharedInformerFactoryBuilder {
        SharedInformerFactoryBuilder::new(client)
    }

    /// What belongs to one kind: its informer and its lister. The accessors of built-in kinds, as in `factory.core().v1().pods()`,
    /// are this with the kind filled in. Nothing is made yet.
    #[inline]
    pub fn kind<K>(&self) -> ResourceInformer<K> {
        ResourceInformer::new(self.clone())
    }

    /// The informer of any kind that is known when the program is compiled, such as a custom resource.
    pub fn informer_for<K>(&self) -> SharedInformer<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Default + Clone,
    {
        self.informer_of_type(K::DynamicType::default(), Reach::Configured)
    }

    /// An informer that keeps only the metadata of a kind's objects, and asks the server for no more. It is separate from the
    /// kind's full informer: a program may have both.
    pub fn metadata_for<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Object,
        K::DynamicType: Default + Clone,
    {
        self.informer_for::<PartialObjectMeta<K>>()
    }

    /// The informer of a kind that is known at run time only: `DynamicObject`, or `PartialObjectMeta` of it, with its `ApiResource`.
    ///
    /// If the factory is limited to namespaces the kind is taken to be namespaced; [`find`](Self::find) asks the server.
    ///
    /// # Errors
    /// [`ResourceError`] if no server could have a resource of this name.
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

    /// Like [`metadata_for`](Self::metadata_for), for a resource that is known at run time only.
    ///
    /// # Errors
    /// [`ResourceError`] if no server could have a resource of this name.
    #[inline]
    pub fn metadata_for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<SharedInformer<PartialObjectMeta<DynamicObject>>, ResourceError> {
        self.informer_with(kind_unknown(resource))
    }

    /// The informer of a resource, without its type: the typed one if this factory has made one or was given
    /// [options](SharedInformerFactoryBuilder::kind) for it, else one of [`DynamicObject`]s. One that has only a part of each object, metadata or a
    /// [projection](informer_core::Projected), is never taken for it.
    ///
    /// The server is not asked whether it has the resource: if it does not, the informer's state says so, and
    /// [`wait_for_sync`](Self::wait_for_sync) names it. If the factory is limited to namespaces the resource is taken to be
    /// namespaced; [`find`](Self::find) asks the server about both.
    ///
    /// # Errors
    /// [`ResourceError`] if no server could have a resource of this name.
    #[inline]
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Result<DynInformer, ResourceError> {
        error::check_resource(&resource.group, &resource.version, &resource.resource)?;
        Ok(self.untyped(resource, kind_unknown(resource), Reach::Configured))
    }

    /// The informer of a resource under a name that `kubectl get` would take: plural (`deployments`), singular, kind (`Deployment`) or
    /// short name (`deploy`), alone or followed by `.group` or `.version.group`. Like [`for_resource`](Self::for_resource), after the
    /// server was asked what it has: two requests, at most 30 s.
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
        let made = registry.find_or_make(resource, || self.build::<DynamicObject>(kind, reach));
        made.expect(CHECKED)
    }

    /// Every informer that was asked for, in that order.
    pub fn informers(&self) -> Vec<DynInformer> {
        self.inner.registry.informers()
    }

    /// How every informer that was asked for is doing.
    pub fn status(&self) -> Vec<InformerStatus> {
        self.informers().iter().map(DynInformer::status).collect()
    }

    /// Starts every informer that was asked for and is not started. Returns at once. Call it again after asking for more.
    ///
    /// Without a tokio runtime, here or in the [builder](SharedInformerFactoryBuilder::runtime), nothing can start:
    /// [`wait_for_sync`](Self::wait_for_sync) says so.
    pub fn start(&self) {
        self.inner.registry.start();
    }

    /// Waits until every started informer, and every handler it has, is in sync: the cache has the whole initial state, and the
    /// handlers have returned from it. Streams are not waited for: their readers decide when to go on.
    ///
    /// As in client-go, informers created after the last [`start`](Self::start) are neither started nor
    /// waited for: call `start` again. This logs a warning that names each of them once, and so does the
    /// first read from a lister of an informer that was never started.
    ///
    /// # Errors
    /// [`SyncError`] names each informer that is not in sync, and why. It is returned when nothing else is
    /// left to wait for, that is when each of those informers
    ///
    /// - has failed for 10 s ([configurable](SharedInformerFactoryBuilder::give_up_refused_after)) in a way that no
    ///   waiting heals: no rights (403), no such resource (404), bad credentials (401), a bad request (400, 422), a
    ///   certificate that is not trusted, an object over the size limit;
    /// - has not reached the server, or has received nothing but 5xx answers, for 60 s
    ///   ([configurable](SharedInformerFactoryBuilder::give_up_unreachable_after));
    /// - or has stopped.
    ///
    /// These times count from the call and include at least one attempt that was begun after it, so calling
    /// this again waits again. If nothing was ever started, the error is returned at once. Informers go on
    /// trying in any case.
    pub async fn wait_for_sync(&self) -> Result<(), SyncError> {
        self.inner.registry.wait_for_sync(self.inner.limits).await
    }

    /// Like [`wait_for_sync`](Self::wait_for_sync), with a time limit for the whole wait in place of the
    /// others: while an informer is refused or cannot reach the server, this goes on waiting until `time` has
    /// passed.
    pub async fn wait_for_sync_within(&self, time: Duration) -> Result<(), SyncError> {
        self.inner.registry.wait_for_sync(WaitLimits::within(time)).await
    }

    /// The way to being in sync, to be shown to somebody who waits.
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

    /// Stops every informer. When this returns, no task of theirs runs. Informers asked for afterwards have stopped already.
    ///
    /// Do not await it inside a handler: it waits for that handler.
    pub async fn shutdown(&self) {
        self.inner.registry.shutdown().await;
    }

    /// Like [`shutdown`](Self::shutdown), but gives up waiting after a time and names the handlers that are still busy.
    pub async fn shutdown_timeout(&self, time: Duration) -> Result<(), RegistryShutdownTimeout> {
        self.inner.registry.shutdown_timeout(time).await
    }

    /// The client the informers use.
    pub fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    fn informer_of_type<K>(&self, dynamic_type: K::DynamicType, reach: Reach) -> SharedInformer<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let resource = resource_of::<K>(&dynamic_type);
        let made = self
            .inner
            .registry
            .get_or_make(&resource, || self.build(dynamic_type, reach));
        made.expect(CHECKED)
    }

    fn build<K>(&self, dynamic_type: K::DynamicType, reach: Reach) -> Result<SharedInformer<K>, BuildError>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let Inner { client, defaults, .. } = &*self.inner;
        defaults.builder(client, dynamic_type, reach).build()
    }
}

/// Why an informer with the factory's own options can always be made.
const CHECKED: &str =
    "the defaults were checked when the factory was built, and the name of the resource is sound";

/// Whether an informer covers single namespaces only.
fn is_limited(informer: &DynInformer) -> bool {
    let status = informer.status();
    status
        .scopes
        .iter()
        .any(|scope| matches!(scope.scope, Scope::Namespace(_)))
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("registry", &self.inner.registry)
            .finish_non_exhaustive()
    }
}

/// What identifies the resource of a kind.
fn resource_of<K: Object>(dynamic_type: &K::DynamicType) -> GroupVersionResource {
    GroupVersionResource::gvr(
        &K::group(dynamic_type),
        &K::version(dynamic_type),
        &K::plural(dynamic_type),
    )
}

/// A resource of which nobody said what its kind is called; its objects do.
fn kind_unknown(resource: &GroupVersionResource) -> ApiResource {
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
