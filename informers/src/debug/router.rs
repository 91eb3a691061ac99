//! The page and its JSON as a service: routes, methods and headers.

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use serde::Serialize;

use super::history::History;
use super::page::{self, Page};
use super::request::Target;
use super::server::{self, Address, ServeError, Server};
use super::view::{self, KeyPage, Messages, Overview};
use crate::SharedInformerFactory;
use crate::factory::WeakFactory;

/// The headers of every answer. What the page may load and who may embed it is in the policy, which has a
/// number of its own in each answer.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// The debug page of a factory, as a `tower::Service` that any HTTP server can mount.
///
/// [`router`](super::router) creates it. It answers requests of any body type, never fails and does not wait.
/// It may be mounted at any path, with or without removing that path from the requests: the last segment
/// decides. Empty or `debug` is the page, `informers.json` and `keys.json` are the JSON; everything else is
/// not found.
///
/// Clones share the samples that the charts show.
#[derive(Clone)]
pub struct Router {
    factory: WeakFactory,
    history: Arc<History>,
    messages: Messages,
}

impl Router {
    pub(super) fn new(factory: &SharedInformerFactory) -> Self {
        let router = Self {
            factory: factory.downgrade(),
            history: Arc::default(),
            messages: Messages::default(),
        };
        router.history.start(factory);
        router
    }

    /// Also shows messages that come from code of the program: those of panics in handlers, of index
    /// functions and of failed reconciles. They may quote objects, so they are hidden by default.
    #[must_use]
    pub fn show_messages(mut self) -> Self {
        self.messages = Messages::Shown;
        self
    }

    /// Serves the page on a port of the loopback interface, or on another address, as
    /// [`serve`](super::serve) does.
    ///
    /// # Errors
    /// [`ServeError`] if the address is in use or cannot be used.
    pub async fn serve(self, address: impl Into<Address>) -> Result<Server, ServeError> {
        let stopped = self.factory.upgrade().map(|factory| factory.stopped());
        server::start(self, address.into(), async {
            if let Some(stopped) = stopped {
                stopped.await;
            }
        })
        .await
    }

    /// Answers one request.
    pub(super) fn answer(&self, method: &Method, uri: &Uri) -> Response<Full<Bytes>> {
        let mut answer = match *method {
            Method::GET | Method::HEAD => self.get(uri),
            _ => {
                let mut answer = Answer::text(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD");
                answer
                    .headers
                    .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
                answer
            }
        };
        let length = HeaderValue::from(answer.body.len());
        answer.headers.insert(header::CONTENT_LENGTH, length);
        if *method == Method::HEAD {
            answer.body.clear();
        }
        answer.into_response()
    }

    fn get(&self, uri: &Uri) -> Answer {
        let Some(target) = Target::read(uri.path(), uri.query().unwrap_or_default()) else {
            return Answer::text(StatusCode::NOT_FOUND, "not found");
        };
        let Some(factory) = self.factory.upgrade() else {
            const GONE: &str = "the factory of this page was dropped";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return match target {
                Target::Json | Target::KeysAsJson(_) => Answer::text(status, GONE),
                _ => Answer::page(status, page::message("Stopped", GONE)),
            };
        };
        self.history.start(&factory);
        let overview = || Overview::new(&factory, &self.history, self.messages);
        match target {
            Target::Overview => Answer::page(StatusCode::OK, page::overview(&overview())),
            Target::Informer(query) => {
                let overview = overview();
                let status = overview
                    .informers
                    .iter()
                    .find(|informer| informer.id == query.informer);
                match (status, find(&factory, &query.informer)) {
                    (Some(status), Some(informer)) => {
                        let keys = KeyPage::new(query.informer.clone(), &query.read(&informer), query.limit);
                        Answer::page(StatusCode::OK, page::informer(status, &keys))
                    }
                    _ => Answer::missing("informer", &query.informer),
                }
            }
            Target::Controller(name) => {
                let overview = overview();
                let mut controllers = overview.controllers.iter();
                match controllers.find(|controller| controller.name == name) {
                    Some(controller) => Answer::page(StatusCode::OK, page::controller(controller)),
                    None => Answer::missing("controller", &name),
                }
            }
            Target::Json => Answer::json(&overview()),
            Target::KeysAsJson(query) => match find(&factory, &query.informer) {
                Some(informer) => {
                    let keys = query.read(&informer);
                    Answer::json(&KeyPage::new(query.informer, &keys, query.limit))
                }
                None => Answer::text(
                    StatusCode::NOT_FOUND,
                    "no such informer: use an `id` of informers.json as `informer`",
                ),
            },
        }
    }
}

fn find(factory: &SharedInformerFactory, id: &str) -> Option<informer_core::DynInformer> {
    let mut informers = view::identified(factory).into_iter();
    informers.find(|(own, _)| own == id).map(|(_, informer)| informer)
}

/// An answer before its last headers.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: StatusCode, content: &'static str, policy: HeaderValue, body: Vec<u8>) -> Self {
        let headers = HEADERS
            .into_iter()
            .map(|(name, value)| (name, HeaderValue::from_static(value)))
            .chain([
                (header::CONTENT_TYPE, HeaderValue::from_static(content)),
                (header::CONTENT_SECURITY_POLICY, policy),
            ]);
        Self {
            status,
            headers: headers.collect(),
            body,
        }
    }

    /// An answer that no browser should run anything of.
    fn plain(status: StatusCode, content: &'static str, body: Vec<u8>) -> Self {
        let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        Self::new(status, content, policy, body)
    }

    fn text(status: StatusCode, text: &'static str) -> Self {
        Self::plain(status, "text/plain; charset=utf-8", text.into())
    }

    fn json(value: &impl Serialize) -> Self {
        match serde_json::to_vec_pretty(value) {
            Ok(body) => Self::plain(StatusCode::OK, "application/json", body),
            Err(_) => Self::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "cannot write the status as JSON",
            ),
        }
    }

    /// A page, whose style and script are allowed by a number that nobody can guess.
    fn page(status: StatusCode, page: Page) -> Self {
        let nonce = nonce();
        let policy = format!(
            "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        );
        let policy = HeaderValue::try_from(policy).expect("it consists of visible characters");
        let body = page.fill(&nonce).into_bytes();
        Self::new(status, "text/html; charset=utf-8", policy, body)
    }

    fn missing(what: &'static str, name: &str) -> Self {
        let text = format!("The factory has no {what} {name:?}.");
        Self::page(StatusCode::NOT_FOUND, page::message("Not found", &text))
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// A random number. The standard library seeds a `RandomState` by the operating system.
fn nonce() -> String {
    let random = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", random(), random())
}

impl<B> tower::Service<Request<B>> for Router {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Full<Bytes>>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(request.method(), request.uri())))
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}
