//! Records the events that a handler receives, and checks that they are consistent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use informer_core::{
    AddHandlerError, Deleted, Event, HandlerOptions, Object, Origin, Registration, ResourceVersion,
    SharedInformer, UpdateCause,
};

/// The events of one handler. Clones share the record.
pub struct Recorder<K>(Arc<Mutex<Vec<Event<K>>>>);

impl<K> Clone for Recorder<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Recorder<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Object> Recorder<K> {
    /// Creates an empty recorder; [`Recorder::handler`] fills it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a recording handler to the informer.
    ///
    /// # Errors
    /// The informer does not take handlers any more.
    pub fn of(informer: &SharedInformer<K>) -> Result<(Self, Registration), AddHandlerError> {
        Self::of_with(HandlerOptions::default(), informer)
    }

    /// Adds a recording handler with options to the informer.
    ///
    /// # Errors
    /// The informer does not take handlers any more.
    pub fn of_with(
        options: HandlerOptions,
        informer: &SharedInformer<K>,
    ) -> Result<(Self, Registration), AddHandlerError> {
        let recorder = Self::default();
        let registration = informer.add_handler_with(options, recorder.handler())?;
        Ok((recorder, registration))
    }

    /// Returns a handler that only records its events.
    pub fn handler(&self) -> impl FnMut(Event<K>) + Send + 'static {
        let recorder = self.clone();
        move |event| recorder.lock().push(event)
    }

    /// Adds the recording handler to the informer.
    ///
    /// # Panics
    /// If the informer does not take handlers any more.
    pub fn add_to(&self, informer: &SharedInformer<K>) -> Registration {
        informer
            .add_handler(self.handler())
            .expect("the informer takes handlers")
    }

    /// Returns the events recorded so far, in order.
    pub fn events(&self) -> Vec<Event<K>> {
        self.lock().clone()
    }

    /// Returns the number of events recorded so far.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing was recorded so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the recorded events as text; see [`summary`].
    pub fn summary(&self) -> Vec<String> {
        self.lock().iter().map(summary).collect()
    }

    /// Removes the recorded events and returns them as text; see [`summary`].
    pub fn take(&self) -> Vec<String> {
        self.lock().drain(..).map(|event| summary(&event)).collect()
    }

    /// Returns the version of each object by key, after all events; see [`final_state`].
    ///
    /// # Errors
    /// The events are inconsistent; the text names the event and the reason.
    pub fn final_state(&self) -> Result<BTreeMap<String, String>, String> {
        let state = final_state(&self.events())?;
        Ok(state
            .into_iter()
            .map(|(key, object)| (key, version_of(&*object)))
            .collect())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event<K>>> {
        // A push happened or did not: the record is valid after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an event as a verb and a name: `initial a`, `add a`, `update a`, `resync a`, `delete a`,
/// `missed a`.
pub fn summary<K: Object>(event: &Event<K>) -> String {
    let verb = match event {
        Event::Added {
            origin: Origin::Initial,
            ..
        } => "initial",
        Event::Added { .. } => "add",
        Event::Updated {
            cause: UpdateCause::Resync,
            ..
        } => "resync",
        Event::Updated { .. } => "update",
        Event::Deleted(Deleted::Observed(_)) => "delete",
        Event::Deleted(Deleted::Missed { .. }) => "missed",
    };
    let key = event.key();
    format!("{verb} {}", key.as_ref().map_or("?", |key| key.name()))
}

/// Applies events in order, and returns the objects by key that the handler knows at the end.
///
/// # Errors
/// An object was added twice, updated or deleted without an addition, updated from a state other than the
/// last one delivered, or went back to an older version; the text names the event.
pub fn final_state<K: Object>(events: &[Event<K>]) -> Result<BTreeMap<String, Arc<K>>, String> {
    let mut known: BTreeMap<String, Arc<K>> = BTreeMap::new();
    for event in events {
        let key = event
            .key()
            .ok_or_else(|| format!("{event:?} has no name"))?
            .to_string();
        match event {
            Event::Added { object, .. } => {
                if known.insert(key, object.clone()).is_some() {
                    return Err(format!("{event:?}: added twice"));
                }
            }
            Event::Updated { old, new, .. } => {
                let Some(before) = known.insert(key, new.clone()) else {
                    return Err(format!("{event:?}: never added"));
                };
                check_update(&before, old, new).map_err(|why| format!("{event:?}: {why}"))?;
            }
            Event::Deleted(_) => {
                if known.remove(&key).is_none() {
                    return Err(format!("{event:?}: never added"));
                }
            }
        }
    }
    Ok(known)
}

fn check_update<K: Object>(before: &Arc<K>, old: &Arc<K>, new: &Arc<K>) -> Result<(), &'static str> {
    if !Arc::ptr_eq(before, old) {
        return Err("its old state is not the last one delivered");
    }
    if old.meta().uid != new.meta().uid {
        return Err("another object of the same name was delivered as an update");
    }
    if ResourceVersion::of(new.meta()) < ResourceVersion::of(old.meta()) {
        return Err("its version is older than the one before");
    }
    Ok(())
}

/// Returns the version that the server gave an object.
pub fn version_of<K: Object>(object: &K) -> String {
    object.meta().resource_version.clone().unwrap_or_default()
}
