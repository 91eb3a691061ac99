//! A source whose answers a test gives by hand, request by request, and an informer on top of it.
//!
//! Everything runs as real tasks on one thread under tokio's paused clock: time passes only when every task
//! waits, so a test that waits for the next request sees exactly the waits the informer makes.

mod rig;
mod text;

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use informer_core::source::SourceError;
use informer_core::source::{
    BookmarkMark, ListEvent, ListFrom, ListMetadata, ListRequest, ListStream, ListWatch, WatchEvent,
    WatchFrom, WatchListFrom, WatchListSupport, WatchRequest, WatchStream,
};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub(crate) use rig::{Rig, config, settle, timed};
pub(crate) use text::{
    describe, expired, metadata, pod, refused, short, show, status, too_many, undecodable,
};

/// How long a test waits for a request before it fails: longer than any backoff.
const PATIENCE: Duration = Duration::from_secs(300);

/// The informer's end: hands every request to the test.
pub(crate) struct Source {
    calls: mpsc::UnboundedSender<Call>,
    namespace: Option<String>,
    support: WatchListSupport,
}

/// The test's end: takes the requests one by one.
pub(crate) struct Server {
    calls: mpsc::UnboundedReceiver<Call>,
    /// Every request taken so far, as text.
    pub(crate) asked: Vec<String>,
}

/// A source of all namespaces and the server behind it.
pub(crate) fn scripted() -> (Source, Server) {
    let (calls, taken) = mpsc::unbounded_channel();
    let source = Source {
        calls,
        namespace: None,
        support: WatchListSupport::Unknown,
    };
    let server = Server {
        calls: taken,
        asked: Vec::new(),
    };
    (source, server)
}

impl Source {
    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    pub(crate) fn without_watch_list(mut self) -> Self {
        self.support = WatchListSupport::Unsupported;
        self
    }
}

/// What a request is answered with.
enum Reply<T> {
    Stream(mpsc::UnboundedReceiver<Result<T, SourceError>>),
    Error(SourceError),
    Panic,
}

async fn ask<T>(
    calls: &mpsc::UnboundedSender<Call>,
    call: impl FnOnce(oneshot::Sender<Reply<T>>) -> Call,
) -> Result<mpsc::UnboundedReceiver<Result<T, SourceError>>, SourceError> {
    let (reply, answer) = oneshot::channel();
    if calls.send(call(reply)).is_err() {
        // The test is over and only waits for the informer to stop.
        return std::future::pending().await;
    }
    match answer.await {
        Ok(Reply::Stream(stream)) => Ok(stream),
        Ok(Reply::Error(error)) => Err(error),
        Ok(Reply::Panic) => panic!("the script says so"),
        Err(_) => std::future::pending().await,
    }
}

impl ListWatch<Pod> for Source {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<Pod>, SourceError>> {
        async move {
            let mut page = ask(&self.calls, |reply| Call::List(ListCall { request, reply })).await?;
            Ok(futures::stream::poll_fn(move |cx| page.poll_recv(cx)).boxed())
        }
        .boxed()
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<Pod>, SourceError>> {
        async move {
            let mut events = ask(&self.calls, |reply| Call::Watch(WatchCall { request, reply })).await?;
            Ok(futures::stream::poll_fn(move |cx| events.poll_recv(cx)).boxed())
        }
        .boxed()
    }

    fn watch_list(&self) -> WatchListSupport {
        self.support
    }

    fn resource(&self) -> &str {
        "pods"
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

/// A request that waits for its answer.
pub(crate) enum Call {
    List(ListCall),
    Watch(WatchCall),
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(call) => call.fmt(f),
            Self::Watch(call) => call.fmt(f),
        }
    }
}

impl Server {
    /// The next request, if one comes at all.
    pub(crate) async fn next_or_none(&mut self) -> Option<Call> {
        let call = timeout(PATIENCE, self.calls.recv()).await.ok().flatten()?;
        self.asked.push(call.to_string());
        Some(call)
    }

    /// The next request, if one waits already.
    pub(crate) fn waiting(&mut self) -> Option<Call> {
        let call = self.calls.try_recv().ok()?;
        self.asked.push(call.to_string());
        Some(call)
    }

    /// The next request, which must be a LIST.
    pub(crate) async fn list(&mut self) -> ListCall {
        match self.next_or_none().await {
            Some(Call::List(call)) => call,
            Some(other) => panic!("expected a LIST, the informer asked: {other}"),
            None => panic!("expected a LIST, the informer asks for nothing"),
        }
    }

    /// The next request, which must be a WATCH of either sort.
    pub(crate) async fn watch(&mut self) -> WatchCall {
        match self.next_or_none().await {
            Some(Call::Watch(call)) => call,
            Some(other) => panic!("expected a WATCH, the informer asked: {other}"),
            None => panic!("expected a WATCH, the informer asks for nothing"),
        }
    }

    /// Checks that no request comes for this long.
    pub(crate) async fn is_left_alone_for(&mut self, time: Duration) {
        if let Ok(Some(call)) = timeout(time, self.calls.recv()).await {
            panic!("expected no request for {time:?}, the informer asked: {call}");
        }
    }
}

/// A LIST that waits for its answer.
pub(crate) struct ListCall {
    pub(crate) request: ListRequest,
    reply: oneshot::Sender<Reply<ListEvent<Pod>>>,
}

impl ListCall {
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
            body.send(Ok(ListEvent::Item(pod(text))));
        }
    }

    pub(crate) fn open(self) -> Body<ListEvent<Pod>> {
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

impl fmt::Display for ListCall {
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
pub(crate) struct WatchCall {
    pub(crate) request: WatchRequest,
    reply: oneshot::Sender<Reply<WatchEvent<Pod>>>,
}

impl WatchCall {
    pub(crate) fn open(self) -> Body<WatchEvent<Pod>> {
        Body::answer(self.reply)
    }

    pub(crate) fn fail(self, error: SourceError) {
        let _ = self.reply.send(Reply::Error(error));
    }

    pub(crate) fn panic(self) {
        let _ = self.reply.send(Reply::Panic);
    }
}

impl fmt::Display for WatchCall {
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

impl<T> Body<T> {
    fn answer(reply: oneshot::Sender<Reply<T>>) -> Self {
        let (sender, stream) = mpsc::unbounded_channel();
        let _ = reply.send(Reply::Stream(stream));
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
        self.send(Ok(WatchEvent::Added(pod(text))));
    }

    pub(crate) fn modify(&self, text: &str) {
        self.send(Ok(WatchEvent::Modified(pod(text))));
    }

    pub(crate) fn delete(&self, text: &str) {
        self.send(Ok(WatchEvent::Deleted(pod(text))));
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
