//! A source whose answers a test gives by hand, request by request, and an informer on top of it.
//!
//! Everything runs as real tasks on one thread under tokio's paused clock: time passes only when every task waits, so a
//! test that waits for the next request sees exactly the waits the informer makes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use informer_core::source::{
    BookmarkMark, ListEvent, ListFrom, ListMetadata, ListRequest, ListStream, ListWatch, ServerStatus,
    Undecodable, WatchEvent, WatchFrom, WatchListFrom, WatchListSupport, WatchRequest, WatchStream,
};
use informer_core::{
    Deleted, Event, EventStream, InitialState, ObjectKey, Offload, Origin, ReflectorConfig, ResourceVersion,
    ScopeStatus, SharedInformer, SharedInformerBuilder, SourceError, State, UpdateCause,
};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// How long a test waits for a request before it says that none comes: longer than any backoff.
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

    /// Answers with a page that says there is another.
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

/// The metadata of a last page.
pub(crate) fn metadata(version: &str) -> ListMetadata {
    ListMetadata {
        resource_version: Some(version.into()),
        continue_token: None,
        remaining: None,
    }
}

/// A pod from `namespace/name@version{label=value,label=value}#uid`, of which only the name must be there. The namespace is
/// `default` if not given.
pub(crate) fn pod(text: &str) -> Arc<Pod> {
    let (text, uid) = text.split_once('#').unwrap_or((text, ""));
    let (text, labels) = text.trim_end_matches('}').split_once('{').unwrap_or((text, ""));
    let (key, version) = text.split_once('@').unwrap_or((text, ""));
    let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let labels: BTreeMap<String, String> = labels
        .split(',')
        .filter_map(|label| label.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Arc::new(Pod {
        metadata: ObjectMeta {
            namespace: some(namespace),
            name: some(name),
            uid: Some(some(uid).unwrap_or_else(|| format!("uid-of-{name}"))),
            resource_version: some(version),
            labels: (!labels.is_empty()).then_some(labels),
            ..ObjectMeta::default()
        },
        ..Pod::default()
    })
}

/// A pod as [`pod`] reads it, without its UID.
pub(crate) fn show(pod: &Pod) -> String {
    let key = ObjectKey::of(&pod.metadata).expect("every pod of a test has a name");
    let labels: Vec<String> = (pod.metadata.labels.iter().flatten())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let labels = match labels.as_slice() {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    };
    format!("{}@{}{labels}", short(&key), version_of(pod))
}

/// A key, without the namespace if it is `default`.
pub(crate) fn short(key: &ObjectKey) -> String {
    key.to_string().trim_start_matches("default/").to_owned()
}

/// An event on one short line, such as `add(initial) a@1`.
pub(crate) fn tell(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, origin, .. } => match origin {
            Origin::Initial => format!("add(initial) {}", show(object)),
            _ => format!("add {}", show(object)),
        },
        Event::Updated { old, new, cause, .. } => match cause {
            UpdateCause::Resync => format!("resync {}", show(new)),
            _ => format!("update {}->{}", show(old), version_of(new)),
        },
        Event::Deleted(Deleted::Observed(object)) => format!("delete {}", show(object)),
        Event::Deleted(Deleted::Missed { last_known, .. }) => format!("delete(missed) {}", show(last_known)),
    }
}

fn version_of(pod: &Pod) -> &str {
    pod.metadata.resource_version.as_deref().unwrap_or_default()
}

/// An object that cannot be decoded, of which the key can be read if there is one.
pub(crate) fn undecodable(text: Option<&str>) -> Undecodable {
    let pod = text.map(pod);
    Undecodable {
        key: pod.as_ref().and_then(|pod| ObjectKey::of(&pod.metadata)),
        version: pod.as_ref().and_then(|pod| ResourceVersion::of(&pod.metadata)),
        uid: pod.and_then(|pod| pod.metadata.uid.clone()),
        reason: "not a pod".to_owned(),
    }
}

/// An error answer of this code and reason.
pub(crate) fn status(code: u16, reason: &str) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code,
            reason: reason.to_owned(),
            ..ServerStatus::default()
        },
    }
}

pub(crate) fn expired() -> SourceError {
    status(410, "Expired")
}

pub(crate) fn refused() -> SourceError {
    SourceError::Connect("connection refused".to_owned())
}

/// 429, with a wait asked for if there is one.
pub(crate) fn too_many(retry_after: Option<Duration>) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code: 429,
            reason: "TooManyRequests".to_owned(),
            retry_after,
            ..ServerStatus::default()
        },
    }
}

/// Lets every task run until all of them wait. Costs one millisecond of the paused clock.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// An informer over a scripted server, and a listener to its events.
pub(crate) struct Rig {
    pub(crate) informer: SharedInformer<Pod>,
    pub(crate) server: Server,
    pub(crate) events: EventStream<Pod>,
}

/// The defaults with a fixed seed, so that a failure repeats.
pub(crate) fn config(initial: InitialState) -> ReflectorConfig {
    let mut config = ReflectorConfig::default();
    config.initial = initial;
    config.seed = Some(7);
    config
}

impl Rig {
    /// Starts an informer that reads its state by LIST.
    pub(crate) fn listing() -> Self {
        Self::with(config(InitialState::List), |builder| builder)
    }

    /// Starts an informer that reads its state by watch-list.
    pub(crate) fn watch_listing() -> Self {
        Self::with(config(InitialState::WatchList), |builder| builder)
    }

    pub(crate) fn with(
        config: ReflectorConfig,
        change: impl FnOnce(SharedInformerBuilder<Pod>) -> SharedInformerBuilder<Pod>,
    ) -> Self {
        let (source, server) = scripted();
        Self::over(source, server, config, change)
    }

    pub(crate) fn over(
        source: Source,
        server: Server,
        config: ReflectorConfig,
        change: impl FnOnce(SharedInformerBuilder<Pod>) -> SharedInformerBuilder<Pod>,
    ) -> Self {
        let builder = SharedInformer::builder_from_sources(vec![Arc::new(source) as Arc<dyn ListWatch<Pod>>])
            .reflector(config)
            .offload(Offload::Inline);
        let informer = change(builder).build().expect("the settings of a test are valid");
        let events = informer.events();
        informer.start().expect("a test has a runtime");
        Self {
            informer,
            server,
            events,
        }
    }

    /// A rig whose first list was `pods` at `version`, and whose watch is open.
    pub(crate) async fn synced(version: &str, pods: &[&str]) -> (Self, Body<WatchEvent<Pod>>) {
        let mut rig = Self::listing();
        rig.server.list().await.page(version, pods);
        let watch = rig.server.watch().await.open();
        rig.heard().await;
        rig.server.asked.clear();
        (rig, watch)
    }

    /// What was heard since the last call, once nothing moves any more.
    pub(crate) async fn heard(&mut self) -> Vec<String> {
        settle().await;
        let mut heard = Vec::new();
        while let Some(Some(event)) = self.events.next().now_or_never() {
            heard.push(tell(&event));
        }
        heard
    }

    /// The store, once nothing moves any more.
    pub(crate) async fn store(&self) -> Vec<String> {
        settle().await;
        self.informer
            .indexer()
            .list()
            .iter()
            .map(|pod| show(pod))
            .collect()
    }

    /// The one scope's status, once nothing moves any more.
    pub(crate) async fn scope(&self) -> ScopeStatus {
        settle().await;
        self.informer.status().scopes.remove(0)
    }

    pub(crate) async fn state(&self) -> State {
        self.scope().await.state
    }

    /// The version of the store, once nothing moves any more.
    pub(crate) async fn version(&self) -> String {
        settle().await;
        self.informer
            .last_sync_resource_version()
            .map_or_else(|| "none".to_owned(), |version| version.to_string())
    }
}

/// How long something takes on the paused clock.
pub(crate) async fn timed<T>(future: impl Future<Output = T>) -> (Duration, T) {
    let begun = Instant::now();
    let done = future.await;
    (begun.elapsed(), done)
}
