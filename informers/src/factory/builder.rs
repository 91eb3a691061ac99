//! The options of a factory, and of single kinds in it.

use std::any::TypeId;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_core::__options::{InformerOptions, Namespaces, TotalBytes};
use informer_core::delta::Transform;
use informer_core::registry::{Registry, WaitLimits};
use informer_core::source::protobuf::DecodeProtobuf;
use informer_core::{AnyObject, Object, RequestBudget, SharedInformer, SharedInformerBuilder};
use kube::core::ClusterResourceScope;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use super::error::check_resource;
use super::namespaces::{Covered, Follow, FollowingFactory, Follows};
use super::{FactoryBuildError, Inner, SharedInformerFactory, resource_of};

/// Configures the informers of a factory. Created by [`SharedInformerFactory::builder`].
///
/// An option set here applies to every kind; [`kind`](Self::kind) overrides it for one. Apart from `kind` and
/// the limits of [`wait_for_sync`](SharedInformerFactory::wait_for_sync), the options are those of a single
/// informer.
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
///     .transform(|object| object.metadata_mut().annotations = None) // every kind, as `dyn AnyObject`
///     .kind::<Pod>(|pods| pods.labels("tier=frontend").label_index("app"))
///     .kind::<Secret>(|secrets| secrets.transform(|secret| secret.data = None))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing happens before `build`"]
pub struct SharedInformerFactoryBuilder {
    client: kube::Client,
    pub(super) options: InformerOptions,
    transform: Option<Transform<dyn AnyObject>>,
    limits: WaitLimits,
    kinds: Vec<Prepare>,
    pub(super) follow: Option<Follow>,
}

/// Builds the informer of one kind with its options and registers it for when it is requested.
type Prepare = Box<dyn FnOnce(&kube::Client, &Defaults, &Registry) -> Result<(), FactoryBuildError> + Send>;

/// The options that every informer of a factory starts with.
pub(super) struct Defaults {
    options: InformerOptions,
    transform: Option<Transform<dyn AnyObject>>,
}

/// The namespaces that an informer covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the factory, or none if its type is cluster-scoped.
    Configured,
    /// None: the server reports the resource as cluster-scoped.
    Cluster,
}

impl SharedInformerFactoryBuilder {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client,
            options: InformerOptions {
                budget: Some(RequestBudget::default()),
                ..InformerOptions::default()
            },
            transform: None,
            limits: WaitLimits::default(),
            kinds: Vec::new(),
            follow: None,
        }
    }

    informer_core::__shared_options!(dyn AnyObject);

    /// Sets the largest size of all objects of all informers of this factory together, in the approximate
    /// bytes of [`Snapshot::bytes`](crate::Snapshot::bytes). Default: no limit.
    ///
    /// An informer that would exceed it keeps its last state and does not grow: its state is
    /// [`State::LimitReached`](crate::State::LimitReached), and the others go on. It is current again when
    /// the server has less, or when another informer has less or was
    /// [released](SharedInformerFactory::release): it reads its state again every one to two minutes. What
    /// is being read counts as well, so informers that start together cannot exceed the limit together.
    pub fn max_total_bytes(mut self, bytes: u64) -> Self {
        self.options.total_bytes = Some(TotalBytes::new(bytes));
        self
    }

    /// Sets how long an informer may fail in a way that retries do not fix (401, 403, 404, 400, 422,
    /// certificates) before [`wait_for_sync`](SharedInformerFactory::wait_for_sync) gives up on it. Default:
    /// 10 s. See [`WaitLimits::refused`].
    pub fn give_up_refused_after(mut self, time: Duration) -> Self {
        self.limits = self.limits.refused(time);
        self
    }

    /// Sets how long the server may be unreachable for an informer (connections fail, responses are late or
    /// 5xx) before [`wait_for_sync`](SharedInformerFactory::wait_for_sync) gives up on it. Default: 60 s. See
    /// [`WaitLimits::unreachable`].
    pub fn give_up_unreachable_after(mut self, time: Duration) -> Self {
        self.limits = self.limits.unreachable(time);
        self
    }

    /// Sets the options of one kind. `options` receives a builder with the options of the factory, and may
    /// set every option of a single informer, indexes included. An option set here replaces that of the
    /// factory: two label selectors are not combined.
    ///
    /// This does not create the informer; requesting it does.
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

    /// Like [`kind`](Self::kind), for a kind that is known only at run time: `DynamicObject` with its
    /// `ApiResource`.
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
            let builder = options(defaults.builder::<K>(client, dynamic_type, Reach::Configured));
            let has_own_namespaces = *builder.__namespaces() != defaults.options.namespaces;
            let informer = builder.build().map_err(|error| FactoryBuildError::Kind {
                resource: name.clone(),
                error,
            })?;
            registry
                .prepare(resource.clone(), informer)
                .map_err(|_| FactoryBuildError::KindTwice { resource: name })?;
            if has_own_namespaces {
                registry.keep_namespaces::<K>(&resource);
            }
            Ok(())
        }));
        self
    }

    /// Creates the factory. It sends no request.
    ///
    /// # Errors
    /// The first invalid option: an empty namespace, an invalid selector, a page size of zero.
    pub fn build(self) -> Result<SharedInformerFactory, FactoryBuildError> {
        self.options.validate().map_err(FactoryBuildError::Defaults)?;
        let defaults = Defaults {
            options: self.options,
            transform: self.transform,
        };
        let registry = Registry::new();
        for prepare in self.kinds {
            prepare(&self.client, &defaults, &registry)?;
        }
        let covered = Covered::of(&defaults.options.namespaces);
        // The handler refers to the factory, which does not exist yet.
        let mut failed = None;
        let inner = Arc::new_cyclic(|factory| {
            let follow = self.follow.map(|follow| {
                let factory = FollowingFactory(factory.clone());
                follow(&self.client, &defaults, &registry, factory)
            });
            let follows = match follow.transpose() {
                Ok(registration) => registration.map(Follows::new),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            };
            Inner {
                client: self.client,
                defaults,
                limits: self.limits,
                registry,
                controllers: Mutex::default(),
                leases: Mutex::default(),
                covered,
                follows,
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(SharedInformerFactory { inner }),
        }
    }
}

impl Defaults {
    /// The limit on the size of all informers together.
    pub(super) fn max_total_bytes(&self) -> Option<u64> {
        self.options.total_bytes.as_ref().map(TotalBytes::limit)
    }

    /// The token that stops every informer of the factory.
    #[cfg(feature = "debug-server")]
    pub(super) fn token(&self) -> &tokio_util::sync::CancellationToken {
        &self.options.token
    }

    /// The runtime that was set for all informers.
    pub(super) fn runtime(&self) -> Option<Handle> {
        self.options.runtime.clone()
    }

    /// Like [`builder`](Self::builder), for the namespaces that the factory covers now.
    pub(super) fn builder_within<K>(
        &self,
        client: &kube::Client,
        dynamic_type: K::DynamicType,
        reach: Reach,
        namespaces: Namespaces,
    ) -> SharedInformerBuilder<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let mut now = Self {
            options: self.options.clone(),
            transform: self.transform.clone(),
        };
        now.options.namespaces = namespaces;
        now.builder(client, dynamic_type, reach)
    }

    /// Returns a builder for the informer of one kind, with the options of the factory.
    pub(super) fn builder<K>(
        &self,
        client: &kube::Client,
        dynamic_type: K::DynamicType,
        reach: Reach,
    ) -> SharedInformerBuilder<K>
    where
        K: Object + DeserializeOwned,
        K::DynamicType: Clone,
    {
        let mut options = self.options.clone();
        if reach == Reach::Cluster || TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
            options.namespaces = Namespaces::All;
        }
        let builder = SharedInformer::builder_with(client.clone(), dynamic_type)
            .__with_options(options, self.transform.clone());
        match protobuf_decoder::<K>() {
            Some(decode) => builder.protobuf(decode),
            None => builder,
        }
    }
}

/// Returns the protobuf decoder of a built-in kind. All other kinds are read as JSON.
#[cfg(feature = "protobuf")]
fn protobuf_decoder<K: Object>() -> Option<DecodeProtobuf<K>> {
    informer_protobuf::decoder::<K>()
}

#[cfg(not(feature = "protobuf"))]
fn protobuf_decoder<K: Object>() -> Option<DecodeProtobuf<K>> {
    None
}

impl std::fmt::Debug for SharedInformerFactoryBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedInformerFactoryBuilder")
            .field("namespaces", &self.options.namespaces)
            .field("list_options", &self.options.source.list_options)
            .field("kinds", &self.kinds.len())
            .finish_non_exhaustive()
    }
}
