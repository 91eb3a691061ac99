//! Sees the requests of a client, and how the server answered; holds one up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Request};
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;

/// One request and the head of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Path and parameters, as sent.
    pub(crate) uri: String,
    /// The requested content type.
    pub(crate) accept: String,
    pub(crate) code: u16,
    /// As the server named it; empty if it named none.
    pub(crate) encoding: String,
    pub(crate) content: String,
}

/// Remembers every request of the clients it made.
#[derive(Clone, Default)]
pub(crate) struct Tap(Arc<Mutex<Vec<Seen>>>);

impl Tap {
    /// A client that sends through another one, and is seen.
    pub(crate) fn on(&self, client: Client) -> Client {
        let tap = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (tap, client) = (tap.clone(), client.clone());
            async move {
                let uri = request.uri().to_string();
                let accept = text(request.headers(), ACCEPT);
                let response = client.send(request).await?;
                let seen = Seen {
                    uri,
                    accept,
                    code: response.status().as_u16(),
                    encoding: text(response.headers(), CONTENT_ENCODING),
                    content: text(response.headers(), CONTENT_TYPE),
                };
                tap.0.lock().unwrap().push(seen);
                Ok::<_, kube::Error>(response)
            }
        });
        Client::new(service, "default")
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> String {
    let value = headers.get(name);
    value
        .map(|value| value.to_str().unwrap().to_owned())
        .unwrap_or_default()
}

/// Holds up the first request for a further page of a list, until it is opened.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Held>);

struct Held {
    is_used: AtomicBool,
    reached: Semaphore,
    opened: Semaphore,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Held {
            is_used: AtomicBool::new(false),
            reached: Semaphore::new(0),
            opened: Semaphore::new(0),
        }))
    }

    /// A client that sends through another one, and is held up.
    pub(crate) fn on(&self, client: Client) -> Client {
        let gate = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (gate, client) = (gate.clone(), client.clone());
            async move {
                let is_page = request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("continue="));
                if is_page && !gate.0.is_used.swap(true, Ordering::Relaxed) {
                    gate.0.reached.add_permits(1);
                    gate.0.opened.acquire().await.unwrap().forget();
                }
                client.send(request).await
            }
        });
        Client::new(service, "default")
    }

    /// Waits until there is a request to hold up.
    pub(crate) async fn reached(&self) {
        self.0.reached.acquire().await.unwrap().forget();
    }

    pub(crate) fn open(&self) {
        self.0.opened.add_permits(1);
    }
}
