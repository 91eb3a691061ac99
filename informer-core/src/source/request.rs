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
mod tests {
    use std::time::Duration;

    use super::*;

    fn endpoint(options: ListOptions) -> Endpoint {
        Endpoint {
            path: "/api/v1/pods".to_owned(),
            representation: Representation::Full,
            options,
            media_types: vec!["application/json"],
        }
    }

    fn check_list(from: ListFrom, limit: Option<u32>, token: Option<&str>, expected: &str) {
        let request = ListRequest {
            from,
            limit,
            continue_token: token.map(str::to_owned),
            answer_within: None,
        };
        let built = endpoint(ListOptions::default()).list(&request).unwrap();
        assert_eq!(built.uri().to_string(), expected, "{request:?}");
    }

    fn check_watch(from: WatchFrom, expected: &str) {
        let request = WatchRequest {
            from,
            timeout: Duration::from_millis(420_900),
            answer_within: None,
        };
        let built = endpoint(ListOptions::default()).watch(&request).unwrap();
        assert_eq!(built.uri().to_string(), expected, "{request:?}");
    }

    #[test]
    fn lists_are_requested_as_upstream_does() {
        check_list(ListFrom::MostRecent, None, None, "/api/v1/pods");
        check_list(ListFrom::MostRecent, Some(500), None, "/api/v1/pods?limit=500");
        // kube-core's ListParams drops the version here.
        check_list(
            ListFrom::AnyCached,
            Some(500),
            None,
            "/api/v1/pods?limit=500&resourceVersion=0",
        );
        check_list(
            ListFrom::NotOlderThan("7".into()),
            None,
            None,
            "/api/v1/pods?resourceVersion=7",
        );
    }

    #[test]
    fn a_limit_does_not_turn_not_older_than_into_exact() {
        check_list(
            ListFrom::NotOlderThan("7".into()),
            Some(500),
            None,
            "/api/v1/pods?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan",
        );
        check_list(
            ListFrom::Exactly("7".into()),
            None,
            None,
            "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact",
        );
    }

    #[test]
    fn a_continue_token_is_sent_without_a_version() {
        for from in [
            ListFrom::AnyCached,
            ListFrom::NotOlderThan("7".into()),
            ListFrom::Exactly("7".into()),
        ] {
            check_list(
                from,
                Some(2),
                Some("a+/=="),
                "/api/v1/pods?limit=2&continue=a%2B%2F%3D%3D",
            );
        }
    }

    #[test]
    fn watches_request_bookmarks_and_a_timeout() {
        check_watch(
            WatchFrom::After("12".into()),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&resourceVersion=12",
        );
        check_watch(
            WatchFrom::InitialEvents(WatchListFrom::MostRecent),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&resourceVersion=",
        );
        check_watch(
            WatchFrom::InitialEvents(WatchListFrom::NotOlderThan("12".into())),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=420&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&resourceVersion=12",
        );
    }

    #[test]
    fn selectors_and_parameters_are_encoded_in_both() {
        let options = ListOptions::default()
            .labels("tier in (a, b)")
            .fields("spec.nodeName=n&1")
            .parameter("shardSelector", "shardRange(object.metadata.uid,'0x0','0x8')");
        let query = "labelSelector=tier%20in%20%28a%2C%20b%29&fieldSelector=spec.nodeName%3Dn%261\
                     &shardSelector=shardRange%28object.metadata.uid%2C%270x0%27%2C%270x8%27%29";
        let list = ListRequest {
            from: ListFrom::MostRecent,
            limit: None,
            continue_token: None,
            answer_within: None,
        };
        assert_eq!(
            endpoint(options.clone()).list(&list).unwrap().uri().to_string(),
            format!("/api/v1/pods?{query}")
        );
        let watch = WatchRequest {
            from: WatchFrom::After("1".into()),
            timeout: Duration::from_secs(300),
            answer_within: None,
        };
        assert_eq!(
            endpoint(options).watch(&watch).unwrap().uri().to_string(),
            format!(
                "/api/v1/pods?watch=true&{query}&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=1"
            )
        );
    }

    #[test]
    fn selectors_are_sent_with_every_page_and_every_watch() {
        let options = ListOptions::default()
            .labels("a=b")
            .fields("c=d")
            .parameter("e", "f");
        let query = "labelSelector=a%3Db&fieldSelector=c%3Dd&e=f";
        let froms = [
            ListFrom::MostRecent,
            ListFrom::AnyCached,
            ListFrom::NotOlderThan("7".into()),
            ListFrom::Exactly("7".into()),
        ];
        for from in froms {
            for continue_token in [None, Some("next".to_owned())] {
                let request = ListRequest {
                    from: from.clone(),
                    limit: Some(2),
                    continue_token,
                    answer_within: None,
                };
                for representation in [Representation::Full, Representation::MetadataOnly] {
                    let built = endpoint(options.clone())
                        .list_as(representation, &request)
                        .unwrap();
                    assert!(built.uri().to_string().contains(query), "{request:?}");
                }
            }
        }
        for from in [
            WatchFrom::After("1".into()),
            WatchFrom::InitialEvents(WatchListFrom::MostRecent),
            WatchFrom::InitialEvents(WatchListFrom::NotOlderThan("1".into())),
        ] {
            let request = WatchRequest {
                from,
                timeout: Duration::from_secs(1),
                answer_within: None,
            };
            let built = endpoint(options.clone()).watch(&request).unwrap();
            assert!(built.uri().to_string().contains(query), "{request:?}");
        }
    }

    #[test]
    fn a_url_over_the_limit_is_an_error() {
        let request = ListRequest {
            from: ListFrom::MostRecent,
            limit: None,
            continue_token: Some("x".repeat(URL_LIMIT)),
            answer_within: None,
        };
        let error = endpoint(ListOptions::default()).list(&request).unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
    }

    #[test]
    fn empty_selectors_are_not_sent() {
        let list = ListRequest {
            from: ListFrom::MostRecent,
            limit: None,
            continue_token: None,
            answer_within: None,
        };
        let built = endpoint(ListOptions::default().labels(" ").fields(""))
            .list(&list)
            .unwrap();
        assert_eq!(built.uri().to_string(), "/api/v1/pods");
    }
}
