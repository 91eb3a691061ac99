//! A loom model of a handler that is added while commits are published: it receives each object exactly
//! once, from its snapshot or as an event. `cargo test -p informer-core --features __model --lib model`
//! runs it.

use k8s_openapi::api::core::v1::ConfigMap;
use loom::thread;

use super::*;
use crate::handler::{Event, Origin};
use crate::key::ObjectKey;
use crate::store;

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

#[test]
fn a_late_handler_receives_each_object_once_and_syncs() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (mut writer, indexer) = store::new();
        let processor = Arc::new(Processor::new("configmaps", None));
        let committer = {
            let processor = processor.clone();
            thread::spawn(move || {
                for name in ["a", "b"] {
                    let mut commit = writer.begin();
                    commit.upsert(ObjectKey::cluster(name), object(name));
                    let mut publication = processor.publication();
                    commit.publish();
                    if name == "a" {
                        publication.complete_initial_state();
                    }
                    let event = Event::added(object(name), Origin::Live);
                    publication.distribute().deliver(Audience::All, event.into());
                }
            })
        };
        let options = HandlerOptions::default();
        let snapshot = || indexer.snapshot();
        let late = processor.add_or_ended("late".to_owned(), &options, Served::ByTask, snapshot);
        // Does not wait for the committer, and does not delay it.
        assert_eq!(processor.status().len(), 1);
        committer.join().unwrap();
        let received: Vec<String> = std::iter::from_fn(|| late.take())
            .map(|event| event.key().unwrap().name().to_owned())
            .collect();
        assert_eq!(received, ["a", "b"]);
        assert!(Registration::new(late).has_synced());
    });
}
