//! Keeps what a handler hears, and judges whether it is a story: nothing added twice, changed unseen, or told backwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use informer_core::{
    AddHandlerError, Deleted, Event, HandlerOptions, Object, Origin, Registration, ResourceVersion,
    SharedInformer, UpdateCause,
};

/// What one handler has heard. Clones share one memory.
pub struct Story<K>(Arc<Mutex<Vec<Event<K>>>>);

impl<K> Clone for Story<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Story<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Object> Story<K> {
    /// The story that a new handler of the informer hears.
    pub fn of(informer: &SharedInformer<K>) -> Result<(Self, Registration), AddHandlerError> {
        Self::of_with(HandlerOptions::default(), informer)
    }

    /// The story that a new handler with such options hears.
    pub fn of_with(
        options: HandlerOptions,
        informer: &SharedInformer<K>,
    ) -> Result<(Self, Registration), AddHandlerError> {
        let story = Self::default();
        let told = story.clone();
        let registration = informer.add_handler_with(options, move |event| told.lock().push(event))?;
        Ok((story, registration))
    }

    /// All that was heard so far, in order.
    pub fn events(&self) -> Vec<Event<K>> {
        self.lock().clone()
    }

    /// How many events were heard so far.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing was heard so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All that was heard so far, each as a verb and a name: `initial a`, `add a`, `update a`, `resync a`, `delete a`, `missed a`.
    pub fn words(&self) -> Vec<String> {
        self.lock().iter().map(words).collect()
    }

    /// What the handler must believe the server has now: the version of each object by key.
    ///
    /// # Errors
    /// What was heard is not a story; the text says where.
    pub fn believed(&self) -> Result<BTreeMap<String, String>, String> {
        let mut known: BTreeMap<String, Arc<K>> = BTreeMap::new();
        for event in self.events() {
            let key = event
                .key()
                .ok_or_else(|| format!("{event:?} has no name"))?
                .to_string();
            match &event {
                Event::Added { object, .. } => {
                    if known.insert(key, object.clone()).is_some() {
                        return Err(format!("{event:?}, which the handler had already"));
                    }
                }
                Event::Updated { old, new, .. } => {
                    let Some(before) = known.insert(key, new.clone()) else {
                        return Err(format!("{event:?}, never added"));
                    };
                    check_update(&before, old, new).map_err(|why| format!("{event:?}: {why}"))?;
                }
                Event::Deleted(_) => {
                    if known.remove(&key).is_none() {
                        return Err(format!("{event:?}, never added"));
                    }
                }
            }
        }
        Ok(known
            .into_iter()
            .map(|(key, object)| (key, version_of(&*object)))
            .collect())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event<K>>> {
        // A push either happened or not: what a panic leaves is sound.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_update<K: Object>(before: &Arc<K>, old: &Arc<K>, new: &Arc<K>) -> Result<(), &'static str> {
    if !Arc::ptr_eq(before, old) {
        return Err("its old side is not what was heard last");
    }
    if old.meta().uid != new.meta().uid {
        return Err("another object of the same name is told as a change");
    }
    if ResourceVersion::of(new.meta()) < ResourceVersion::of(old.meta()) {
        return Err("it goes backwards");
    }
    Ok(())
}

fn words<K: Object>(event: &Event<K>) -> String {
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

/// The version the server gave an object.
pub fn version_of<K: Object>(object: &K) -> String {
    object.meta().resource_version.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use informer_testing::ApiServer;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn server() -> ApiServer {
        let server = ApiServer::start();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "a"}});
        let object: ConfigMap = serde_json::from_value(object).unwrap();
        server.create(&object).unwrap();
        server
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_handler_hears_is_a_story_and_what_two_hear_is_none() {
        let server = server();
        let informer = SharedInformer::<ConfigMap>::builder(server.client())
            .build()
            .unwrap();
        let (story, registration) = Story::of(&informer).unwrap();
        informer.start().unwrap();
        registration.synced().await.unwrap();
        assert_eq!(story.words(), ["initial a"]);
        assert_eq!(story.believed().unwrap().len(), 1);

        let told = story.clone();
        let again = informer
            .add_handler(move |event| told.lock().push(event))
            .unwrap();
        again.synced().await.unwrap();
        let broken = story.believed().unwrap_err();
        assert!(broken.contains("which the handler had already"), "{broken}");
        informer.shutdown().await;
    }
}
