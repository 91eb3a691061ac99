//! Reads the key of each incoming object once, and rejects keys of other scopes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::key::ObjectKey;
use crate::scope::Scope;
use crate::status::Reporter;

/// Whether a key belongs to the scope it was received in.
pub(crate) enum Admission {
    Granted,
    /// It does not. No list of this scope contains the key, so nothing would ever delete the object again.
    Refused,
}

/// The key of an incoming object, or why it has none here.
pub(crate) enum Identified {
    Key(ObjectKey),
    /// It has no name, which no server sends.
    Nameless,
    /// Its key belongs to another scope. This was reported.
    Elsewhere,
}

/// Reads the keys of incoming objects and rejects those of other scopes.
pub(crate) struct Intake {
    scope: Scope,
    reporter: Option<Reporter>,
    /// The previous key: objects of one namespace arrive in a row and share its string.
    previous: Option<ObjectKey>,
}

impl Intake {
    pub(crate) fn new(scope: Scope) -> Self {
        Self {
            scope,
            reporter: None,
            previous: None,
        }
    }

    /// Creates another intake of the same scope.
    pub(crate) fn fork(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            reporter: self.reporter.clone(),
            previous: None,
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Sets where rejected objects are reported.
    pub(crate) fn report_to(&mut self, reporter: Reporter) {
        self.reporter = Some(reporter);
    }

    /// Reads and checks the key of an object.
    pub(crate) fn identify(&mut self, meta: &ObjectMeta) -> Identified {
        let Some(key) = ObjectKey::of_sharing(meta, self.previous.as_ref()) else {
            return Identified::Nameless;
        };
        if let Admission::Refused = self.admit(&key) {
            return Identified::Elsewhere;
        }
        self.previous = Some(key.clone());
        Identified::Key(key)
    }

    /// Checks that a key belongs to the scope, and reports one that does not.
    pub(crate) fn admit(&self, key: &ObjectKey) -> Admission {
        if self.scope.contains(key) {
            return Admission::Granted;
        }
        if let Some(reporter) = &self.reporter {
            reporter.out_of_scope(key);
        }
        Admission::Refused
    }
}
