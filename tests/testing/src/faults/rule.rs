//! Which requests a fault applies to, and how often.

use std::fmt;
use std::sync::Arc;

use super::{Cut, Fault};
use crate::log::Request;
use crate::request::Verb;

type Predicate = Arc<dyn Fn(&Request) -> bool + Send + Sync>;

/// A fault and the requests it applies to.
///
/// By default it applies to every matching request until it is removed.
///
/// ```
/// use informer_testing::{ApiServer, Fault, Rule, Verb};
///
/// let server = ApiServer::start();
/// // The first two lists of pods are refused with 503.
/// let rule = Rule::new(Fault::unavailable()).on(Verb::List).resource("pods").times(2);
/// let id = server.faults().add(rule);
/// assert_eq!(server.faults().hits(id), 0);
/// ```
#[derive(Clone)]
#[must_use = "a rule does nothing until it is added to the server's faults"]
pub struct Rule {
    pub(super) fault: Fault,
    verb: Option<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    predicate: Option<Predicate>,
    pub(super) skip: u64,
    pub(super) remaining: Option<u64>,
}

impl Rule {
    /// Creates a rule for every request that the fault can apply to.
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            verb: None,
            resource: None,
            namespace: None,
            predicate: None,
            skip: 0,
            remaining: None,
        }
    }

    /// Restricts the rule to requests with this verb.
    pub fn on(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Restricts the rule to requests for this resource, by its plural name.
    pub fn resource(mut self, plural: impl Into<String>) -> Self {
        self.resource = Some(plural.into());
        self
    }

    /// Restricts the rule to requests in this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Restricts the rule to requests for which the function returns true; it must not call the server.
    pub fn when(mut self, predicate: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Arc::new(predicate));
        self
    }

    /// Restricts the rule to the first request.
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Restricts the rule to the first `count` requests.
    pub fn times(mut self, count: u64) -> Self {
        self.remaining = Some(count);
        self
    }

    /// Skips the first `count` requests.
    pub fn after(mut self, count: u64) -> Self {
        self.skip = count;
        self
    }

    pub(super) fn matches(&self, request: &Request) -> bool {
        let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.fault.strikes(request)
            && self.verb.is_none_or(|verb| verb == request.verb)
            && same(&self.resource, &request.resource)
            && same(&self.namespace, &request.namespace)
            && self.predicate.as_ref().is_none_or(|passes| passes(request))
    }
}

impl From<Fault> for Rule {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("fault", &self.fault)
            .field("verb", &self.verb)
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("skip", &self.skip)
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

impl Fault {
    /// Whether the fault can apply to a request.
    fn strikes(&self, request: &Request) -> bool {
        match self {
            Self::Status(_) | Self::Forbidden | Self::Refuse | Self::Hang | Self::Delay(_) => {
                request.resource.is_some()
            }
            Self::Cut(Cut::After(_)) => request.verb == Verb::Watch,
            Self::Foreign { namespace } => {
                matches!(request.verb, Verb::List | Verb::Watch)
                    && request.namespace.is_some()
                    && request.namespace != *namespace
            }
            Self::Fragment(_) | Self::Cut(_) | Self::Table | Self::Stale(_) | Self::ReplaceVersion(_) => {
                matches!(request.verb, Verb::List | Verb::Watch)
            }
            Self::TruncateList { .. }
            | Self::OmitListVersion
            | Self::EndlessPages
            | Self::GarbleItem { .. } => request.verb == Verb::List,
            Self::ExpireToken => request.verb == Verb::List && request.parameter("continue").is_some(),
            _ => request.verb == Verb::Watch,
        }
    }
}
