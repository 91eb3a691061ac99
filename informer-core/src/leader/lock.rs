//! Requests for one Lease, each with a time limit.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, PostParams};

use super::clock::Clock;
use super::error::LeaseError;
use super::lease::{GROUP, KIND, Lease, PLURAL, VERSION};
use crate::source::describe_request;

/// One Lease on the server.
#[derive(Clone)]
pub(super) struct LeaseLock {
    api: Api<DynamicObject>,
    clock: Arc<dyn Clock>,
    namespace: String,
    name: String,
}

/// How a write ended.
#[derive(Clone, Debug)]
pub(super) enum Write {
    /// The server stored it; the Lease as it is now.
    Stored(Box<Lease>),
    /// Another process wrote, created or deleted the Lease first.
    Conflict,
}

impl LeaseLock {
    pub(super) fn new(client: kube::Client, clock: Arc<dyn Clock>, namespace: String, name: String) -> Self {
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            api_version: format!("{GROUP}/{VERSION}"),
            kind: KIND.to_owned(),
            plural: PLURAL.to_owned(),
        };
        Self {
            api: Api::namespaced_with(client, &namespace, &resource),
            clock,
            namespace,
            name,
        }
    }

    /// A Lease to create.
    pub(super) fn fresh(&self) -> Lease {
        Lease::new(&self.namespace, &self.name)
    }

    pub(super) async fn get(&self, limit: Duration) -> Result<Option<Lease>, LeaseError> {
        match self.limited("get", limit, self.api.get(&self.name)).await? {
            Ok(object) => Ok(Some(object.into())),
            Err(error) if code(&error) == 404 => Ok(None),
            Err(error) => Err(self.failed("get", &error)),
        }
    }

    pub(super) async fn create(&self, lease: &Lease, limit: Duration) -> Result<Write, LeaseError> {
        let (params, object) = (PostParams::default(), lease.object());
        match self
            .limited("create", limit, self.api.create(&params, object))
            .await?
        {
            Ok(object) => Ok(Write::Stored(Box::new(object.into()))),
            Err(error) if code(&error) == 409 => Ok(Write::Conflict),
            Err(error) if code(&error) == 404 => Err(LeaseError::NamespaceMissing {
                namespace: self.namespace.clone(),
                name: self.name.clone(),
            }),
            Err(error) => Err(self.failed("create", &error)),
        }
    }

    /// Replaces the Lease if it still has the version of `lease`.
    pub(super) async fn update(&self, lease: &Lease, limit: Duration) -> Result<Write, LeaseError> {
        let (params, object) = (PostParams::default(), lease.object());
        let request = self.api.replace(&self.name, &params, object);
        match self.limited("update", limit, request).await? {
            Ok(object) => Ok(Write::Stored(Box::new(object.into()))),
            Err(error) if matches!(code(&error), 404 | 409) => Ok(Write::Conflict),
            Err(error) => Err(self.failed("update", &error)),
        }
    }

    /// The error of a lease that others write to all the time.
    pub(super) fn contended(&self) -> LeaseError {
        LeaseError::Failed {
            verb: "update",
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            why: "other programs changed it during every attempt".to_owned(),
        }
    }

    async fn limited<T>(
        &self,
        verb: &'static str,
        limit: Duration,
        request: impl Future<Output = T>,
    ) -> Result<T, LeaseError> {
        let answer = tokio::time::timeout(self.clock.timer(limit), request).await;
        answer.map_err(|_| LeaseError::Timeout {
            verb,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            after: limit,
        })
    }

    fn failed(&self, verb: &'static str, error: &kube::Error) -> LeaseError {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        match error {
            kube::Error::Api(status) if status.code == 403 => LeaseError::Forbidden {
                verb,
                namespace,
                name,
                message: status.message.clone(),
            },
            kube::Error::Api(status) => LeaseError::Failed {
                verb,
                namespace,
                name,
                why: format!("the server answered {}: {}", status.code, status.message),
            },
            other => LeaseError::Failed {
                verb,
                namespace,
                name,
                why: describe_request(other),
            },
        }
    }
}

impl fmt::Display for LeaseLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The HTTP code of an answer; zero if there was none.
fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}
