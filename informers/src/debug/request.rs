//! What a request asks for: one of the pages, or one of the JSON documents.

use std::ops::Bound;

use informer_core::{DynInformer, ObjectKey};

/// The keys on one page, unless the query has another limit.
const KEYS: usize = 100;
/// The largest limit that a query may have.
const MOST_KEYS: usize = 1_000;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The page of all informers and controllers.
    Overview,
    /// The page of one informer, with some of its keys.
    Informer(KeyQuery),
    /// The page of one controller.
    Controller(String),
    /// All of it as JSON.
    Json,
    /// The keys of one informer as JSON.
    KeysAsJson(KeyQuery),
}

/// Which keys of which informer are requested.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyQuery {
    /// The identifier of the informer.
    pub(super) informer: String,
    start: Start,
    pub(super) limit: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Start {
    First,
    /// Behind this key.
    After(String),
    /// At this key, at a namespace, or at what begins so.
    At(String),
}

impl Target {
    /// Reads a path and a query. The last segment of the path decides, so that the router can be mounted
    /// anywhere, by a server that removes the prefix or by one that does not.
    pub(super) fn read(path: &str, query: &str) -> Option<Self> {
        let parameter = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs
                .find(|(key, value)| key == name && !value.is_empty())
                .map(|(_, value)| value.into_owned())
        };
        let keys = |informer| KeyQuery {
            informer,
            start: match (parameter("after"), parameter("from")) {
                (Some(after), _) => Start::After(after),
                (None, Some(at)) => Start::At(at),
                (None, None) => Start::First,
            },
            limit: parameter("limit")
                .and_then(|limit| limit.parse().ok())
                .unwrap_or(KEYS)
                .clamp(1, MOST_KEYS),
        };
        match path.rsplit('/').next().unwrap_or_default() {
            "" | "debug" => Some(match (parameter("informer"), parameter("controller")) {
                (Some(informer), _) => Self::Informer(keys(informer)),
                (None, Some(controller)) => Self::Controller(controller),
                (None, None) => Self::Overview,
            }),
            "informers.json" => Some(Self::Json),
            "keys.json" => Some(Self::KeysAsJson(keys(parameter("informer").unwrap_or_default()))),
            _ => None,
        }
    }
}

impl KeyQuery {
    /// Returns the requested keys, one more than the limit if there are more.
    pub(super) fn read(&self, informer: &DynInformer) -> Vec<ObjectKey> {
        let read = |start: Bound<&ObjectKey>| informer.keys_from(start, self.limit + 1);
        match &self.start {
            Start::First => read(Bound::Unbounded),
            Start::After(text) => read(Bound::Excluded(&bound(text, informer))),
            Start::At(text) => read(Bound::Included(&bound(text, informer))),
        }
    }
}

/// Returns the key of a text, which may lack the name: `web/front-0`, `web/fr`, `web/`. A text without a
/// slash is a namespace, or the name of a cluster-scoped object.
fn bound(text: &str, informer: &DynInformer) -> ObjectKey {
    if let Some((namespace, name)) = text.split_once('/') {
        return ObjectKey::namespaced(namespace, name);
    }
    // Cluster-scoped keys come first.
    let first = informer.keys_from(Bound::Unbounded, 1);
    match first.first().is_some_and(|key| key.namespace().is_some()) {
        true => ObjectKey::namespaced(text, ""),
        false => ObjectKey::cluster(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(informer: &str, start: Start, limit: usize) -> KeyQuery {
        KeyQuery {
            informer: informer.to_owned(),
            start,
            limit,
        }
    }

    #[test]
    fn the_last_segment_and_the_query_choose_the_answer() {
        let check = |path: &str, query: &str, expected: Option<Target>| {
            assert_eq!(Target::read(path, query), expected, "{path}?{query}");
        };
        for page in ["", "/", "/debug", "/debug/", "/a/b/debug"] {
            check(page, "", Some(Target::Overview));
        }
        check("/debug/informers.json", "x=y", Some(Target::Json));
        check("/", "informer=", Some(Target::Overview));
        let pods = |start, limit| Some(Target::Informer(keys("pods (A)", start, limit)));
        check("/", "informer=pods+%28A%29", pods(Start::First, 100));
        check(
            "/",
            "informer=pods+%28A%29&after=a%2Fb&from=c&limit=7",
            pods(Start::After("a/b".to_owned()), 7),
        );
        check(
            "/keys.json",
            "informer=pods&from=web&limit=99999999999999999999",
            Some(Target::KeysAsJson(keys("pods", Start::At("web".to_owned()), 100))),
        );
        check(
            "/keys.json",
            "limit=5000",
            Some(Target::KeysAsJson(keys("", Start::First, 1_000))),
        );
        check("/", "controller=a", Some(Target::Controller("a".to_owned())));
        for unknown in ["/favicon.ico", "/metrics", "/debug/x", "/informers.json/x"] {
            check(unknown, "", None);
        }
    }
}
