//! The namespaces of a factory, which may change while its informers run.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use informer_core::__options::{AWAITED, Namespaces, check_namespace};
use informer_core::registry::Registry;
use informer_core::source::ListOptions;
use informer_core::{DynInformer, Event, Registration, ScopeError};
use k8s_openapi::api::core::v1::Namespace;
use kube::core::{GroupVersionResource, PartialObjectMeta};

use super::builder::{Defaults, Reach};
use super::{FactoryBuildError, Inner, SharedInformerFactory, SharedInformerFactoryBuilder};

/// The namespaces that a factory covers.
pub(super) enum Covered {
    All,
    These {
        names: BTreeSet<String>,
        knowledge: Knowledge,
    },
}

/// Whether all namespaces are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    Complete,
    /// The namespaces with a label were not read yet. Until then no informer is in sync.
    Awaited,
}

impl Covered {
    pub(super) fn of(namespaces: &Namespaces) -> Mutex<Self> {
        Mutex::new(match namespaces {
            Namespaces::All => Self::All,
            Namespaces::These(names) => Self::These {
                names: names.iter().cloned().collect(),
                knowledge: Knowledge::Complete,
            },
            Namespaces::None => Self::These {
                names: BTreeSet::new(),
                knowledge: Knowledge::Complete,
            },
            Namespaces::Awaited => Self::These {
                names: BTreeSet::new(),
                knowledge: Knowledge::Awaited,
            },
        })
    }

    /// What an informer is built with.
    pub(super) fn namespaces(&self) -> Namespaces {
        match self {
            Self::All => Namespaces::All,
            Self::These {
                knowledge: Knowledge::Awaited,
                ..
            } => Namespaces::Awaited,
            Self::These { names, .. } if names.is_empty() => Namespaces::None,
            Self::These { names, .. } => Namespaces::These(names.iter().cloned().collect()),
        }
    }

    /// Completes an informer that was built with [`namespaces`](Self::namespaces).
    pub(super) fn settle(&self, informer: &DynInformer) {
        if let (Self::These { names, .. }, Namespaces::Awaited) = (self, self.namespaces()) {
            for name in names {
                apply(informer, |informer| informer.add_namespace(name));
            }
        }
    }
}

/// Changes an informer of certain namespaces. Those of cluster-scoped kinds cover everything and stay.
fn apply(informer: &DynInformer, change: impl Fn(&DynInformer) -> Result<(), ScopeError>) {
    // The name was checked, and a stopped informer has no namespaces to change.
    let _ = change(informer);
}

impl SharedInformerFactory {
    /// Adds a namespace to every informer of this factory, running or not, and to those requested later. Not
    /// to cluster-scoped kinds, and not to kinds whose [options](SharedInformerFactoryBuilder::kind) set
    /// other namespaces. Handlers receive its objects as additions: see
    /// [`SharedInformer::add_namespace`](crate::SharedInformer::add_namespace). Does nothing if the namespace
    /// is covered.
    ///
    /// ```no_run
    /// # fn example(factory: informers::SharedInformerFactory) -> Result<(), Box<dyn std::error::Error>> {
    /// factory.add_namespace("team-7")?;
    /// factory.remove_namespace("team-3")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ScopeError`] if the factory covers all namespaces, or if the name is not valid.
    pub fn add_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.inner.cover(namespace)
    }

    /// Removes a namespace from the informers to which [`add_namespace`](Self::add_namespace) would add
    /// it. Its objects leave the caches, and handlers receive them as deletions: see
    /// [`SharedInformer::remove_namespace`](crate::SharedInformer::remove_namespace).
    ///
    /// # Errors
    /// [`ScopeError`] if the factory covers all namespaces.
    pub fn remove_namespace(&self, namespace: &str) -> Result<(), ScopeError> {
        self.inner.uncover(namespace)
    }

    /// Returns the namespaces that the factory covers, in order; `None` for all.
    pub fn namespaces(&self) -> Option<Vec<String>> {
        match &*self.inner.covered() {
            Covered::All => None,
            Covered::These { names, .. } => Some(names.iter().cloned().collect()),
        }
    }
}

impl Inner {
    pub(super) fn covered(&self) -> MutexGuard<'_, Covered> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cover(&self, namespace: &str) -> Result<(), ScopeError> {
        let mut covered = self.covered();
        let names = covered.names()?;
        check_namespace(namespace)?;
        names.insert(namespace.to_owned());
        for informer in self.registry.following() {
            apply(&informer, |informer| informer.add_namespace(namespace));
        }
        Ok(())
    }

    fn uncover(&self, namespace: &str) -> Result<(), ScopeError> {
        let mut covered = self.covered();
        covered.names()?.remove(namespace);
        for informer in self.registry.following() {
            apply(&informer, |informer| informer.remove_namespace(namespace));
        }
        Ok(())
    }

    /// Records that every namespace with the label was added.
    fn found_all(&self) {
        let mut covered = self.covered();
        if let Covered::These { knowledge, .. } = &mut *covered {
            *knowledge = Knowledge::Complete;
        }
        for informer in self.registry.following() {
            apply(&informer, |informer| informer.remove_namespace(AWAITED));
        }
    }
}

impl Covered {
    fn names(&mut self) -> Result<&mut BTreeSet<String>, ScopeError> {
        match self {
            Self::All => Err(ScopeError::AllNamespaces("the kinds of this factory".to_owned())),
            Self::These { names, .. } => Ok(names),
        }
    }
}

impl SharedInformerFactoryBuilder {
    /// Covers the namespaces that a label selector matches, such as `team=web`, as they come and go. The
    /// informers are in sync when those that match are known and listed. Replaces
    /// [`namespaces`](Self::namespaces).
    ///
    /// One more informer, of the metadata of namespaces, is started with the others; it needs `list` and
    /// `watch` on namespaces. When a namespace gets the label, its objects are additions for every handler;
    /// when it loses it or is deleted, deletions.
    ///
    /// ```no_run
    /// # fn example(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use informers::SharedInformerFactory;
    ///
    /// let factory = SharedInformerFactory::builder(client).namespaces_by_label("team=web").build()?;
    /// # Ok(())
    /// # }
    /// ```
    // Inline, so that only programs that call it compile this informer.
    #[inline]
    pub fn namespaces_by_label(mut self, selector: impl Into<String>) -> Self {
        let selector = selector.into();
        self.options.namespaces = Namespaces::Awaited;
        self.follow = Some(Box::new(move |client, defaults, registry, factory| {
            let informer = defaults
                .builder::<PartialObjectMeta<Namespace>>(client, (), Reach::Cluster)
                .tweak_list_options(|_| ListOptions::default().labels(selector))
                .build()
                .map_err(|error| FactoryBuildError::Kind {
                    resource: "namespaces".to_owned(),
                    error,
                })?;
            let registration = informer.add_handler(move |event: Event<PartialObjectMeta<Namespace>>| {
                follow(&factory, &event);
            });
            registry.adopt(GroupVersionResource::gvr("", "v1", "namespaces"), informer);
            Ok(registration.expect("the informer was built just now"))
        }));
        self
    }
}

/// Adds or removes a namespace.
fn follow(factory: &FollowingFactory, event: &Event<PartialObjectMeta<Namespace>>) {
    let Some(inner) = factory.0.upgrade() else {
        return;
    };
    let Some(key) = event.key() else {
        return;
    };
    // The factory covers single namespaces, and these names come from the server.
    let _ = match event {
        Event::Added { .. } => inner.cover(key.name()),
        Event::Deleted(_) => inner.uncover(key.name()),
        _ => Ok(()),
    };
}

/// The factory whose namespaces follow a label.
pub(super) struct FollowingFactory(pub(super) Weak<Inner>);

/// Builds the informer of the namespaces that a selector matches, and registers its handler.
pub(super) type Follow = Box<
    dyn FnOnce(
            &kube::Client,
            &Defaults,
            &Registry,
            FollowingFactory,
        ) -> Result<Registration, FactoryBuildError>
        + Send,
>;

/// The handler that follows namespaces by their label.
pub(super) struct Follows {
    /// Taken by the task that waits until every namespace was found.
    awaited: Mutex<Option<Registration>>,
    /// Keeps the handler.
    _handler: Registration,
}

impl Follows {
    pub(super) fn new(handler: Registration) -> Self {
        Self {
            awaited: Mutex::new(Some(handler.clone())),
            _handler: handler,
        }
    }

    /// What to wait for, in the first call.
    pub(super) fn begin(&self) -> Option<Registration> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Inner {
    /// Waits until every namespace with the label was added.
    pub(super) async fn find_all(registration: Registration, factory: Weak<Self>) {
        if registration.synced().await.is_ok()
            && let Some(inner) = factory.upgrade()
        {
            inner.found_all();
        }
    }
}
