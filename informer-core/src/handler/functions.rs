//! A handler built from one function per kind of event.

use std::sync::Arc;

use super::{Deleted, Event, EventHandler, Origin};

type OnAdd<K> = Box<dyn FnMut(Arc<K>, Origin) + Send>;
type OnUpdate<K> = Box<dyn FnMut(Arc<K>, Arc<K>) + Send>;
type OnDelete<K> = Box<dyn FnMut(Deleted<K>) + Send>;

/// A handler made of up to three functions; an event without a function is ignored.
///
/// ```
/// use informer_core::Handlers;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let handlers = Handlers::<Pod>::new()
///     .on_add(|pod, origin| println!("{:?} was added ({origin:?})", pod.metadata.name))
///     .on_delete(|deleted| println!("{:?} was deleted", deleted.last_known().metadata.name));
/// ```
pub struct Handlers<K> {
    on_add: Option<OnAdd<K>>,
    on_update: Option<OnUpdate<K>>,
    on_delete: Option<OnDelete<K>>,
}

impl<K> Handlers<K> {
    /// Creates a handler that ignores every event.
    pub fn new() -> Self {
        Self {
            on_add: None,
            on_update: None,
            on_delete: None,
        }
    }

    /// Called with each addition.
    #[must_use]
    pub fn on_add(mut self, function: impl FnMut(Arc<K>, Origin) + Send + 'static) -> Self {
        self.on_add = Some(Box::new(function));
        self
    }

    /// Called with the old and the new state; both are the same `Arc` for a resync.
    #[must_use]
    pub fn on_update(mut self, function: impl FnMut(Arc<K>, Arc<K>) + Send + 'static) -> Self {
        self.on_update = Some(Box::new(function));
        self
    }

    /// Called with each deletion, observed or missed.
    #[must_use]
    pub fn on_delete(mut self, function: impl FnMut(Deleted<K>) + Send + 'static) -> Self {
        self.on_delete = Some(Box::new(function));
        self
    }
}

impl<K> Default for Handlers<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: 'static> EventHandler<K> for Handlers<K> {
    fn on_event(&mut self, event: Event<K>) {
        match event {
            Event::Added { object, origin } => {
                if let Some(on_add) = &mut self.on_add {
                    on_add(object, origin);
                }
            }
            Event::Updated { old, new, .. } => {
                if let Some(on_update) = &mut self.on_update {
                    on_update(old, new);
                }
            }
            Event::Deleted(deleted) => {
                if let Some(on_delete) = &mut self.on_delete {
                    on_delete(deleted);
                }
            }
        }
    }
}
