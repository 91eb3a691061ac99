//! A handler that receives only the objects that pass a filter.

use std::collections::HashSet;

use super::{Deleted, Event, EventHandler, Origin};
use crate::key::ObjectKey;
use crate::object::Object;

/// Forwards the events of objects that pass a filter. An update that crosses the filter becomes an addition
/// or a deletion.
///
/// It remembers the keys it has forwarded, so that an addition is always followed by its deletion, whatever
/// the last state is. client-go applies the filter to the last state instead, and can lose a deletion.
///
/// ```
/// use informer_core::{Event, Filtered};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let running = Filtered::new(
///     |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running"),
///     |event: Event<Pod>| println!("{event:?}"),
/// );
/// ```
pub struct Filtered<F, H> {
    filter: F,
    handler: H,
    passed: HashSet<ObjectKey>,
}

impl<F, H> Filtered<F, H> {
    /// Forwards the events of objects that `filter` accepts to `handler`.
    pub fn new(filter: F, handler: H) -> Self {
        Self {
            filter,
            handler,
            passed: HashSet::new(),
        }
    }
}

impl<K, F, H> EventHandler<K> for Filtered<F, H>
where
    K: Object,
    F: FnMut(&K) -> bool + Send + 'static,
    H: EventHandler<K>,
{
    fn on_event(&mut self, event: Event<K>) {
        // Without a name there is no key to remember: the object passes by its current state.
        let Some(key) = event.key() else {
            if (self.filter)(event.object()) {
                self.handler.on_event(event);
            }
            return;
        };
        let event = match event {
            Event::Deleted(deleted) => self.passed.remove(&key).then_some(Event::Deleted(deleted)),
            Event::Added { object, origin } => (self.filter)(&object).then(|| {
                self.passed.insert(key);
                Event::Added { object, origin }
            }),
            Event::Updated { old, new, cause } => match (self.passed.contains(&key), (self.filter)(&new)) {
                (true, true) => Some(Event::Updated { old, new, cause }),
                (true, false) => {
                    self.passed.remove(&key);
                    Some(Event::Deleted(Deleted::Observed(old)))
                }
                (false, true) => {
                    self.passed.insert(key);
                    Some(Event::Added {
                        object: new,
                        origin: Origin::Live,
                    })
                }
                (false, false) => None,
            },
        };
        if let Some(event) = event {
            self.handler.on_event(event);
        }
    }
}
