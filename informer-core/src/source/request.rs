//! Builds the HTTP requests of lists and watches: URLs, query strings and headers.

use std::fmt::Write as _;

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderValue};
use kube::client::Body;

use super::{ListFrom, ListOptions, ListRequest, SourceError, WatchFrom, WatchListFrom, WatchRequest};

/// Marks a request whose sender decompresses gzip of any number of members itself.
///
/// Only the layer of [`crate::client`] reads it. Any other client sends the request unchanged, with
/// `identity`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodesGzip;

/// The maximum length of path and query. kube panics if the URL, with the cluster's base URL, is longer than
/// 64 KiB; servers reject far shorter ones.
const URL_LIMIT: usize = 32 * 1024;

/// The requested representation of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
    /// Whole objects.
    Full,
    /// Metadata only. A server without support for it may send whole objects, which decode as well.
    MetadataOnly,
}

/// What all requests of one source have in common.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) path: String,
    pub(super) representation: Representation,
    pub(super) options: ListOptions,
    /// The media types of the accepted formats, in order of preference.
    pub(super) media_types: Vec<&'static str>,
}

impl Endpoint {
    pub(super) fn list(&self, request: &ListRequest) -> Result<http::Request<Body>, SourceError> {
        self.list_as(self.representation, request)
    }

    /// Like [`list`](Self::list), with another representation.
    pub(super) fn list_as(
        &self,
        representation: Representation,
        request: &ListRequest,
    ) -> Result<http::Request<Body>, SourceError> {
        let mut query = Query::new(&self.path);
        self.options.write(&mut query);
        if let Some(limit) = request.limit {
            query.pair("limit", &limit.to_string());
        }
        match (&request.continue_token, &request.from) {
            // The token contains the version; servers reject a version beside it.
            (Some(token), _) => query.pair("continue", token),
            (None, ListFrom::MostRecent) => {}
            (None, ListFrom::AnyCached) => query.pair("resourceVersion", "0"),
            (None, ListFrom::NotOlderThan(version)) => {
                query.pair("resourceVersion", &version.to_string());
                // Upstream sends neither a match nor a limit here. With a limit, the server treats a missing
                // match as `Exact`, and responds with 410 as soon as the version is compacted.
                if request.limit.is_some() {
                    query.pair("resourceVersionMatch", "NotOlderThan");
                }
            }
            (None, ListFrom::Exactly(version)) => {
                query.pair("resourceVersion", &version.to_string());
                query.pair("resourceVersionMatch", "Exact");
            }
        }
        let accept = self.accept(representation, "PartialObjectMetadataList");
        build(query, &accept, "list")
    }

    pub(super) fn watch(&self, request: &WatchRequest) -> Result<http::Request<Body>, SourceError> {
        let mut query = Query::new(&self.path);
        query.pair("watch", "true");
        self.options.write(&mut query);
        query.pair("allowWatchBookmarks", "true");
        query.pair("timeoutSeconds", &request.timeout.as_secs().max(1).to_string());
        match &request.from {
            WatchFrom::After(version) => query.pair("resourceVersion", &version.to_string()),
            WatchFrom::InitialEvents(from) => {
                query.pair("sendInitialEvents", "true");
                query.pair("resourceVersionMatch", "NotOlderThan");
                let version = match from {
                    WatchListFrom::MostRecent => String::new(),
                    WatchListFrom::NotOlderThan(version) => version.to_string(),
                };
                query.pair("resourceVersion", &version);
            }
        }
        let accept = self.accept(self.representation, "PartialObjectMetadata");
        build(query, &accept, "watch")
    }

    /// Returns the value of `Accept`: every media type as `metadata_kind`, if only metadata is wanted, then
    /// every media type as it is.
    fn accept(&self, representation: Representation, metadata_kind: &str) -> String {
        let plain = self.media_types.iter().map(|media_type| (*media_type).to_owned());
        let accepted: Vec<String> = match representation {
            Representation::Full => plain.collect(),
            Representation::MetadataOnly => {
                let as_metadata = |media_type| format!("{media_type};as={metadata_kind};g=meta.k8s.io;v=v1");
                self.media_types.iter().map(as_metadata).chain(plain).collect()
            }
        };
        accepted.join(",")
    }
}

fn build(query: Query, accept: &str, verb: &'static str) -> Result<http::Request<Body>, SourceError> {
    if query.uri.len() > URL_LIMIT {
        return Err(SourceError::Request(format!(
            "the URL is longer than {URL_LIMIT} bytes; shorten the selectors"
        )));
    }
    http::Request::get(query.uri)
        .header(ACCEPT, accept)
        .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
        .extension(DecodesGzip)
        // kube's tracing layer uses it as the name of the span.
        .extension(verb)
        .body(Body::empty())
        .map_err(|error| SourceError::Request(error.to_string()))
}

/// A path with a query string. Pairs keep the order in which they are added.
pub(super) struct Query {
    uri: String,
    separator: char,
}

impl Query {
    fn new(path: &str) -> Self {
        Self {
            uri: path.to_owned(),
            separator: '?',
        }
    }

    pub(super) fn pair(&mut self, name: &str, value: &str) {
        self.uri.push(self.separator);
        self.separator = '&';
        encode(&mut self.uri, name);
        self.uri.push('=');
        encode(&mut self.uri, value);
    }
}

/// Percent-encodes all but RFC 3986's unreserved characters.
fn encode(uri: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a String cannot fail");
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
