//! Shared by the tests of the queue: objects, and batches as text.

use std::sync::Arc;
use std::time::Duration;

use informer_core::delta::{
    Batch, Delta, DeltaFifo, DeltaReceiver, DeltaSender, Departed, InitialSync, QueueOptions, Transform,
};
use informer_core::{ObjectKey, ResourceVersion, Scope, Stored};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::timeout;

/// Far longer than anything here takes. The clock is paused, so it passes at once when nothing else can
/// happen.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An object of this key (`ns/name` or `name`) at this version.
pub(crate) fn object(key: &str, version: u64) -> Arc<ConfigMap> {
    let key: ObjectKey = key.parse().unwrap();
    let mut object = ConfigMap::default();
    object.metadata.namespace = key.namespace().map(str::to_owned);
    object.metadata.name = Some(key.name().to_owned());
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

/// An object with a UID, so that one created again under the same name is another one.
pub(crate) fn object_with_uid(key: &str, version: u64, uid: &str) -> Arc<ConfigMap> {
    let mut object = Arc::unwrap_or_clone(object(key, version));
    object.metadata.uid = Some(uid.to_owned());
    Arc::new(object)
}

pub(crate) fn version(number: u64) -> ResourceVersion {
    ResourceVersion::new(&number.to_string())
}

/// A queue over one scope.
pub(crate) fn queue(options: QueueOptions) -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    queue_with(options, None)
}

pub(crate) fn queue_with(
    options: QueueOptions,
    transform: Option<Transform<ConfigMap>>,
) -> (DeltaSender<ConfigMap>, DeltaReceiver<ConfigMap>) {
    let (mut senders, receiver) = DeltaFifo::channel([Scope::All], options, transform);
    (senders.remove(0), receiver)
}

/// A batch as text: `a: added@1 deleted@3, b: updated@2; at 3`, `replace at 9: a@1 b@2, first`, or `resync`.
pub(crate) fn text(batch: &Batch<ConfigMap>) -> String {
    match batch {
        Batch::Changes { deltas, versions } => {
            let keys: Vec<String> = deltas
                .iter()
                .map(|deltas| {
                    let changes = deltas.changes.iter().map(|change| delta_text(&change.delta));
                    format!("{}: {}", deltas.key, changes.collect::<Vec<_>>().join(" "))
                })
                .collect();
            let versions: Vec<String> = versions
                .iter()
                .map(|(scope, version)| match scope {
                    Scope::Namespace(namespace) => format!("{namespace}@{version}"),
                    _ => version.to_string(),
                })
                .collect();
            format!("{}; at {}", keys.join(", "), versions.join(" "))
        }
        Batch::ReplaceAll { state, initial } => {
            let items: Vec<String> = state.items.iter().map(|(_, object)| name(object)).collect();
            let first = match initial {
                InitialSync::First | InitialSync::Completes => ", first",
                InitialSync::Relist => "",
                InitialSync::Seed => ", seed",
            };
            format!("replace at {}: {}{first}", state.version, items.join(" "))
        }
        Batch::SyncAll(_) => "resync".to_owned(),
        other => panic!("unknown batch {other:?}"),
    }
}

fn delta_text(delta: &Delta<ConfigMap>) -> String {
    match delta {
        Delta::Added(object) => format!("added{}", at(object)),
        Delta::Updated(object) => format!("updated{}", at(object)),
        Delta::Deleted(Departed::Observed(object)) => format!("deleted{}", at(object)),
        Delta::Deleted(Departed::KeyOnly) => "deleted".to_owned(),
        Delta::Unusable(unusable) => format!("unusable({})", unusable.reason),
        other => panic!("unknown delta {other:?}"),
    }
}

fn at(object: &Stored<ConfigMap>) -> String {
    match object.version() {
        Some(version) => format!("@{version}"),
        None => "@none".to_owned(),
    }
}

/// An object as `namespace/name@version`.
pub(crate) fn name(object: &Stored<ConfigMap>) -> String {
    format!("{}{}", object.key().unwrap(), at(object))
}

/// The next batch as text. Fails if none comes.
pub(crate) async fn pop(receiver: &mut DeltaReceiver<ConfigMap>) -> String {
    let batch = timeout(LONG, receiver.pop()).await.expect("nothing to pop");
    batch.as_ref().map_or("closed".to_owned(), text)
}

/// Pops these batches, in this order, and then nothing.
#[track_caller]
pub(crate) fn check_batches<'a>(
    receiver: &'a mut DeltaReceiver<ConfigMap>,
    expected: &'a [&'a str],
) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let mut popped = Vec::new();
        while let Ok(Some(batch)) = timeout(LONG, receiver.pop()).await {
            popped.push(text(&batch));
        }
        assert_eq!(popped, expected, "at {caller}");
    }
}

/// A whole state of the sender's scope.
pub(crate) async fn replace(sender: &DeltaSender<ConfigMap>, at: u64, objects: &[Arc<ConfigMap>]) {
    let mut state = sender.begin_replace();
    for object in objects {
        state.upsert(object.clone()).await;
    }
    let state = state.finish(version(at)).await;
    sender.replace_all(state).await.unwrap();
}
