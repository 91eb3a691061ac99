//! Sends requests and reads responses: errors, and bodies chunk by chunk, decompressed.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::connection_error::{ConnectionError, Stage};
use super::credentials;
use super::error::ANSWER;
use super::gzip::{Ending, Gunzip};
use super::limits::{CHUNK_BYTES, ERROR_BYTES, TURN_BYTES};
use super::origin::{self, Origin};
use super::{ServerStatus, SourceError};

/// A successful response.
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: BodyReader,
}

/// Parses the body of an error response as a `metav1.Status`, in the format its headers name.
pub(super) type ParseStatus<'f> = &'f (dyn Fn(&HeaderMap, &[u8]) -> Option<ServerStatus> + Sync);

/// Sends a request and waits for a successful response, for at most `deadline`.
///
/// The deadline includes retries inside the client. Errors that the client hides this way appear as
/// [`SourceError::Deadline`].
pub(super) async fn send(
    client: &kube::Client,
    request: http::Request<Body>,
    deadline: Duration,
    parse_status: ParseStatus<'_>,
) -> Result<Answer, SourceError> {
    let answer = async {
        let response = client.send(request).await.map_err(|error| of_kube(&error))?;
        let (head, body) = response.into_parts();
        let mut reader = BodyReader::new(&head.headers, body)?;
        if head.status.is_success() {
            return Ok(Answer {
                headers: head.headers,
                body: reader,
            });
        }
        let body = reader.read_up_to(ERROR_BYTES).await;
        let parsed = parse_status(&head.headers, &body);
        let mut status = ServerStatus::of_response(head.status, &head.headers, &body, parsed);
        if head.status == http::StatusCode::UNAUTHORIZED {
            status.hint = origin::unauthorized(head.extensions.get::<Origin>());
        }
        Err(SourceError::Status { status })
    };
    let timeout = SourceError::Deadline {
        what: ANSWER,
        after: deadline,
    };
    tokio::time::timeout(deadline, answer)
        .await
        .unwrap_or(Err(timeout))
}

/// Reads the body of a response, in chunks of at most [`CHUNK_BYTES`].
///
/// A body whose next chunk is always available (a fast server, or a few bytes of gzip that decompress to
/// many) is never pending, and its reader would block the worker thread. So each chunk costs one unit of
/// tokio's cooperative budget, and after [`TURN_BYTES`] the reader yields, even if budget is left.
pub(super) struct BodyReader {
    body: Body,
    encoding: Encoding,
    /// The rest of an HTTP frame that is longer than one chunk.
    rest: Bytes,
    /// The number of bytes read since the last yield.
    since_yield: usize,
}

enum Encoding {
    Identity,
    Gzip(Box<Gunzip>),
}

/// What the reader of a body returns.
pub(super) enum BodyEvent {
    /// The next bytes, decompressed.
    Chunk(Bytes),
    /// The end of the body.
    End(Ending),
}

impl BodyReader {
    fn new(headers: &HeaderMap, body: Body) -> Result<Self, SourceError> {
        // Names of encodings are case-insensitive (RFC 9110, section 8.4.1).
        let name = headers
            .get(CONTENT_ENCODING)
            .map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
        let encoding = match name.as_deref() {
            None | Some("" | "identity") => Encoding::Identity,
            Some("gzip" | "x-gzip") => Encoding::Gzip(Box::new(Gunzip::new())),
            Some(other) => {
                return Err(SourceError::Protocol(format!(
                    "unsupported content encoding {other:?}"
                )));
            }
        };
        Ok(Self {
            body,
            encoding,
            rest: Bytes::new(),
            since_yield: 0,
        })
    }

    /// Returns the next chunk. Cancel safe. Dropping the reader ends the request.
    pub(super) async fn next(&mut self) -> Result<BodyEvent, SourceError> {
        if self.since_yield >= TURN_BYTES {
            tokio::task::yield_now().await;
            self.since_yield = 0;
        }
        let chunk = self.read().await?;
        if let BodyEvent::Chunk(bytes) = &chunk {
            self.since_yield += bytes.len();
        }
        Ok(chunk)
    }

    /// Returns the next chunk if it is available without waiting for the server.
    pub(super) fn available(&mut self) -> Option<Result<BodyEvent, SourceError>> {
        self.next().now_or_never()
    }

    /// Like [`available`](Self::available), but yields once to the task in which hyper reads the socket,
    /// which may have more. Only for a reader that expects more: in a runtime that has nothing else to do, to
    /// yield wakes another worker, which costs more than to decode an event.
    pub(super) async fn available_soon(&mut self) -> Option<Result<BodyEvent, SourceError>> {
        if let Some(chunk) = self.available() {
            return Some(chunk);
        }
        tokio::task::yield_now().await;
        self.available()
    }

    async fn read(&mut self) -> Result<BodyEvent, SourceError> {
        loop {
            tokio::task::coop::consume_budget().await;
            if !self.rest.is_empty() {
                let length = self.rest.len().min(CHUNK_BYTES);
                return Ok(BodyEvent::Chunk(self.rest.split_to(length)));
            }
            if let Encoding::Gzip(gunzip) = &mut self.encoding
                && let Some(bytes) = gunzip
                    .next()
                    .map_err(|error| SourceError::Protocol(error.to_string()))?
            {
                return Ok(BodyEvent::Chunk(bytes));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(BodyEvent::End(match &self.encoding {
                    Encoding::Identity => Ending::Complete,
                    Encoding::Gzip(gunzip) => gunzip.ending(),
                }));
            };
            // Trailers are ignored.
            let Ok(data) = frame.map_err(|error| of_kube(&error))?.into_data() else {
                continue;
            };
            match &mut self.encoding {
                _ if data.is_empty() => {}
                Encoding::Identity => self.rest = data,
                Encoding::Gzip(gunzip) => gunzip.feed(data),
            }
        }
    }

    /// Reads at most `limit` bytes. Stops at an error and returns what was read: part of a message is better
    /// than none.
    pub(super) async fn read_up_to(&mut self, limit: usize) -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < limit
            && let Ok(BodyEvent::Chunk(bytes)) = self.next().await
        {
            let room = limit - text.len();
            text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        text
    }
}

/// Converts an error of kube's client.
///
/// Distinguishes only the errors that can occur while a request is sent or a body is read. The output of
/// credential plugins is left out: it may contain a token.
fn of_kube(error: &kube::Error) -> SourceError {
    if let Some(why) = credentials::missing(error) {
        let whose = Origin::of(error).map(Origin::in_brackets);
        return SourceError::Request(why + &whose.unwrap_or_default());
    }
    match error {
        kube::Error::HttpError(_) | kube::Error::BuildRequest(_) => SourceError::Request(chain(error)),
        _ if is_connect(error) => {
            SourceError::Connect(origin::advise_connect(where_and_why(error), Origin::of(error)))
        }
        _ => SourceError::Transport(origin::advise_broken(chain(error), Origin::of(error))),
    }
}

/// Describes why a request of a `kube::Client` failed, without the output of credential plugins.
pub(crate) fn describe_request(error: &kube::Error) -> String {
    of_kube(error).to_string()
}

/// Whether no connection could be established: it was refused, or failed while connecting, or the server
/// refused to begin with the request.
fn is_connect(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
            || cause
                .downcast_ref::<hyper_util::client::legacy::Error>()
                .is_some_and(hyper_util::client::legacy::Error::is_connect)
            || cause
                .downcast_ref::<ConnectionError>()
                .is_some_and(|error| error.stage == Stage::Connect)
    })
}

/// An error and its causes.
pub(super) fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    // Bounded, in case an error is its own source.
    std::iter::successors(Some(error), |error| (*error).source()).take(16)
}

/// Joins the causes below kube's own error, each once.
fn chain(error: &kube::Error) -> String {
    let mut text = String::new();
    for cause in causes(error).skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    if text.is_empty() { error.to_string() } else { text }
}

/// The host, if it is known, and the innermost cause.
fn where_and_why(error: &kube::Error) -> String {
    match causes(error).find_map(|cause| cause.downcast_ref::<ConnectionError>()) {
        Some(error) => error.summary(),
        None => causes(error).last().map(ToString::to_string).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use kube::client::AuthError;

    use super::*;

    /// Distinguishes failures that need a change of the configuration from those of the network.
    #[test]
    fn missing_credentials_and_malformed_requests_are_errors_of_the_request() {
        let error = of_kube(&kube::Error::Auth(AuthError::ExecPluginFailed));
        let SourceError::Request(text) = &error else {
            panic!("{error}");
        };
        assert!(
            text.starts_with("no credentials: the output of the credential plugin"),
            "{text}"
        );
        let malformed = http::Request::builder().uri("\n").body(()).unwrap_err();
        let error = of_kube(&kube::Error::HttpError(malformed));
        assert!(matches!(error, SourceError::Request(_)), "{error}");
    }
}
