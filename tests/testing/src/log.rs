//! The record of requests, for tests to assert on.

use std::collections::VecDeque;
use std::time::Duration;

use crate::request::{ResourcePath, Verb, parameter};

/// The number of requests that the log keeps; older ones are dropped.
pub const LOG_CAPACITY: usize = 65_536;

/// One request that reached the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The position in the log, counted from the start of the server.
    pub number: u64,
    /// The HTTP method.
    pub method: String,
    /// The path, as sent.
    pub path: String,
    /// The decoded query parameters, in the order sent.
    pub query: Vec<(String, String)>,
    /// What the request does.
    pub verb: Verb,
    /// The plural name of the resource, if the path names one.
    pub resource: Option<String>,
    /// The API group of the resource; empty for the core group.
    pub group: String,
    /// The namespace in the path.
    pub namespace: Option<String>,
    /// The object in the path.
    pub name: Option<String>,
    /// The subresource in the path.
    pub subresource: Option<String>,
    /// The `User-Agent` header, or an empty string.
    pub user_agent: String,
    /// The `Accept` header, or an empty string.
    pub accept: String,
    /// The `Accept-Encoding` header, or an empty string.
    pub accept_encoding: String,
    /// The time since the server started, by tokio's clock.
    pub at: Duration,
    /// How it was answered.
    pub outcome: Outcome,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Not yet: it is in progress, or blocked by a fault.
    Pending,
    /// With this status code. A watch counts as answered when its headers are sent.
    Answered(u16),
    /// The connection failed before an answer was sent.
    Failed,
}

impl Request {
    /// Returns the first value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        parameter(&self.query, name)
    }

    /// Returns the `resourceVersion` parameter; empty if it was not sent.
    pub fn resource_version(&self) -> &str {
        self.parameter("resourceVersion").unwrap_or_default()
    }

    /// Whether the request is a list.
    pub fn is_list(&self) -> bool {
        self.verb == Verb::List
    }

    /// Whether the request is a watch.
    pub fn is_watch(&self) -> bool {
        self.verb == Verb::Watch
    }

    /// Whether the request is a watch that requests the initial state.
    pub fn is_watch_list(&self) -> bool {
        self.is_watch() && self.parameter("sendInitialEvents") == Some("true")
    }

    /// Returns the status code, if the request was answered.
    pub fn code(&self) -> Option<u16> {
        match self.outcome {
            Outcome::Answered(code) => Some(code),
            _ => None,
        }
    }
}

/// A snapshot of the log, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Keeps the lists.
    pub fn lists(&self) -> Self {
        self.filtered(Request::is_list)
    }

    /// Keeps the watches.
    pub fn watches(&self) -> Self {
        self.filtered(Request::is_watch)
    }

    /// Keeps the requests for a resource, by its plural name.
    pub fn of(&self, plural: &str) -> Self {
        self.filtered(|request| request.resource.as_deref() == Some(plural))
    }

    /// Keeps the requests with this verb.
    pub fn with_verb(&self, verb: Verb) -> Self {
        self.filtered(|request| request.verb == verb)
    }

    /// Keeps the requests that arrived after the given number; use the `number` of the last request seen.
    pub fn after(&self, number: u64) -> Self {
        self.filtered(|request| request.number > number)
    }

    /// Keeps the requests for which the function returns true.
    pub fn filtered(&self, keep: impl Fn(&Request) -> bool) -> Self {
        Self(self.0.iter().filter(|request| keep(request)).cloned().collect())
    }
}

impl std::ops::Deref for Requests {
    type Target = [Request];

    fn deref(&self) -> &[Request] {
        &self.0
    }
}

impl IntoIterator for Requests {
    type Item = Request;
    type IntoIter = std::vec::IntoIter<Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The log itself.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: VecDeque<Request>,
    next: u64,
}

impl RequestLog {
    /// Adds a request and returns its number.
    pub(crate) fn begin(&mut self, mut request: Request) -> u64 {
        let number = self.next;
        self.next += 1;
        request.number = number;
        if self.entries.len() == LOG_CAPACITY {
            self.entries.pop_front();
        }
        self.entries.push_back(request);
        number
    }

    pub(crate) fn finish(&mut self, number: u64, outcome: Outcome) {
        let oldest = self.next - self.entries.len() as u64;
        let entry = number
            .checked_sub(oldest)
            .and_then(|at| self.entries.get_mut(usize::try_from(at).ok()?));
        if let Some(entry) = entry {
            entry.outcome = outcome;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn copy(&self) -> Requests {
        Requests(self.entries.iter().cloned().collect())
    }
}

/// Copies the parts of a path into a log entry.
pub(crate) fn fill_path(request: &mut Request, path: &ResourcePath) {
    request.resource = Some(path.plural.clone());
    request.group = path.group.clone();
    request.namespace = path.namespace.clone();
    request.name = path.name.clone();
    request.subresource = path.subresource.clone();
}
