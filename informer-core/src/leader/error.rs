//! Errors of requests for a lease.

use std::time::Duration;

use crate::printable::Printable;

/// Why a request for a lease failed. The election retries after each of them.
///
/// Texts of the server are escaped and truncated to 1,024 characters when printed.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The credentials lack a permission.
    #[error(
        "cannot {verb} lease \"{namespace}/{name}\": forbidden; grant \"get\", \"create\" and \"update\" on \
         \"leases\" in group \"coordination.k8s.io\" in namespace \"{namespace}\" ({})",
        Printable::message(message)
    )]
    Forbidden {
        /// The refused verb.
        verb: &'static str,
        /// The namespace of the lease.
        namespace: String,
        /// The name of the lease.
        name: String,
        /// The message of the server.
        message: String,
    },
    /// The namespace of the lease does not exist.
    #[error(
        "cannot create lease \"{namespace}/{name}\": namespace \"{namespace}\" does not exist; create it, or \
         choose another one"
    )]
    NamespaceMissing {
        /// The namespace of the lease.
        namespace: String,
        /// The name of the lease.
        name: String,
    },
    /// The server did not answer in time.
    #[error("cannot {verb} lease \"{namespace}/{name}\": no answer within {after:?}")]
    Timeout {
        /// The verb of the request.
        verb: &'static str,
        /// The namespace of the lease.
        namespace: String,
        /// The name of the lease.
        name: String,
        /// The time limit.
        after: Duration,
    },
    /// Any other failure.
    #[error("cannot {verb} lease \"{namespace}/{name}\": {}", Printable::message(why))]
    Failed {
        /// The verb of the request.
        verb: &'static str,
        /// The namespace of the lease.
        namespace: String,
        /// The name of the lease.
        name: String,
        /// What failed.
        why: String,
    },
}

crate::__debug_is_the_message!(LeaseError);
