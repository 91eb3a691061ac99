//! The hostile server: a function from requests to answers, as a tower service behind a `kube::Client`.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use informer_testing::ApiServer;
use kube::Client;
use kube::client::Body;
use tokio::time::Sleep;
use tower::ServiceExt as _;

use crate::observe::Bystander;

/// More requests than any row needs. A loop without a pause ends here, and fails its row.
const FUSE: u64 = 6_000;

/// The longest request line that common servers and proxies accept.
const LONGEST_URI: usize = 8 * 1024;

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Watch,
    /// A watch with initial events.
    WatchList,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    /// How many requests of this verb came before it.
    pub(crate) nth: u64,
    query: Vec<(String, String)>,
}

impl Call {
    fn parse(request: &Request<Body>, counts: &mut [u64; 3]) -> Self {
        let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        let query: Vec<(String, String)> = query.into_owned().collect();
        let has = |name: &str| query.iter().any(|(key, value)| key == name && value == "true");
        let verb = match (has("watch"), has("sendInitialEvents")) {
            (false, _) => Verb::List,
            (true, false) => Verb::Watch,
            (true, true) => Verb::WatchList,
        };
        let count = &mut counts[verb as usize];
        let nth = *count;
        *count += 1;
        Self { verb, nth, query }
    }

    /// A parameter of the query; empty if it is missing.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// How long this watch may last.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.parameter("timeoutSeconds").parse().unwrap_or(300))
    }
}

/// What the server does with a request.
pub(crate) enum Answer {
    Respond {
        code: u16,
        headers: Vec<(&'static str, Vec<u8>)>,
        body: Steps,
    },
    /// The connection is refused.
    Refused,
    /// The connection breaks before an answer.
    Reset,
    /// The request is never answered.
    Never,
    /// The answer comes later.
    Late(Duration, Box<Answer>),
    /// The answer of the healthy server.
    Healthy,
}

/// A body, step by step. It ends after the last step.
pub(crate) type Steps = Box<dyn Iterator<Item = Step> + Send>;

/// One step of a body.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(Bytes),
    Wait(Duration),
    /// Nothing more is sent, and the connection stays open.
    Silence,
    /// The connection breaks.
    Reset,
}

impl Step {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Data(Bytes::from(text.into()))
    }

    pub(crate) const fn wait(seconds: u64) -> Self {
        Self::Wait(Duration::from_secs(seconds))
    }
}

/// A 200 with these steps as its body.
pub(crate) fn body<I>(steps: I) -> Answer
where
    I: IntoIterator<Item = Step>,
    I::IntoIter: Send + 'static,
{
    Answer::Respond {
        code: 200,
        headers: vec![("content-type", b"application/json".to_vec())],
        body: Box::new(steps.into_iter()),
    }
}

/// A 200 with this text as its body.
pub(crate) fn json(text: impl Into<Vec<u8>>) -> Answer {
    body([Step::Data(Bytes::from(text.into()))])
}

impl Answer {
    /// Sets the status code.
    pub(crate) fn code(mut self, new: u16) -> Self {
        if let Self::Respond { code, .. } = &mut self {
            *code = new;
        }
        self
    }

    /// Sets a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        if let Self::Respond { headers, .. } = &mut self {
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value.into()));
        }
        self
    }
}

type AnyBody = UnsyncBoxBody<Bytes, tower::BoxError>;

/// A function from requests to answers.
pub(crate) type Script = Box<dyn Fn(&Call) -> Answer + Send + Sync>;

/// The hostile server, the healthy server that replaces it, and counts of their requests.
pub(crate) struct ScriptedServer {
    script: Script,
    pub(crate) healthy: ApiServer,
    is_healthy: AtomicBool,
    requests: AtomicU64,
    counts: Mutex<[u64; 3]>,
    pub(crate) bystander: Bystander,
}

impl ScriptedServer {
    pub(crate) fn new(script: Script, healthy: ApiServer) -> Arc<Self> {
        Arc::new(Self {
            script,
            healthy,
            is_healthy: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            counts: Mutex::default(),
            bystander: Bystander::default(),
        })
    }

    /// Answers with the healthy server from now on. Bodies that send data break off; silent ones stay silent.
    pub(crate) fn heal(&self) {
        self.is_healthy.store(true, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        });
        Client::new(service, "default")
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response<AnyBody>, tower::BoxError> {
        let call = Call::parse(&request, &mut self.counts.lock().expect("no holder panics"));
        let is_spent = self.requests.fetch_add(1, Ordering::Relaxed) >= FUSE;
        if is_spent && !self.is_healthy.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        let mut answer = match self.is_healthy.load(Ordering::Relaxed) {
            true => Answer::Healthy,
            false => (self.script)(&call),
        };
        while let Answer::Late(wait, later) = answer {
            tokio::time::sleep(wait).await;
            answer = *later;
        }
        match answer {
            Answer::Refused => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
            Answer::Reset => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            Answer::Never | Answer::Late(..) => std::future::pending().await,
            Answer::Healthy => self.healthy_answer(request).await,
            Answer::Respond { code, headers, body } => {
                let mut response = Response::builder().status(code);
                for (name, value) in headers {
                    response = response.header(name, http::HeaderValue::from_bytes(&value)?);
                }
                let body = HostileBody {
                    steps: body,
                    wait: None,
                    is_silent: false,
                    server: self.clone(),
                };
                Ok(response.body(body.map_err(Into::into).boxed_unsync())?)
            }
        }
    }

    /// Refuses long request lines, as real servers do.
    async fn healthy_answer(&self, request: Request<Body>) -> Result<Response<AnyBody>, tower::BoxError> {
        if request.uri().to_string().len() > LONGEST_URI {
            let empty = Body::empty().map_err(Into::into).boxed_unsync();
            return Ok(Response::builder().status(431).body(empty)?);
        }
        let response = self.healthy.service().oneshot(request).await?;
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// A body that follows its steps.
pub(crate) struct HostileBody {
    steps: Steps,
    wait: Option<Pin<Box<Sleep>>>,
    is_silent: bool,
    server: Arc<ScriptedServer>,
}

impl http_body::Body for HostileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            if self.is_silent {
                return Poll::Pending;
            }
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(context));
                self.wait = None;
            }
            if self.server.is_healthy.load(Ordering::Relaxed) {
                return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
            }
            match self.steps.next() {
                None => return Poll::Ready(None),
                Some(Step::Data(data)) => {
                    self.server.bystander.piece();
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Step::Wait(time)) => self.wait = Some(Box::pin(tokio::time::sleep(time))),
                Some(Step::Silence) => self.is_silent = true,
                Some(Step::Reset) => {
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
                }
            }
        }
    }
}
