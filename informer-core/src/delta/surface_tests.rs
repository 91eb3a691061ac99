//! The small questions of the queue's public surface, and `Debug`, which shows names but no contents.

use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Batch, DeltaFifo, DeltaReceiver, DeltaSender, QueueOptions, Transform};
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::sync::Offload;

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.data = Some([("secret".to_owned(), "secret".to_owned())].into());
    Arc::new(object)
}

fn queue(transform: Option<Transform<ConfigMap>>) -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let options = QueueOptions::default().offload(Offload::Inline);
    let (mut senders, receiver) = DeltaFifo::channel([Scope::All], options, transform);
    (senders.pop().expect("one scope has one sender"), receiver)
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing has to be waited for")
}

fn pop(receiver: &mut DeltaReceiver<ConfigMap>) -> Batch<ConfigMap> {
    now(receiver.pop()).expect("the queue is open")
}

#[test]
fn a_queue_and_a_builder_know_whether_they_are_empty() {
    let (mut sender, mut receiver) = queue(None);
    assert_eq!((receiver.len(), receiver.is_empty()), (0, true));
    now(sender.added(object("a"))).unwrap();
    assert_eq!((receiver.len(), receiver.is_empty()), (1, false));
    pop(&mut receiver);
    assert_eq!((receiver.len(), receiver.is_empty()), (0, true));
    let mut builder = sender.begin_replace();
    assert_eq!((builder.len(), builder.is_empty()), (0, true));
    now(builder.upsert(object("a")));
    now(builder.upsert(object("b")));
    assert_eq!((builder.len(), builder.is_empty()), (2, false));
}

#[test]
fn every_failed_transform_is_counted() {
    let transform: Transform<ConfigMap> = Arc::new(|object| match object.metadata.name.as_deref() {
        Some("good") => Ok(()),
        _ => Err("no".to_owned()),
    });
    let (mut sender, mut receiver) = queue(Some(transform));
    for (name, failures) in [("good", 0), ("bad", 1), ("worse", 2), ("good", 2)] {
        now(sender.added(object(name))).unwrap();
        pop(&mut receiver);
        assert_eq!(receiver.transform_failures(), failures, "{name}");
    }
}

/// Objects may be Secrets: what is printed to a log by `{:?}` must not hold their contents.
#[test]
fn debug_shows_names_but_no_contents() {
    let (mut sender, mut receiver) = queue(None);
    now(sender.added(object("a"))).unwrap();
    now(sender.deleted(object("b"))).unwrap();
    let changes = format!("{:?}", pop(&mut receiver));
    let mut builder = sender.begin_replace();
    now(builder.upsert(object("a")));
    let state = now(builder.finish(ResourceVersion::new("5")));
    now(sender.replace_all(state)).unwrap();
    let state = format!("{:?}", pop(&mut receiver));
    for (debug, expected) in [
        (&changes, ["Changes {", "Added(a)", "Deleted(b)"]),
        (&state, ["ReplaceAll {", "scope: All", "items: 1"]),
    ] {
        for expected in expected {
            assert!(debug.contains(expected), "{debug}");
        }
        assert!(!debug.contains("secret"), "{debug}");
    }
}
