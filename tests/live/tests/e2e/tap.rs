//! Sees the requests of a client, and how the server answered.

use std::sync::{Arc, Mutex};

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Request};
use kube::Client;
use kube::client::Body;

/// One request and the head of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Path and parameters, as sent.
    pub(crate) uri: String,
    /// What kind of answer was asked for.
    pub(crate) accept: String,
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
