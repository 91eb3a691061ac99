//! Helpers: raw requests, watch streams line by line, and constructors of objects.

use std::collections::VecDeque;
use std::io::Read as _;

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use informer_testing::ApiServer;
use serde_json::{Value, json};
use tower::ServiceExt as _;

type AnyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {:?}", self.bytes))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.json())
    }
}

pub(crate) fn names(list: &Value) -> Vec<String> {
    let items = list["items"]
        .as_array()
        .unwrap_or_else(|| panic!("no items in {list}"));
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) async fn send(
    server: &ApiServer,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Result<Response<AnyBody>, String> {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    server
        .service()
        .oneshot(request)
        .await
        .map_err(|error| error.to_string())
}

pub(crate) async fn call(server: &ApiServer, method: Method, uri: &str, body: Value) -> Answer {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    call_with(server, method, uri, &[("content-type", "application/json")], body).await
}

pub(crate) async fn call_with(
    server: &ApiServer,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Answer {
    let response = send(server, method, uri, headers, body).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("a whole body").to_bytes();
    Answer {
        code: parts.status.as_u16(),
        headers: parts.headers,
        bytes,
    }
}

pub(crate) async fn get(server: &ApiServer, uri: &str) -> Answer {
    call(server, Method::GET, uri, Value::Null).await
}

/// Checks that a request is refused with this message.
pub(crate) async fn check_refused(
    server: &ApiServer,
    method: Method,
    uri: &str,
    body: Value,
    code: u16,
    message: &str,
) {
    let answer = call(server, method, uri, body).await;
    assert_eq!(
        (answer.code, answer.json()["message"].as_str().unwrap_or_default()),
        (code, message),
        "{uri}"
    );
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

pub(crate) fn labelled(name: &str, label: &str) -> Value {
    let mut object = config_map(name);
    object["metadata"]["labels"] = json!({ "app": label });
    object
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A watch read line by line.
pub(crate) struct Lines {
    body: std::pin::Pin<Box<dyn futures::Stream<Item = Result<Bytes, String>> + Send>>,
    /// Compressed bytes of an incomplete gzip member.
    packed: Vec<u8>,
    plain: Vec<u8>,
    lines: VecDeque<Value>,
    gzip: bool,
    pub(crate) headers: http::HeaderMap,
    pub(crate) code: u16,
}

impl Lines {
    pub(crate) async fn open(server: &ApiServer, uri: &str) -> Self {
        Self::open_with(server, uri, &[]).await
    }

    pub(crate) async fn open_with(server: &ApiServer, uri: &str, headers: &[(&str, &str)]) -> Self {
        let response = send(server, Method::GET, uri, headers, String::new())
            .await
            .expect("an answer");
        Self::new(response)
    }

    /// Like `open_with`, for requests that may be refused.
    pub(crate) async fn try_open(server: &ApiServer, uri: &str, headers: &[(&str, &str)]) -> Option<Self> {
        let response = send(server, Method::GET, uri, headers, String::new())
            .await
            .ok()?;
        (response.status() == 200).then(|| Self::new(response))
    }

    fn new(response: Response<AnyBody>) -> Self {
        let (parts, body) = response.into_parts();
        let gzip = parts
            .headers
            .get("content-encoding")
            .is_some_and(|value| value == "gzip");
        let body = futures::StreamExt::map(body.into_data_stream(), |chunk| {
            chunk.map_err(|e| format!("{e:?}"))
        });
        Self {
            body: Box::pin(body),
            packed: Vec::new(),
            plain: Vec::new(),
            lines: VecDeque::new(),
            gzip,
            headers: parts.headers,
            code: parts.status.as_u16(),
        }
    }

    /// Returns the next event, `None` at the end, `Err` if the connection broke.
    pub(crate) async fn try_next(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(Some(line));
            }
            let Some(chunk) = futures::StreamExt::next(&mut self.body).await else {
                return Ok(None);
            };
            let chunk = chunk?;
            match self.gzip {
                true => {
                    self.packed.extend_from_slice(&chunk);
                    self.unpack();
                }
                false => self.plain.extend_from_slice(&chunk),
            }
            while let Some(end) = self.plain.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.plain.drain(..=end).collect();
                self.lines
                    .push_back(serde_json::from_slice(&line).map_err(|error| error.to_string())?);
            }
        }
    }

    /// Decompresses the complete gzip members.
    fn unpack(&mut self) {
        loop {
            let (mut member, mut rest) = (Vec::new(), &self.packed[..]);
            if rest.is_empty() || GzDecoder::new(&mut rest).read_to_end(&mut member).is_err() {
                return;
            }
            let left = rest.len();
            self.packed.drain(..self.packed.len() - left);
            self.plain.extend(member);
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.try_next().await.expect("a healthy stream")
    }

    /// Returns the next `count` events as `TYPE name@version`.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<String> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(summary(&self.next().await.expect("another event")));
        }
        events
    }

    /// Returns all events until the end.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(summary(&event));
        }
        events
    }
}

pub(crate) fn summary(event: &Value) -> String {
    let metadata = &event["object"]["metadata"];
    let end = metadata["annotations"]["k8s.io/initial-events-end"] == "true";
    let name = metadata["name"].as_str().unwrap_or(if end { "end" } else { "-" });
    let kind = event["type"].as_str().unwrap();
    match kind {
        "ERROR" => format!(
            "ERROR {} {}",
            event["object"]["code"],
            event["object"]["message"].as_str().unwrap()
        ),
        _ => format!(
            "{kind} {name}@{}",
            metadata["resourceVersion"].as_str().unwrap_or("-")
        ),
    }
}
