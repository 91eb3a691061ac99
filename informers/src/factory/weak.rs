//! A handle that does not keep the factory alive, and the end of a factory: for what is served as long as it
//! exists.

use std::sync::{Arc, Weak};

use super::{Inner, SharedInformerFactory};

/// A factory that others keep alive.
#[derive(Clone)]
pub(crate) struct WeakFactory(Weak<Inner>);

#[cfg(feature = "debug-server")]
impl WeakFactory {
    /// Returns the factory if it still exists.
    pub(crate) fn upgrade(&self) -> Option<SharedInformerFactory> {
        self.0.upgrade().map(|inner| SharedInformerFactory { inner })
    }
}

#[cfg(feature = "metrics")]
impl WeakFactory {
    /// Returns the informers and the controllers; `None` once the factory was dropped.
    pub(crate) fn read(
        &self,
    ) -> Option<(
        Vec<informer_core::registry::Identified>,
        Vec<informer_core::controller::WeakController>,
    )> {
        let inner = self.0.upgrade()?;
        let controllers = inner
            .controllers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        Some((inner.registry.identified(), controllers.clone()))
    }
}

impl SharedInformerFactory {
    /// Returns a handle that does not keep the factory alive.
    pub(crate) fn downgrade(&self) -> WeakFactory {
        WeakFactory(Arc::downgrade(&self.inner))
    }

    /// Waits until the factory is shut down or dropped, or its token is cancelled. The future does not keep
    /// the factory alive.
    #[cfg(feature = "debug-server")]
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let token = self.inner.defaults.token().clone();
        let closed = self.inner.registry.closed();
        async move {
            token.run_until_cancelled(closed).await;
        }
    }
}
