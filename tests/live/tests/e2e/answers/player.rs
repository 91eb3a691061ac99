//! Sends the requests of a table to one server and keeps the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use informer_live::Cluster;
use informer_testing::ApiServer;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::normal::Normal;
use crate::support::BOUND;

/// A server that receives the requests.
pub(super) enum Server {
    Real(Box<Cluster>),
    Embedded(ApiServer),
}

impl Server {
    fn client(&self) -> Client {
        match self {
            Self::Real(cluster) => cluster.client(),
            Self::Embedded(server) => server.client(),
        }
    }

    async fn compact(&self) {
        match self {
            Self::Real(cluster) => drop(cluster.compact().await.unwrap()),
            Self::Embedded(server) => server.compact(server.revision()),
        }
    }
}

/// One line of a table.
pub(super) enum Step {
    Request(Request),
    /// Repeats a request until it is answered with this code. Only the last answer is compared.
    Until(Request, u16),
    /// The history up to now is compacted.
    Compact,
}

impl Step {
    pub(super) fn is_named(&self, name: &str) -> bool {
        match self {
            Self::Request(request) | Self::Until(request, _) => request.name == name,
            Self::Compact => false,
        }
    }
}

impl From<Request> for Step {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

/// A request. `${name}` in its path and its body stands for a value that an earlier answer had.
#[derive(Clone)]
pub(super) struct Request {
    name: &'static str,
    method: Method,
    path: String,
    headers: BTreeMap<&'static str, &'static str>,
    body: String,
    keep: Vec<(&'static str, &'static str)>,
}

/// The content types of patches.
pub(super) const JSON: &str = "application/json-patch+json";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(super) const APPLY: &str = "application/apply-patch+yaml";

impl Request {
    fn new(name: &'static str, method: Method, path: impl Into<String>) -> Self {
        Self {
            name,
            method,
            path: path.into(),
            // A manager is recorded by the name of its program.
            headers: BTreeMap::from([("user-agent", "table/1.0"), ("accept", "application/json")]),
            body: String::new(),
            keep: Vec::new(),
        }
    }

    pub(super) fn get(name: &'static str, path: impl Into<String>) -> Self {
        Self::new(name, Method::GET, path)
    }

    pub(super) fn post(name: &'static str, path: impl Into<String>, body: Value) -> Self {
        let request = Self::new(name, Method::POST, path).text(body.to_string());
        request.header("content-type", "application/json")
    }

    pub(super) fn put(name: &'static str, path: impl Into<String>, body: Value) -> Self {
        let request = Self::new(name, Method::PUT, path).text(body.to_string());
        request.header("content-type", "application/json")
    }

    pub(super) fn patch(
        name: &'static str,
        path: impl Into<String>,
        kind: &'static str,
        body: Value,
    ) -> Self {
        let request = Self::new(name, Method::PATCH, path).text(body.to_string());
        request.header("content-type", kind)
    }

    pub(super) fn delete(name: &'static str, path: impl Into<String>) -> Self {
        Self::new(name, Method::DELETE, path)
    }

    /// With the options of a deletion.
    pub(super) fn delete_with(name: &'static str, path: impl Into<String>, options: Value) -> Self {
        let request = Self::delete(name, path).text(options.to_string());
        request.header("content-type", "application/json")
    }

    /// Replaces the body by any text.
    pub(super) fn text(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Names the field manager.
    pub(super) fn by(mut self, manager: &str) -> Self {
        let separator = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{separator}fieldManager={manager}", self.path);
        self
    }

    /// Keeps the value at a JSON pointer of the answer for later requests.
    pub(super) fn keep(mut self, name: &'static str, pointer: &'static str) -> Self {
        self.keep.push((name, pointer));
        self
    }

    pub(super) fn until(self, code: u16) -> Step {
        Step::Until(self, code)
    }
}

/// A comparable answer.
pub(super) struct Answer {
    pub(super) step: &'static str,
    pub(super) request: String,
    pub(super) content: Value,
}

/// Headers that are compared.
const HEADERS: [&str; 3] = ["content-type", "retry-after", "warning"];

/// Plays a table in order.
pub(super) async fn play(server: &Server, steps: &[Step]) -> Vec<Answer> {
    let (client, mut kept, mut normal) = (server.client(), BTreeMap::new(), Normal::default());
    let mut answers = Vec::new();
    for step in steps {
        let (request, raw) = match step {
            Step::Compact => {
                server.compact().await;
                continue;
            }
            Step::Request(request) => (request, send(&client, request, &kept).await),
            Step::Until(request, code) => (request, repeat(&client, request, &kept, *code).await),
        };
        for (name, pointer) in &request.keep {
            let value = raw.pointer(&format!("/body{pointer}")).and_then(Value::as_str);
            let value = value.unwrap_or_else(|| panic!("{}: no {pointer} in {raw}", request.name));
            kept.insert(*name, value.to_owned());
        }
        answers.push(Answer {
            step: request.name,
            request: format!("{} {}", request.method, filled(&request.path, &kept)),
            content: normal.apply(raw),
        });
    }
    answers
}

async fn repeat(
    client: &Client,
    request: &Request,
    kept: &BTreeMap<&'static str, String>,
    code: u16,
) -> Value {
    let started = std::time::Instant::now();
    loop {
        let answer = send(client, request, kept).await;
        if answer["code"] == code {
            return answer;
        }
        assert!(started.elapsed() < BOUND, "{}: still {answer}", request.name);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn send(client: &Client, request: &Request, kept: &BTreeMap<&'static str, String>) -> Value {
    let mut sent = http::Request::builder()
        .method(request.method.clone())
        .uri(filled(&request.path, kept));
    for (name, value) in &request.headers {
        sent = sent.header(*name, *value);
    }
    let body = Body::from(filled(&request.body, kept).into_bytes());
    let exchange = async {
        let answer = client.send(sent.body(body).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts, bytes)
    };
    let exchange = tokio::time::timeout(BOUND, exchange).await;
    let (parts, bytes) = exchange.unwrap_or_else(|_| panic!("{}: no answer", request.name));
    let mut headers = serde_json::Map::new();
    for name in HEADERS {
        if let Some(value) = parts.headers.get(name).and_then(|value| value.to_str().ok()) {
            headers.insert(name.to_owned(), value.into());
        }
    }
    json!({ "code": parts.status.as_u16(), "headers": headers, "body": read(&bytes) })
}

/// One document, several lines of a watch, or text.
fn read(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    match documents.collect::<Result<Vec<Value>, _>>() {
        Ok(mut documents) if documents.len() == 1 && documents[0].get("object").is_none() => {
            documents.remove(0)
        }
        Ok(events) => json!({ "events": events }),
        Err(_) => json!({ "text": String::from_utf8_lossy(bytes) }),
    }
}

fn filled(text: &str, kept: &BTreeMap<&'static str, String>) -> String {
    kept.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}
