//! LIST: which revision is read, pages pinned to it, and the continue token.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::object::Stored;
use crate::registry::{Origin, Resource};
use crate::request::{ListOptions, VersionMatch};
use crate::state::State;

/// Whether lists are served from a watch cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchCache {
    /// As usual: a list at `resourceVersion=0` ignores `limit`. The default.
    #[default]
    On,
    /// As with `--watch-cache=false`: a list at `resourceVersion=0` is paged too.
    Off,
}

/// A list, ready to be encoded.
#[derive(Debug)]
pub(crate) struct ListAnswer {
    pub(crate) items: Vec<Arc<Stored>>,
    /// Empty only if a fault omits it.
    pub(crate) version: String,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// The collection to list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'a> {
    pub(crate) resource: &'a Resource,
    /// Empty for all namespaces and for cluster-scoped resources.
    pub(crate) namespace: &'a str,
    pub(crate) options: &'a ListOptions,
    pub(crate) cache: WatchCache,
    /// The newest revision visible to this reader: the current one, or an older one on a stale replica.
    pub(crate) newest: u64,
}

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const EXPIRED_TOKEN: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to \
    retrieve the remainder of the results. Continuing with the provided token results in an inconsistent \
    list - objects that were created, modified, or deleted between the time the first chunk was returned and \
    now may show up in the list.";

impl Listing<'_> {
    pub(crate) fn run(&self, state: &State) -> Result<ListAnswer, ApiError> {
        let options = self.options;
        let prefix = if self.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", self.namespace)
        };
        let (revision, after) = match options.continue_token.as_str() {
            "" => (self.start_revision(state)?, String::new()),
            _ if !matches!(options.resource_version.as_str(), "" | "0") => {
                let why = "specifying resource version is not allowed when using continue";
                return Err(ApiError::bad_request(why));
            }
            token => self.resume(state, token, &prefix)?,
        };
        let found = state
            .storage
            .snapshot(&self.resource.id, &prefix, &after, revision)
            .map_err(|_| ApiError::expired(EXPIRED))?;
        let mut items: Vec<_> = found
            .into_iter()
            .filter(|item| options.selectors.matches(item))
            .collect();
        let ignores_limit = options.resource_version == "0" && self.cache == WatchCache::On;
        let mut answer = ListAnswer {
            version: state.versions.print(revision),
            items: Vec::new(),
            continue_token: None,
            remaining: None,
        };
        if options.limit > 0 && items.len() > options.limit && !ignores_limit {
            let left = items.len() - options.limit;
            items.truncate(options.limit);
            answer.remaining = options.selectors.is_empty().then_some(left);
            // Relative to the listed collection: a token of one namespace continues in another one, as
            // upstream.
            let start = |last: &Arc<Stored>| last.key.strip_prefix(&prefix).unwrap_or(&last.key).to_owned();
            answer.continue_token = items
                .last()
                .map(|last| Token::new(revision, &start(last)).print());
        }
        answer.items = items;
        Ok(answer)
    }

    fn start_revision(&self, state: &State) -> Result<u64, ApiError> {
        let options = self.options;
        if matches!(options.resource_version.as_str(), "" | "0") {
            return Ok(self.newest);
        }
        let asked = parse_version(state, &options.resource_version)
            .map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
        if asked > self.newest {
            let current = state.versions.print(self.newest);
            return Err(ApiError::too_large_version(&options.resource_version, &current));
        }
        // A limit without a match means "exactly this version", a rule older than resourceVersionMatch.
        let exact = match options.version_match {
            Some(VersionMatch::Exact) => true,
            Some(VersionMatch::NotOlderThan) => false,
            None => options.limit > 0,
        };
        Ok(if exact { asked } else { self.newest })
    }

    fn resume(&self, state: &State, token: &str, prefix: &str) -> Result<(u64, String), ApiError> {
        let token = Token::read(token)
            .ok_or_else(|| ApiError::bad_request("invalid continue token: continue key is not valid"))?;
        let start = token.start.trim_end_matches('\0');
        let after = format!("{prefix}{start}");
        // A negative version means "continue with the newest"; a client gets it after its token expired.
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok((self.newest, after));
        };
        if revision < state.storage.compacted() {
            return Err(expired_token(start));
        }
        Ok((revision, after))
    }
}

/// Returns the error for a token whose snapshot was compacted, with a new token that continues without
/// consistency.
pub(crate) fn expired_token(after: &str) -> ApiError {
    ApiError::expired(EXPIRED_TOKEN).with_continue(
        Token {
            v: TOKEN_VERSION.into(),
            rv: -1,
            start: format!("{after}\0"),
        }
        .print(),
    )
}

/// Returns a token that leads to an empty page: it continues after every key, and no other token is equal.
pub(crate) fn token_past_the_end(revision: u64, unique: u64) -> String {
    Token::new(revision, &format!("~{unique}")).print()
}

/// Returns the key at which a token continues, if the token is valid.
pub(crate) fn token_key(token: &str) -> Option<String> {
    Token::read(token).map(|token| token.start.trim_end_matches('\0').to_owned())
}

/// Parses a version as a revision, with Go's error text for invalid numbers.
pub(crate) fn parse_version(state: &State, version: &str) -> Result<u64, String> {
    state.versions.parse(version).ok_or_else(|| {
        let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
        format!("resourceVersion: Invalid value: {version:?}: {why}")
    })
}

/// The content of a continue token. It is opaque to clients.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

impl Token {
    fn new(revision: u64, last: &str) -> Self {
        let rv = i64::try_from(revision).unwrap_or(i64::MAX);
        Self {
            v: TOKEN_VERSION.into(),
            rv,
            start: format!("{last}\0"),
        }
    }

    fn print(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn read(text: &str) -> Option<Self> {
        let token: Self = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        (token.v == TOKEN_VERSION && !token.start.is_empty() && token.rv != 0).then_some(token)
    }
}

impl ListAnswer {
    /// Returns the `metadata` of the list.
    pub(crate) fn metadata(&self, origin: Origin) -> Value {
        let mut metadata = Map::new();
        // Lists of custom resources always have the field.
        if origin == Origin::Custom {
            metadata.insert("continue".into(), "".into());
        }
        if !self.version.is_empty() {
            metadata.insert("resourceVersion".into(), self.version.as_str().into());
        }
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        metadata.into()
    }
}
