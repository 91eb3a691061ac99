//! Sources whose answers a test gives: by hand, request by request ([`Server`]), in advance ([`Script`]), or
//! as a feed of lists and events ([`Feed`]). All of them are one [`ListWatch`], [`Source`].
//!
//! Everything runs as real tasks on one thread under tokio's paused clock: time passes only when every task
//! waits, so a test that waits for the next request sees exactly the waits the informer makes.

mod feed;
mod rig;
mod script;
mod server;
mod text;

use std::fmt;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, stream};
use informer_core::source::{
    BookmarkMark, ListEvent, ListFrom, ListMetadata, ListRequest, ListStream, ListWatch, SourceError,
    WatchEvent, WatchFrom, WatchListFrom, WatchListSupport, WatchRequest, WatchStream,
};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, oneshot};

pub(crate) use feed::{Feed, FeedRig, informer};
pub(crate) use rig::{Rig, config, settle, timed};
pub(crate) use script::{Answer, End, Script, garbled, initial_end, list_at, listed, object};
pub(crate) use server::{Server, scripted};
pub(crate) use text::{
    describe, expired, metadata, pod, refused, short, show, status, too_many, undecodable,
};

/// The informer's end: passes every request to a function of the test, which answers now or later.
pub(crate) struct Source<K = Pod> {
    answer: Box<dyn Fn(Call<K>) + Send + Sync>,
    resource: &'static str,
    namespace: Option<String>,
    support: WatchListSupport,
}

impl<K: Send + Sync + 'static> Source<K> {
    /// A source of all namespaces.
    pub(crate) fn new(resource: &'static str, answer: impl Fn(Call<K>) + Send + Sync + 'static) -> Self {
        Self {
            answer: Box::new(answer),
            resource,
            namespace: None,
            support: WatchListSupport::Unknown,
        }
    }

    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    pub(crate) fn without_watch_list(mut self) -> Self {
        self.support = WatchListSupport::Unsupported;
        self
    }

    async fn request<T>(
        &self,
        call: impl FnOnce(oneshot::Sender<Reply<T>>) -> Call<K>,
    ) -> Result<Answered<T>, SourceError> {
        let (reply, answer) = oneshot::channel();
        (self.answer)(call(reply));
        match answer.await {
            Ok(Reply::Stream(stream)) => Ok(stream),
            Ok(Reply::Error(error)) => Err(error),
            Ok(Reply::Panic) => panic!("the script says so"),
            // The test has ended, and only waits for the informer to stop.
            Err(_) => std::future::pending().await,
        }
    }
}

/// The stream of an answer.
type Answered<T> = BoxStream<'static, Result<T, SourceError>>;

/// What a request is answered with.
enum Reply<T> {
    Stream(Answered<T>),
    Error(SourceError),
    Panic,
}

impl<K: Send + Sync + 'static> ListWatch<K> for Source<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, SourceError>> {
        self.request(|reply| Call::List(ListCall { request, reply }))
            .boxed()
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        self.request(|reply| Call::Watch(WatchCall { request, reply }))
            .boxed()
    }

    fn watch_list(&self) -> WatchListSupport {
        self.support
    }

    fn resource(&self) -> &str {
        self.resource
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

/// A request that waits for its answer.
pub(crate) enum Call<K = Pod> {
    List(ListCall<K>),
    Watch(WatchCall<K>),
}

impl<K> fmt::Display for Call<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(call) => call.fmt(f),
            Self::Watch(call) => call.fmt(f),
        }
    }
}

/// A LIST that waits for its answer.
pub(crate) struct ListCall<K = Pod> {
    pub(crate) request: ListRequest,
    reply: oneshot::Sender<Reply<ListEvent<K>>>,
}

impl ListCall<Pod> {
    /// Answers with one whole, last page.
    pub(crate) fn page(self, version: &str, pods: &[&str]) {
        self.page_with(metadata(version), pods);
    }

    /// Answers with a page that is not the last.
    pub(crate) fn page_before(self, version: &str, token: &str, pods: &[&str]) {
        let more = ListMetadata {
            continue_token: Some(token.to_owned()),
            ..metadata(version)
        };
        self.page_with(more, pods);
    }

    pub(crate) fn page_with(self, metadata: ListMetadata, pods: &[&str]) {
        let body = self.open();
        body.send(Ok(ListEvent::Metadata(metadata)));
        for text in pods {
            body.send(Ok(ListEvent::Item(pod(text).into())));
        }
    }
}

impl<K: Send + Sync + 'static> ListCall<K> {
    /// Answers with these events, and then the end of the stream.
    pub(crate) fn answer(
        self,
        events: impl Stream<Item = Result<ListEvent<K>, SourceError>> + Send + 'static,
    ) {
        let _ = self.reply.send(Reply::Stream(events.boxed()));
    }

    pub(crate) fn open(self) -> Body<ListEvent<K>> {
        Body::answer(self.reply)
    }

    pub(crate) fn fail(self, error: SourceError) {
        let _ = self.reply.send(Reply::Error(error));
    }

    pub(crate) fn panic(self) {
        let _ = self.reply.send(Reply::Panic);
    }

    /// Whether the informer still waits for the answer.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.reply.is_closed()
    }
}

impl<K> fmt::Display for ListCall<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request.from {
            ListFrom::MostRecent => write!(f, "list newest")?,
            ListFrom::AnyCached => write!(f, "list any")?,
            ListFrom::NotOlderThan(version) => write!(f, "list >={version}")?,
            ListFrom::Exactly(version) => write!(f, "list ={version}")?,
        }
        if let Some(limit) = self.request.limit {
            write!(f, " limit {limit}")?;
        }
        if let Some(token) = &self.request.continue_token {
            write!(f, " continue {token}")?;
        }
        Ok(())
    }
}

/// A WATCH that waits for its answer.
pub(crate) struct WatchCall<K = Pod> {
    pub(crate) request: WatchRequest,
    reply: oneshot::Sender<Reply<WatchEvent<K>>>,
}

impl<K: Send + Sync + 'static> WatchCall<K> {
    /// Answers with these events, and then the end of the stream.
    pub(crate) fn answer(
        self,
        events: impl Stream<Item = Result<WatchEvent<K>, SourceError>> + Send + 'static,
    ) {
        let _ = self.reply.send(Reply::Stream(events.boxed()));
    }

    pub(crate) fn open(self) -> Body<WatchEvent<K>> {
        Body::answer(self.reply)
    }

    pub(crate) fn fail(self, error: SourceError) {
        let _ = self.reply.send(Reply::Error(error));
    }

    pub(crate) fn panic(self) {
        let _ = self.reply.send(Reply::Panic);
    }
}

impl<K> fmt::Display for WatchCall<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request.from {
            WatchFrom::After(version) => write!(f, "watch after {version}"),
            WatchFrom::InitialEvents(WatchListFrom::MostRecent) => write!(f, "watch-list newest"),
            WatchFrom::InitialEvents(WatchListFrom::NotOlderThan(version)) => {
                write!(f, "watch-list >={version}")
            }
        }
    }
}

/// An open answer: send to it, fail it, or drop it for a close in good order.
pub(crate) struct Body<T>(mpsc::UnboundedSender<Result<T, SourceError>>);

impl<T: Send + 'static> Body<T> {
    fn answer(reply: oneshot::Sender<Reply<T>>) -> Self {
        let (sender, mut events) = mpsc::unbounded_channel();
        let events = stream::poll_fn(move |context| events.poll_recv(context));
        let _ = reply.send(Reply::Stream(events.boxed()));
        Self(sender)
    }

    pub(crate) fn send(&self, event: Result<T, SourceError>) {
        let _ = self.0.send(event);
    }

    pub(crate) fn fail(self, error: SourceError) {
        self.send(Err(error));
    }

    /// Whether the informer still reads.
    pub(crate) fn is_read(&self) -> bool {
        !self.0.is_closed()
    }
}

impl Body<WatchEvent<Pod>> {
    pub(crate) fn add(&self, text: &str) {
        self.send(Ok(WatchEvent::Added(pod(text).into())));
    }

    pub(crate) fn modify(&self, text: &str) {
        self.send(Ok(WatchEvent::Modified(pod(text).into())));
    }

    pub(crate) fn delete(&self, text: &str) {
        self.send(Ok(WatchEvent::Deleted(pod(text).into())));
    }

    pub(crate) fn bookmark(&self, version: &str) {
        self.mark(version, BookmarkMark::Progress);
    }

    pub(crate) fn initial_end(&self, version: &str) {
        self.mark(version, BookmarkMark::InitialEventsEnd);
    }

    fn mark(&self, version: &str, mark: BookmarkMark) {
        let version = Some(version.into());
        self.send(Ok(WatchEvent::Bookmark { version, mark }));
    }
}
