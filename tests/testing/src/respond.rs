//! Building HTTP answers.

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::Value;

use crate::encode::Format;
use crate::error::ApiError;
use crate::protobuf::TypeNames;
use crate::shared::BoxError;
use crate::watch::{Watch, broken, gzip};

/// The body of every answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Answers longer than this are compressed for clients that accept gzip, as upstream.
const GZIP_THRESHOLD: usize = 128 * 1024;

/// Long bodies are sent in chunks of this size.
pub(crate) const CHUNK: usize = 64 * 1024;

/// A body in one chunk.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A body in chunks of at most `size` bytes, optionally followed by a broken connection.
fn pieces(mut bytes: Bytes, size: usize, end: Option<BoxError>) -> Body {
    let size = size.max(1);
    let chunks = std::iter::from_fn(move || {
        let length = size.min(bytes.len());
        (length > 0).then(|| Ok::<_, BoxError>(Frame::data(bytes.split_to(length))))
    });
    StreamBody::new(stream::iter(chunks.chain(end.map(Err)))).boxed_unsync()
}

pub(crate) fn answer(code: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    answer(code, Format::Json.content_type(), whole(format!("{value}\n")))
}

/// An object of a type, in the encoding that the client requested.
pub(crate) fn object(code: u16, format: Format, names: &TypeNames, value: &Value) -> Response<Body> {
    let body = format.body(names, value.to_string().into_bytes());
    answer(code, format.content_type(), whole(body))
}

pub(crate) fn text(code: u16, text: &'static str) -> Response<Body> {
    answer(code, "text/plain; charset=utf-8", whole(text))
}

/// A body that may be long: compressed if the client accepts gzip and the body is long enough.
#[derive(Debug)]
pub(crate) struct Document {
    bytes: Bytes,
    format: Format,
    compressed: bool,
}

impl Document {
    pub(crate) fn new(bytes: Vec<u8>, format: Format, accepts_gzip: bool) -> Self {
        let compressed = accepts_gzip && bytes.len() > GZIP_THRESHOLD;
        let bytes = if compressed { gzip(&bytes) } else { bytes };
        Self {
            bytes: bytes.into(),
            format,
            compressed,
        }
    }

    /// Sends the body in chunks, and breaks the connection after a number of bytes if a fault requires that.
    pub(crate) fn answer(mut self, piece: usize, cut: Option<usize>) -> Response<Body> {
        let mut end = None;
        if let Some(limit) = cut.filter(|limit| *limit < self.bytes.len()) {
            self.bytes.truncate(limit);
            end = Some(broken());
        }
        let mut response = answer(200, self.format.content_type(), pieces(self.bytes, piece, end));
        if self.compressed {
            mark_gzip(&mut response);
        }
        response
    }
}

pub(crate) fn error(error: &ApiError, format: Format) -> Response<Body> {
    let mut response = object(error.code(), format, &TypeNames::status(), &error.to_status());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

pub(crate) fn watch(watch: Watch) -> Response<Body> {
    let (compressed, content_type) = (watch.is_compressed(), watch.content_type());
    let body = StreamBody::new(futures::StreamExt::map(watch.into_stream(), |chunk| {
        chunk.map(Frame::data)
    }));
    let mut response = answer(200, content_type, body.boxed_unsync());
    if compressed {
        mark_gzip(&mut response);
    }
    response
}

fn mark_gzip(response: &mut Response<Body>) {
    response
        .headers_mut()
        .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept-Encoding"));
}
