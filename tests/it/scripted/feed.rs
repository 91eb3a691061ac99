//! Lists and events queued by a test: each list is answered with the next queued one, and watches deliver the
//! queued events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::stream;
use informer_core::source::{ListEvent, ListWatch, SourceError, WatchEvent};
use informer_core::{Event, HandlerOptions, Offload, SharedInformer, SharedInformerBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::{Call, ListCall, Source, expired, metadata};
use crate::queue_support::{LONG, name};

/// One list: its version and its objects.
type List = (u64, Vec<Arc<ConfigMap>>);

/// The lists of a feed, and the requests that wait for one.
#[derive(Default)]
struct Lists {
    queued: VecDeque<List>,
    waiting: VecDeque<ListCall<ConfigMap>>,
}

impl Lists {
    fn answer(&mut self) {
        while !self.queued.is_empty()
            && let Some(call) = self.waiting.pop_front()
            && let Some((at, objects)) = self.queued.pop_front()
        {
            let items = objects.into_iter().map(|object| ListEvent::Item(object.into()));
            let metadata = ListEvent::Metadata(metadata(&at.to_string()));
            call.answer(stream::iter(items.chain([metadata]).map(Ok)));
        }
    }
}

/// A server whose lists and events a test queues.
pub(crate) struct Feed {
    lists: Arc<Mutex<Lists>>,
    events: UnboundedSender<Result<WatchEvent<ConfigMap>, SourceError>>,
}

impl Feed {
    /// A server of one namespace, or of all.
    pub(crate) fn new(namespace: Option<&str>) -> (Self, Arc<dyn ListWatch<ConfigMap>>) {
        let lists: Arc<Mutex<Lists>> = Arc::default();
        let (events, queued) = unbounded_channel();
        let feed = Self {
            lists: lists.clone(),
            events,
        };
        // Events that one watch has not delivered are left for the next one.
        let queued = Arc::new(AsyncMutex::new(queued));
        let source = Source::new("configmaps", move |call| match call {
            Call::List(call) => {
                let mut lists = lists.lock().unwrap();
                lists.waiting.push_back(call);
                lists.answer();
            }
            Call::Watch(call) => call.answer(stream::unfold(queued.clone(), |queued| async {
                let next = queued.lock().await.recv().await?;
                Some((next, queued))
            })),
        })
        .without_watch_list();
        let source = match namespace {
            Some(namespace) => source.in_namespace(namespace),
            None => source,
        };
        (feed, Arc::new(source))
    }

    /// The answer to a list to come.
    pub(crate) fn list(&self, at: u64, objects: Vec<Arc<ConfigMap>>) {
        let mut lists = self.lists.lock().unwrap();
        lists.queued.push_back((at, objects));
        lists.answer();
    }

    pub(crate) fn added(&self, object: Arc<ConfigMap>) {
        self.send(Ok(WatchEvent::Added(object.into())));
    }

    pub(crate) fn modified(&self, object: Arc<ConfigMap>) {
        self.send(Ok(WatchEvent::Modified(object.into())));
    }

    pub(crate) fn deleted(&self, object: Arc<ConfigMap>) {
        self.send(Ok(WatchEvent::Deleted(object.into())));
    }

    /// Ends the watch so that the informer lists again, and queues that list.
    pub(crate) fn relist(&self, at: u64, objects: Vec<Arc<ConfigMap>>) {
        self.list(at, objects);
        self.send(Err(expired()));
    }

    fn send(&self, event: Result<WatchEvent<ConfigMap>, SourceError>) {
        assert!(self.events.send(event).is_ok(), "the informer was dropped");
    }
}

/// An informer over scripted servers, on one thread.
pub(crate) fn informer(sources: Vec<Arc<dyn ListWatch<ConfigMap>>>) -> SharedInformerBuilder<ConfigMap> {
    SharedInformer::builder_from_sources(sources).offload(Offload::Inline)
}

/// A handler that runs on the test's thread and forwards its events.
fn listen(informer: &SharedInformer<ConfigMap>) -> UnboundedReceiver<String> {
    let (events, received) = unbounded_channel();
    let handler = move |event: Event<ConfigMap>| {
        // The test may have ended.
        let _ = events.send(format!("{event:?}"));
    };
    let options = HandlerOptions::default().run_on(Offload::Inline);
    informer.add_handler_with(options, handler).unwrap();
    received
}

/// An informer over one scripted server, and the events of its handler.
pub(crate) struct FeedRig {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) server: Feed,
    received: UnboundedReceiver<String>,
}

impl FeedRig {
    /// Starts an informer whose first list is `objects`.
    pub(crate) async fn start(at: u64, objects: Vec<Arc<ConfigMap>>) -> Self {
        Self::start_with(at, objects, |builder| builder).await
    }

    pub(crate) async fn start_with(
        at: u64,
        objects: Vec<Arc<ConfigMap>>,
        configure: impl FnOnce(SharedInformerBuilder<ConfigMap>) -> SharedInformerBuilder<ConfigMap>,
    ) -> Self {
        let (server, source) = Feed::new(None);
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

    /// The objects of the store, by name and version.
    pub(crate) fn stored(&self) -> Vec<String> {
        self.informer
            .indexer()
            .list()
            .iter()
            .map(|object| name(&object.clone().into()))
            .collect()
    }
}
