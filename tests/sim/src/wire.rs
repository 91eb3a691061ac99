//! The connection between an informer and the server: yields to other tasks, and checks every request (I11,
//! I12).

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderValue, RETRY_AFTER};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use informer_core::source::Encoding;
use informer_core::{
    Offload, Scope, ScopeStatus, SharedInformer, SharedInformerBuilder, Storage, simulation,
};
use informer_testing::{ApiServer, ApiService};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::observer::{Slot, number};
use crate::plan::PLACES;
use crate::verdict::{is_violated, observe, report};

/// The period over which requests are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The most requests of one scope within it, without later pages of lists. A watch that the server closes
/// after a second may be opened again at once, and a failure may cost a watch-list, a list and a watch before
/// the next wait.
const RATE: usize = 100;

/// The most later pages that one scope may request within the window: a list has at most one page per object.
const PAGES: usize = RATE * PLACES;

/// The requests of one informer.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// The times of the last requests of each namespace.
    recent: BTreeMap<String, VecDeque<Instant>>,
    /// The times of the last later pages of each namespace.
    pages: BTreeMap<String, VecDeque<Instant>>,
    /// The end of the `Retry-After` of each namespace.
    not_before: BTreeMap<String, Instant>,
    watches: BTreeMap<String, Watches>,
}

/// The watches of one namespace.
#[derive(Clone, Copy, Debug, Default)]
struct Watches {
    requests: u64,
    pages: u64,
    opened: u64,
    open: u64,
    /// How long no watch was open, up to the last time that one was opened.
    blind: Duration,
    /// Since when no watch is open, if one ever was.
    blind_since: Option<Instant>,
}

/// Counts of the requests of one scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    /// The number of requests, without later pages of lists.
    pub(crate) requests: u64,
    /// The number of later pages of lists.
    pub(crate) pages: u64,
    /// The number of watches that were opened.
    pub(crate) opened: u64,
    /// The time without an open watch, since the first one.
    pub(crate) blind: Duration,
}

impl Traffic {
    pub(crate) fn contact(&self, scope: &Scope) -> Contact {
        let namespace = match scope {
            Scope::Namespace(namespace) => namespace.to_string(),
            _ => String::new(),
        };
        let watches = self.watches.get(&namespace).copied().unwrap_or_default();
        let blind = watches
            .blind_since
            .map(|since| since.elapsed())
            .unwrap_or_default();
        Contact {
            requests: watches.requests,
            pages: watches.pages,
            opened: watches.opened,
            blind: watches.blind + blind,
        }
    }
}

/// Counts a watch as open, until its body is dropped.
struct Open {
    traffic: Arc<Mutex<Traffic>>,
    namespace: String,
}

impl Open {
    fn new(traffic: &Arc<Mutex<Traffic>>, namespace: &str) -> Self {
        let mut held = traffic.lock().unwrap_or_else(PoisonError::into_inner);
        let watches = held.watches.entry(namespace.to_owned()).or_default();
        watches.opened += 1;
        watches.open += 1;
        if let Some(since) = watches.blind_since.take() {
            watches.blind += since.elapsed();
        }
        Self {
            traffic: traffic.clone(),
            namespace: namespace.to_owned(),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut held = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        let watches = held.watches.entry(self.namespace.clone()).or_default();
        watches.open -= 1;
        if watches.open == 0 {
            watches.blind_since = Some(Instant::now());
        }
    }
}

/// Creates a client of the server for one informer.
pub(crate) fn client(server: &ApiServer, informer: Slot, traffic: Arc<Mutex<Traffic>>, gzip: bool) -> Client {
    let service = server.service();
    let wire = Wire {
        service,
        informer,
        traffic,
        gzip,
    };
    Client::new(
        tower::service_fn(move |request| wire.clone().send(request)),
        "default",
    )
}

/// A builder of an informer that reads protobuf or JSON: every second seed is one of the two.
pub(crate) fn builder(client: Client, seed: u64) -> SharedInformerBuilder<ConfigMap> {
    let decode = informer_protobuf::decoder().expect("ConfigMap is a built-in kind");
    let encoding = match seed.is_multiple_of(2) {
        true => Encoding::Protobuf,
        false => Encoding::Json,
    };
    SharedInformer::builder(client)
        .protobuf(decode)
        .encoding(encoding)
}

/// The storage of a seed's informers. All four pairs of storage and encoding are run, and few objects stay
/// decoded, so that most are decoded when they are read.
pub(crate) fn storage(seed: u64) -> Storage {
    match seed / 2 % 2 {
        0 => Storage::Decoded,
        _ => Storage::Packed { hot_objects: 2 },
    }
}

/// An informer over everything that does all its work inline.
pub(crate) fn plain_builder(client: Client, seed: u64) -> SharedInformerBuilder<ConfigMap> {
    builder(client, seed)
        .reflector(|mut config| {
            config.seed = Some(seed);
            config
        })
        .offload(Offload::Inline)
}

/// Returns the number of requests, without later pages of lists.
pub(crate) fn requests(traffic: &Mutex<Traffic>) -> u64 {
    let traffic = traffic.lock().unwrap_or_else(PoisonError::into_inner);
    traffic.watches.values().map(|watches| watches.requests).sum()
}

#[derive(Clone)]
struct Wire {
    service: ApiService,
    informer: Slot,
    traffic: Arc<Mutex<Traffic>>,
    gzip: bool,
}

impl Wire {
    async fn send(
        self,
        mut request: Request<Body>,
    ) -> Result<Response<Yielding>, Box<dyn std::error::Error + Send + Sync>> {
        simulation::yield_point().await;
        let query = request.uri().query().unwrap_or_default().to_owned();
        let namespace = namespace_of(request.uri().path());
        observe(&format!("requests {} {query}", request.uri().path()));
        self.check_rate(&namespace, &query);
        if is_violated() {
            // An informer that requests without a pause never lets the clock move, and the run would not end.
            return std::future::pending().await;
        }
        if query.contains("watch=") && !query.contains("sendInitialEvents") {
            self.check_resume(&namespace, &query);
        }
        if self.gzip {
            request
                .headers_mut()
                .insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let response = self.service.clone().oneshot(request).await?;
        if let Some(seconds) = retry_after(&response) {
            let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
            let until = Instant::now() + Duration::from_secs(seconds);
            traffic.not_before.insert(namespace.clone(), until);
        }
        let is_open = query.contains("watch=") && response.status().is_success();
        let open = is_open.then(|| Open::new(&self.traffic, &namespace));
        simulation::yield_point().await;
        Ok(response.map(|body| Yielding::new(body, open)))
    }

    fn check_rate(&self, namespace: &str, query: &str) {
        let now = Instant::now();
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = traffic.not_before.remove(namespace)
            && now < until
        {
            let early = until - now;
            report("I12", || {
                format!("requested {early:?} before the end of Retry-After: {query}")
            });
        }
        let namespace = namespace.to_owned();
        if query.contains("continue=") {
            traffic.watches.entry(namespace.clone()).or_default().pages += 1;
            let recent = traffic.pages.entry(namespace).or_default();
            return check_window(recent, now, PAGES, "pages");
        }
        traffic.watches.entry(namespace.clone()).or_default().requests += 1;
        let recent = traffic.recent.entry(namespace).or_default();
        check_window(recent, now, RATE, "requests");
    }

    /// Checks that a watch resumes at the last ordered version, which is the one in `status()`.
    fn check_resume(&self, namespace: &str, query: &str) {
        let Some(requested) = parameter(query, "resourceVersion") else {
            return report("I11", || format!("a watch without a version: {query}"));
        };
        let slot = self.informer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(informer) = slot.as_ref() else { return };
        let status = informer.status();
        let is_this = |scope: &&ScopeStatus| match &scope.scope {
            Scope::Namespace(own) => **own == *namespace,
            _ => namespace.is_empty(),
        };
        let Some(scope) = status.scopes.iter().find(is_this) else {
            return;
        };
        let last = number(scope.version.as_ref().map(ToString::to_string));
        let stored = number(status.versions.get(&scope.scope).map(ToString::to_string));
        // A version that is not a number has no order.
        let Ok(requested) = requested.parse::<u64>() else {
            return;
        };
        let behind = requested < stored && scope.counts.rewinds == 0;
        if requested != last || behind {
            report("I11", || {
                format!(
                    "a watch from {requested}, where {last} was the last version seen and the store is at \
                     {stored}"
                )
            });
        }
    }
}

/// Counts one more, and reports more than `limit` within the window.
fn check_window(recent: &mut VecDeque<Instant>, now: Instant, limit: usize, what: &str) {
    recent.push_back(now);
    while recent.front().is_some_and(|at| now - *at > WINDOW) {
        recent.pop_front();
    }
    if recent.len() > limit {
        report("I12", || format!("more than {limit} {what} within {WINDOW:?}"));
    }
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .map(|(_, value)| value)
}

fn namespace_of(path: &str) -> String {
    let after = path.split_once("/namespaces/").map(|(_, rest)| rest);
    let namespace = after.and_then(|rest| rest.split('/').next());
    namespace.unwrap_or_default().to_owned()
}

fn retry_after<B>(response: &Response<B>) -> Option<u64> {
    if response.status() != 429 {
        return None;
    }
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

type Inner = http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A body that yields to other tasks before each of its chunks.
struct Yielding {
    inner: Inner,
    pause: Turn,
    _open: Option<Open>,
}

/// Whether the body has yielded before the next chunk.
enum Turn {
    NotYet,
    Pausing(Pin<Box<dyn Future<Output = ()> + Send>>),
    Done,
}

impl Yielding {
    fn new<B>(body: B, open: Option<Open>) -> Self
    where
        B: http_body::Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
    {
        Self {
            inner: Inner::new(body),
            pause: Turn::NotYet,
            _open: open,
        }
    }
}

impl http_body::Body for Yielding {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if matches!(this.pause, Turn::NotYet) {
            this.pause = Turn::Pausing(Box::pin(simulation::yield_point()));
        }
        if let Turn::Pausing(pause) = &mut this.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            this.pause = Turn::Done;
        }
        let frame = Pin::new(&mut this.inner).poll_frame(cx);
        if frame.is_ready() {
            this.pause = Turn::NotYet;
        }
        frame
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
