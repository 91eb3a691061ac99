//! Answers by hand: a test takes the requests one by one.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Call, ListCall, Source, WatchCall};

/// How long a test waits for a request before it fails: longer than any backoff.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// The test's end: takes the requests one by one.
pub(crate) struct Server {
    calls: mpsc::UnboundedReceiver<Call>,
    /// Every request taken so far, as text.
    pub(crate) requests: Vec<String>,
}

/// A source of all namespaces and the server behind it.
pub(crate) fn scripted() -> (Source<Pod>, Server) {
    let (calls, taken) = mpsc::unbounded_channel();
    let source = Source::new("pods", move |call| {
        // The test may have ended; the request then stays without an answer.
        let _ = calls.send(call);
    });
    let server = Server {
        calls: taken,
        requests: Vec::new(),
    };
    (source, server)
}

impl Server {
    /// The next request, if one comes at all.
    pub(crate) async fn next_or_none(&mut self) -> Option<Call> {
        let call = timeout(REQUEST_TIMEOUT, self.calls.recv()).await.ok().flatten()?;
        self.requests.push(call.to_string());
        Some(call)
    }

    /// The next request, if one waits already.
    pub(crate) fn waiting(&mut self) -> Option<Call> {
        let call = self.calls.try_recv().ok()?;
        self.requests.push(call.to_string());
        Some(call)
    }

    /// The next request, which must be a LIST.
    pub(crate) async fn list(&mut self) -> ListCall {
        match self.next_or_none().await {
            Some(Call::List(call)) => call,
            Some(other) => panic!("expected a LIST, the informer requested: {other}"),
            None => panic!("expected a LIST, the informer requests nothing"),
        }
    }

    /// The next request, which must be a WATCH of either sort.
    pub(crate) async fn watch(&mut self) -> WatchCall {
        match self.next_or_none().await {
            Some(Call::Watch(call)) => call,
            Some(other) => panic!("expected a WATCH, the informer requested: {other}"),
            None => panic!("expected a WATCH, the informer requests nothing"),
        }
    }

    /// Checks that no request comes for this long.
    pub(crate) async fn is_left_alone_for(&mut self, time: Duration) {
        if let Ok(Some(call)) = timeout(time, self.calls.recv()).await {
            panic!("expected no request for {time:?}, the informer requested: {call}");
        }
    }
}
