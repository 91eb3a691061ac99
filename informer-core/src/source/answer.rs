//! Sends a request and reads what comes back: error answers, and bodies piece by piece, unpacked.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::error::ANSWER;
use super::gzip::{Ending, Gunzip};
use super::limits::{CHUNK_BYTES, ERROR_BYTES, TURN_BYTES};
use super::{ServerStatus, SourceError};

/// A piece of at least this size is probably followed by another one.
const LARGE_CHUNK: usize = 4 * 1024;

/// A successful response.
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: BodyReader,
}

/// Parses the body of an error response as a `metav1.Status`, in the format its headers name.
pub(super) type ParseStatus<'f> = &'f (dyn Fn(&HeaderMap, &[u8]) -> Option<ServerStatus> + Sync);

/// Sends a request and waits for a good answer, for at most `deadline`.
///
/// The deadline also covers a client that retries behind our back: what it hides becomes visible as
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
        let status = ServerStatus::of_response(head.status, &head.headers, &body, parsed);
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

/// Reads a response's body, in pieces of at most [`CHUNK_BYTES`].
///
/// A body whose next piece is always available (a server faster than we are, or a few bytes of gzip that
/// unpack to many) would never be pending, and its reader would keep the worker for itself. So each piece
/// costs one unit of tokio's cooperative budget, and after [`TURN_BYTES`] the reader yields whatever is left
/// of the budget.
pub(super) struct BodyReader {
    body: Body,
    encoding: Encoding,
    /// The rest of a frame that is longer than one piece.
    rest: Bytes,
    /// How many bytes were given out since other tasks could run.
    given: usize,
    last_length: usize,
}

enum Encoding {
    Identity,
    Gzip(Box<Gunzip>),
}

/// What a body consists of.
pub(super) enum BodyEvent {
    /// The next bytes, unpacked.
    Chunk(Bytes),
    /// Nothing more.
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
                    "its encoding {other:?} was not asked for"
                )));
            }
        };
        Ok(Self {
            body,
            encoding,
            rest: Bytes::new(),
            given: 0,
            last_length: 0,
        })
    }

    /// The next bytes. Dropping the future loses nothing; dropping the reader ends the request.
    pub(super) async fn next(&mut self) -> Result<BodyEvent, SourceError> {
        if self.given >= TURN_BYTES {
            tokio::task::yield_now().await;
            self.given = 0;
        }
        let chunk = self.read().await?;
        if let BodyEvent::Chunk(bytes) = &chunk {
            self.given += bytes.len();
            self.last_length = bytes.len();
        }
        Ok(chunk)
    }

    /// The next bytes, if they are available without waiting for the server.
    ///
    /// hyper reads a socket in a task of its own, which must run once more to bring what has already arrived:
    /// behind a large piece it is given that chance.
    pub(super) async fn available(&mut self) -> Option<Result<BodyEvent, SourceError>> {
        if let Some(chunk) = self.next().now_or_never() {
            return Some(chunk);
        }
        if self.last_length < LARGE_CHUNK {
            return None;
        }
        tokio::task::yield_now().await;
        self.next().now_or_never()
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
            // Trailers say nothing to us.
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

    /// Reads at most `limit` bytes. An error ends it early: half an explanation is better than none.
    async fn read_up_to(&mut self, limit: usize) -> Vec<u8> {
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

/// Says in our words what went wrong in kube's client.
///
/// Only the kinds of error that can happen while a request is sent or a body is read are told apart. Output of
/// credential plugins is left out: it may hold a token.
fn of_kube(error: &kube::Error) -> SourceError {
    match error {
        kube::Error::Auth(error) => {
            SourceError::Request(format!("no credentials: {}", describe_auth(error, None)))
        }
        kube::Error::HttpError(_) | kube::Error::BuildRequest(_) => SourceError::Request(chain(error)),
        _ if is_connect(error) => SourceError::Connect(innermost(error)),
        _ => SourceError::Transport(chain(error)),
    }
}

/// Says why there are no credentials. What a plugin printed may hold a token, and so may its arguments and
/// environment.
pub(crate) fn describe_auth(error: &kube::client::AuthError, plugin: Option<&str>) -> String {
    use kube::client::AuthError;
    let plugin = match plugin {
        Some(name) => format!("the credential plugin {name:?}"),
        None => "the credential plugin".to_owned(),
    };
    match error {
        AuthError::AuthExecStart(io) if io.kind() == std::io::ErrorKind::NotFound => {
            format!("{plugin} was not found; install it, or add its directory to PATH")
        }
        AuthError::AuthExecStart(io) => format!("{plugin} cannot be started: {io}"),
        AuthError::AuthExecRun { out, .. } => format!("{plugin} failed with {}", out.status),
        AuthError::AuthExecParse(_) | AuthError::ParseTokenKey(_) => {
            format!("the output of {plugin} cannot be read")
        }
        AuthError::AuthExec(_) => format!("{plugin} cannot be used"),
        AuthError::ExecPluginFailed => format!("the output of {plugin} has no status"),
        other => other.to_string(),
    }
}

/// Whether no connection could be made: the socket was refused, or hyper says that it was connecting.
fn is_connect(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
            || cause
                .downcast_ref::<hyper_util::client::legacy::Error>()
                .is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

fn causes<'e>(error: &'e kube::Error) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    // Errors that wrap themselves would make this endless.
    std::iter::successors(Some(error as &'e (dyn StdError + 'static)), |error| {
        (*error).source()
    })
    .take(16)
}

/// The causes behind kube's own wrapper, each once.
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

fn innermost(error: &kube::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
