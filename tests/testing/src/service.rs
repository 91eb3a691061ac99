//! The server as a tower service, over any body type: kube's client and hyper both call it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::api;
use crate::error::ApiError;
use crate::faults::{Fault, Plan};
use crate::log::{self, Outcome};
use crate::request::Target;
use crate::respond::{self, Body};
use crate::shared::{BoxError, Shared};
use crate::watch::broken;

/// The server as a [`tower::Service`].
///
/// Cheap to clone. It answers in the task of the caller, without sockets and background tasks, so it works
/// under tokio's paused clock. After the server is dropped, every call fails like a refused connection.
#[derive(Clone, Debug)]
pub struct ApiService {
    shared: Arc<Shared>,
}

/// The maximum length of a body, as upstream.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// A request with its complete body.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn accept(&self) -> &str {
        header(&self.headers, ACCEPT)
    }

    pub(crate) fn content_type(&self) -> &str {
        header(&self.headers, CONTENT_TYPE)
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
    }

    pub(crate) fn user_agent(&self) -> &str {
        header(&self.headers, USER_AGENT)
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        let offered = header(&self.headers, ACCEPT_ENCODING).split(',');
        let mut names = offered.map(|coding| coding.split(';').next().unwrap_or_default().trim());
        names.any(|name| name == "gzip")
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

impl ApiService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Answers one request. An error means that the connection fails.
    async fn serve<B>(self, request: Request<B>) -> Result<Response<Body>, BoxError>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let target = Target::read(&parts.method, &path, parts.uri.query().unwrap_or_default());
        let entry = self.entry(&parts, &path, &target);
        let plan = self.shared.script().plan(&entry);
        let refusal = plan.refusal(&entry);
        let number = self.shared.log().begin(entry);
        let format = self.shared.error_format(header(&parts.headers, ACCEPT));
        let result = match self.before_answer(&plan).await {
            Err(error) => Err(error),
            Ok(()) => match (refusal, Limited::new(body, BODY_LIMIT).collect().await) {
                (Some(refusal), _) => Ok(respond::error(&refusal, format)),
                (None, Ok(body)) => {
                    let call = Call {
                        target,
                        path,
                        headers: parts.headers,
                        body: body.to_bytes(),
                    };
                    Ok(api::answer(&self.shared, &call, plan))
                }
                (None, Err(error)) if error.is::<LengthLimitError>() => {
                    let message = format!("Request entity too large: limit is {BODY_LIMIT}");
                    let error = ApiError::new(413, "RequestEntityTooLarge", message);
                    Ok(respond::error(&error, format))
                }
                (None, Err(error)) => Err(error),
            },
        };
        let outcome = result.as_ref().map_or(Outcome::Failed, |answer| {
            Outcome::Answered(answer.status().as_u16())
        });
        self.shared.log().finish(number, outcome);
        result
    }

    /// Applies the faults that act before the answer. An error means that the connection fails.
    async fn before_answer(&self, plan: &Plan) -> Result<(), BoxError> {
        if self.shared.is_stopped() {
            return Err(refused());
        }
        let delay = plan.delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if plan.has(&Fault::Refuse) {
            return Err(refused());
        }
        if let Some(id) = plan.hang() {
            self.shared.held_by(id).await;
            return Err(broken());
        }
        Ok(())
    }

    /// Returns the request as the log and the fault rules see it.
    fn entry(&self, parts: &http::request::Parts, path: &str, target: &Target) -> log::Request {
        let text = |name| header(&parts.headers, name).to_owned();
        let mut entry = log::Request {
            number: 0,
            method: parts.method.to_string(),
            path: path.to_owned(),
            query: target.query.clone(),
            verb: target.verb,
            resource: None,
            group: String::new(),
            namespace: None,
            name: None,
            subresource: None,
            user_agent: text(USER_AGENT),
            accept: text(ACCEPT),
            accept_encoding: text(ACCEPT_ENCODING),
            at: self.shared.clock.elapsed(),
            outcome: Outcome::Pending,
        };
        if let Some(resource) = &target.resource {
            log::fill_path(&mut entry, resource);
        }
        tracing::debug!(method = %parts.method, path, verb = target.verb.as_str(), "received request");
        entry
    }
}

/// The error of a refused connection.
fn refused() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused").into()
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().serve(request))
    }
}
