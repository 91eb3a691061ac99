//! Shared by the tests of the queue: objects, batches as text, and an informer over a scripted server.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use informer_core::delta::{
    Batch, Delta, DeltaFifo, DeltaReceiver, DeltaSender, Departed, InitialSync, QueueOptions, Transform,
};
use informer_core::source::SourceError;
use informer_core::source::{
    ListEvent, ListMetadata, ListRequest, ListStream, ListWatch, ServerStatus, WatchEvent, WatchListSupport,
    WatchRequest, WatchStream,
};
use informer_core::{
    Event, HandlerOptions, ObjectKey, Offload, ResourceVersion, Scope, SharedInformer, SharedInformerBuilder,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, mpsc};
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

fn at(object: &ConfigMap) -> String {
    format!(
        "@{}",
        object.metadata.resource_version.as_deref().unwrap_or("none")
    )
}

fn name(object: &ConfigMap) -> String {
    format!("{}{}", ObjectKey::of(&object.metadata).unwrap(), at(object))
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
    let state = state.finish(version(at), informer_core::delta::Rewind::No).await;
    sender.replace_all(state).await.unwrap();
}

/// What a server sends.
enum Said {
    Event(WatchEvent<ConfigMap>),
    /// The watch's history is gone: the next request is a list.
    Expired,
}

/// A server that answers each list with the next scripted one, and sends scripted events in its watches.
pub(crate) struct Scripted {
    namespace: Option<&'static str>,
    lists: Mutex<mpsc::UnboundedReceiver<(u64, Vec<Arc<ConfigMap>>)>>,
    watch: Arc<Mutex<mpsc::UnboundedReceiver<Said>>>,
}

impl ListWatch<ConfigMap> for Scripted {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, SourceError>> {
        async {
            let Some((at, objects)) = self.lists.lock().await.recv().await else {
                return Err(SourceError::Connect("the script has ended".to_owned()));
            };
            let metadata = ListMetadata {
                resource_version: Some(version(at)),
                ..ListMetadata::default()
            };
            let items = objects.into_iter().map(|object| Ok(ListEvent::Item(object)));
            let page = stream::iter(items).chain(stream::iter([Ok(ListEvent::Metadata(metadata))]));
            Ok(page.boxed())
        }
        .boxed()
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, SourceError>> {
        let said = self.watch.clone();
        async {
            let events = stream::unfold(said, |said| async {
                let next = said.lock().await.recv().await?;
                Some((next, said))
            });
            let events = events.map(|said| match said {
                Said::Event(event) => Ok(event),
                Said::Expired => Err(SourceError::Status {
                    status: ServerStatus {
                        code: 410,
                        reason: "Expired".to_owned(),
                        ..ServerStatus::default()
                    },
                }),
            });
            Ok(events.boxed())
        }
        .boxed()
    }

    fn watch_list(&self) -> WatchListSupport {
        WatchListSupport::Unsupported
    }

    fn resource(&self) -> &str {
        "configmaps"
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace
    }
}

/// Writes the script of a server.
pub(crate) struct Server {
    lists: UnboundedSender<(u64, Vec<Arc<ConfigMap>>)>,
    watch: UnboundedSender<Said>,
}

impl Server {
    /// A server of one namespace, or of all.
    pub(crate) fn new(namespace: Option<&'static str>) -> (Self, Arc<dyn ListWatch<ConfigMap>>) {
        let (lists, list_script) = unbounded_channel();
        let (watch, watch_script) = unbounded_channel();
        let source = Scripted {
            namespace,
            lists: Mutex::new(list_script),
            watch: Arc::new(Mutex::new(watch_script)),
        };
        (Self { lists, watch }, Arc::new(source))
    }

    /// The answer to a list to come.
    pub(crate) fn list(&self, at: u64, objects: Vec<Arc<ConfigMap>>) {
        self.lists.send((at, objects)).unwrap();
    }

    pub(crate) fn added(&self, object: Arc<ConfigMap>) {
        self.say(Said::Event(WatchEvent::Added(object)));
    }

    pub(crate) fn modified(&self, object: Arc<ConfigMap>) {
        self.say(Said::Event(WatchEvent::Modified(object)));
    }

    pub(crate) fn deleted(&self, object: Arc<ConfigMap>) {
        self.say(Said::Event(WatchEvent::Deleted(object)));
    }

    /// Ends the watch so that the informer lists again, and gives that list.
    pub(crate) fn relist(&self, at: u64, objects: Vec<Arc<ConfigMap>>) {
        self.list(at, objects);
        self.say(Said::Expired);
    }

    fn say(&self, said: Said) {
        assert!(self.watch.send(said).is_ok(), "the informer is gone");
    }
}

/// An informer over scripted servers, on one thread.
pub(crate) fn informer(sources: Vec<Arc<dyn ListWatch<ConfigMap>>>) -> SharedInformerBuilder<ConfigMap> {
    SharedInformer::builder_from_sources(sources).offload(Offload::Inline)
}

/// A handler that runs on the test's thread and forwards its events.
pub(crate) fn listen(informer: &SharedInformer<ConfigMap>) -> UnboundedReceiver<String> {
    let (tell, received) = unbounded_channel();
    let handler = move |event: Event<ConfigMap>| {
        // The test may have ended.
        let _ = tell.send(format!("{event:?}"));
    };
    let options = HandlerOptions::default().run_on(Offload::Inline);
    informer.add_handler_with(options, handler).unwrap();
    received
}

/// An informer over one scripted server, and the events of its handler.
pub(crate) struct Script {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) server: Server,
    received: UnboundedReceiver<String>,
}

impl Script {
    /// Starts an informer whose first list is `objects`.
    pub(crate) async fn start(at: u64, objects: Vec<Arc<ConfigMap>>) -> Self {
        Self::start_with(at, objects, |builder| builder).await
    }

    pub(crate) async fn start_with(
        at: u64,
        objects: Vec<Arc<ConfigMap>>,
        configure: impl FnOnce(SharedInformerBuilder<ConfigMap>) -> SharedInformerBuilder<ConfigMap>,
    ) -> Self {
        let (server, source) = Server::new(None);
        let informer = configure(informer(vec![source])).build().unwrap();
        let received = listen(&informer);
        server.list(at, objects);
        informer.start().unwrap();
        informer.synced_within(LONG).await.unwrap();
        Self {
            informer,
            server,
            received,
        }
    }

    /// Receives these events, in this order, and then none for a while.
    #[track_caller]
    pub(crate) fn check<'a>(&'a mut self, expected: &'a [&'a str]) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let mut received = Vec::new();
            while let Ok(Some(event)) = timeout(LONG, self.received.recv()).await {
                received.push(event);
            }
            assert_eq!(received, expected, "at {caller}");
        }
    }

    /// The next event, whatever comes after it.
    pub(crate) async fn next(&mut self) -> String {
        timeout(LONG, self.received.recv())
            .await
            .expect("no event")
            .expect("the handler lives")
    }

    /// What the store holds, by name and version.
    pub(crate) fn stored(&self) -> Vec<String> {
        self.informer
            .indexer()
            .list()
            .iter()
            .map(|object| name(object))
            .collect()
    }
}
