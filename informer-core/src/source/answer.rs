//! Sends a request and reads what comes back: error answers, and bodies piece by piece, unpacked.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::gzip::{Ending, Gunzip};
use super::status::ANSWER;
use super::{ServerStatus, SourceError};

/// How much of an error answer is read.
const ERROR_BODY_LIMIT: usize = 64 * 1024;

/// Sends a request and waits for a good answer, for at most `deadline`.
///
/// The deadline also covers a client that retries behind our back: what it hides becomes visible as
/// [`SourceError::Deadline`].
pub(super) async fn send(
    client: &kube::Client,
    request: http::Request<Body>,
    deadline: Duration,
) -> Result<BodyReader, SourceError> {
    let answer = async {
        let response = client.send(request).await.map_err(|error| of_kube(&error))?;
        let (head, body) = response.into_parts();
        let mut reader = BodyReader::new(&head.headers, body)?;
        if head.status.is_success() {
            return Ok(reader);
        }
        let body = reader.read_up_to(ERROR_BODY_LIMIT).await;
        let status = ServerStatus::of_response(head.status, &head.headers, &body);
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

/// Reads a response's body.
pub(super) struct BodyReader {
    body: Body,
    encoding: Encoding,
}

enum Encoding {
    Identity,
    Gzip(Box<Gunzip>),
}

/// What a body consists of.
pub(super) enum Chunk {
    /// The next bytes, unpacked.
    Data(Bytes),
    /// Nothing more.
    End(Ending),
}

impl BodyReader {
    fn new(headers: &http::HeaderMap, body: Body) -> Result<Self, SourceError> {
        let encoding = match headers
            .get(CONTENT_ENCODING)
            .map(|value| value.to_str().unwrap_or("?").trim())
        {
            None | Some("" | "identity") => Encoding::Identity,
            Some("gzip" | "x-gzip") => Encoding::Gzip(Box::new(Gunzip::new())),
            Some(other) => {
                return Err(SourceError::Protocol(format!(
                    "its encoding {other:?} was not asked for"
                )));
            }
        };
        Ok(Self { body, encoding })
    }

    /// The next bytes. Dropping the future loses nothing; dropping the reader ends the request.
    pub(super) async fn next(&mut self) -> Result<Chunk, SourceError> {
        loop {
            if let Encoding::Gzip(gunzip) = &mut self.encoding
                && let Some(bytes) = gunzip
                    .next()
                    .map_err(|error| SourceError::Protocol(error.to_string()))?
            {
                return Ok(Chunk::Data(bytes));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(Chunk::End(match &self.encoding {
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
                Encoding::Identity => return Ok(Chunk::Data(data)),
                Encoding::Gzip(gunzip) => gunzip.feed(data),
            }
        }
    }

    /// Reads at most `limit` bytes. An error ends it early: half an explanation is better than none.
    async fn read_up_to(&mut self, limit: usize) -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < limit
            && let Ok(Chunk::Data(bytes)) = self.next().await
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
        kube::Error::Auth(error) => SourceError::Request(format!("no credentials: {}", describe_auth(error))),
        kube::Error::HttpError(_) | kube::Error::BuildRequest(_) => SourceError::Request(chain(error)),
        _ if is_connect(error) => SourceError::Connect(innermost(error)),
        _ => SourceError::Transport(chain(error)),
    }
}

fn describe_auth(error: &kube::client::AuthError) -> String {
    use kube::client::AuthError;
    match error {
        // The command is printed with its environment, which may hold a secret.
        AuthError::AuthExecRun { out, .. } => format!("the credential plugin failed with {}", out.status),
        AuthError::AuthExecParse(_) => "the output of the credential plugin cannot be read".to_owned(),
        AuthError::ParseTokenKey(_) => "the token in the credentials cannot be read".to_owned(),
        other => other.to_string(),
    }
}

/// Whether no connection could be made: the socket was refused, or hyper says that it was connecting.
fn is_connect(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
            // hyper-util's error type is not one of our dependencies, but its text for this is stable.
            || cause.to_string() == "client error (Connect)"
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
