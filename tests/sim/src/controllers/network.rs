//! The connection between one process and the server: late, lost and cut requests, and nothing while the
//! process is frozen.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use informer_core::simulation;
use informer_testing::{ApiServer, ApiService};
use kube::Client;
use kube::client::Body;
use tower::ServiceExt as _;

use super::plan::Weather;
use super::process::Process;
use crate::verdict::observe;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What happens to one request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub(super) before: Duration,
    pub(super) after: Duration,
    pub(super) loss: Loss,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Loss {
    #[default]
    Nothing,
    Request,
    /// The server has done what was requested.
    Answer,
    /// Neither arrives, and no error does.
    Everything,
}

/// What a write does to the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseWrite {
    /// Takes it, or renews it.
    Holds,
    Releases,
}

impl LeaseWrite {
    fn of(body: &[u8]) -> Self {
        let lease: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        match lease["spec"]["holderIdentity"].as_str() {
            None | Some("") => Self::Releases,
            Some(_) => Self::Holds,
        }
    }
}

/// Creates a client of the server for one process.
pub(super) fn client(server: &ApiServer, process: &Arc<Process>) -> Client {
    let (service, process) = (server.service(), process.clone());
    let send = move |request| send(service.clone(), process.clone(), request);
    Client::new(tower::service_fn(send), "default")
}

async fn send(
    service: ApiService,
    process: Arc<Process>,
    request: Request<Body>,
) -> Result<Response<Gated>, BoxError> {
    simulation::yield_point().await;
    process.thawed().await;
    let fate = process.fate();
    observe(&format!(
        "{} {} {}",
        process.name,
        request.method(),
        request.uri()
    ));
    pass(fate.before, &process).await;
    match fate.loss {
        Loss::Request => return Err(broken()),
        Loss::Everything => return std::future::pending().await,
        Loss::Nothing | Loss::Answer => {}
    }
    let is_write = [Method::PUT, Method::POST].contains(request.method());
    let is_lease = is_write && request.uri().path().contains("/leases");
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let lease = is_lease.then(|| LeaseWrite::of(&body));
    let request = Request::from_parts(head, Body::from(body));
    let sender = process.clone();
    // A request on its way arrives, although the client no longer waits.
    let answer = tokio::spawn(async move {
        let answer = service.oneshot(request).await;
        if let Some(lease) = lease
            && answer.as_ref().is_ok_and(|answer| answer.status().is_success())
        {
            sender.stored_lease(lease);
        }
        answer
    });
    let answer = answer.await?;
    pass(fate.after, &process).await;
    if fate.loss == Loss::Answer {
        return Err(broken());
    }
    simulation::yield_point().await;
    let answer = answer?;
    Ok(answer.map(|body| Gated {
        inner: UnsyncBoxBody::new(body),
        process,
    }))
}

async fn pass(time: Duration, process: &Process) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
    process.thawed().await;
}

fn broken() -> BoxError {
    std::io::Error::other("the connection broke").into()
}

/// A body that stops while its process is frozen, and breaks when the network is cut.
struct Gated {
    inner: UnsyncBoxBody<Bytes, BoxError>,
    process: Arc<Process>,
}

impl http_body::Body for Gated {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        this.process.wake_later(cx.waker());
        if this.process.is_frozen() {
            return Poll::Pending;
        }
        match this.process.weather() {
            Weather::Cut => Poll::Ready(Some(Err(broken()))),
            Weather::Dead => Poll::Pending,
            Weather::Good | Weather::Late | Weather::Bad => Pin::new(&mut this.inner).poll_frame(cx),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
