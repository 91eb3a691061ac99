//! The Lease object, read and written field by field as client-go does.
//!
//! It stays JSON, so that fields which this library does not know (`strategy`, `preferredHolder` and later
//! ones) survive an update, and a malformed field never prevents reading the others.

use std::time::{Duration, SystemTime};

use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, TypeMeta};
use kube::core::ObjectMeta;
use serde_json::{Map, Value, json};

pub(super) const GROUP: &str = "coordination.k8s.io";
pub(super) const VERSION: &str = "v1";
pub(super) const KIND: &str = "Lease";
pub(super) const PLURAL: &str = "leases";

/// A Lease as the server sent it.
#[derive(Clone, Debug)]
pub(super) struct Lease(Box<DynamicObject>);

impl From<DynamicObject> for Lease {
    fn from(object: DynamicObject) -> Self {
        Self(Box::new(object))
    }
}

impl Lease {
    /// A new Lease without a holder.
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self::from(DynamicObject {
            types: Some(TypeMeta {
                api_version: format!("{GROUP}/{VERSION}"),
                kind: KIND.to_owned(),
            }),
            metadata: ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            data: json!({ "spec": {} }),
        })
    }

    pub(super) fn object(&self) -> &DynamicObject {
        &self.0
    }

    /// The fields that make up the record. While they stay the same, nobody renewed the lease.
    pub(super) fn spec(&self) -> &Value {
        &self.0.data["spec"]
    }

    /// The identity of the holder; empty if nobody holds the lease.
    pub(super) fn holder(&self) -> &str {
        self.spec()["holderIdentity"].as_str().unwrap_or_default()
    }

    /// How long the holder may go without renewing. `None` if the field is missing or not positive.
    pub(super) fn duration(&self) -> Option<Duration> {
        let seconds = self.spec()["leaseDurationSeconds"].as_i64()?;
        let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?;
        Some(Duration::from_secs(seconds.min(i32::MAX as u64)))
    }

    /// How often the holder changed.
    pub(super) fn transitions(&self) -> i32 {
        let transitions = self.spec()["leaseTransitions"].as_i64().unwrap_or_default();
        transitions.clamp(0, i64::from(i32::MAX)) as i32
    }

    /// When the holder acquired the lease, by its own wall clock.
    pub(super) fn acquired(&self) -> Option<SystemTime> {
        let text = self.spec()["acquireTime"].as_str()?;
        let time: Timestamp = text.parse().ok()?;
        Some(SystemTime::from(time))
    }

    /// Sets `identity` as the holder. The time of acquisition and the transitions change with the holder.
    pub(super) fn hold(&mut self, identity: &str, seconds: i32, now: SystemTime) {
        let now = stamp(now);
        if self.holder() != identity {
            // A new lease begins with zero transitions.
            let transitions = match self.0.metadata.resource_version {
                Some(_) => self.transitions().saturating_add(1),
                None => 0,
            };
            self.set("holderIdentity", identity.into());
            self.set("acquireTime", now.clone().into());
            self.set("leaseTransitions", transitions.into());
        }
        self.set("leaseDurationSeconds", seconds.into());
        self.set("renewTime", now.into());
    }

    /// Clears the holder, so that any candidate can take the lease at once.
    pub(super) fn release(&mut self, now: SystemTime) {
        let now = stamp(now);
        self.set("holderIdentity", "".into());
        self.set("leaseDurationSeconds", 1.into());
        self.set("acquireTime", now.clone().into());
        self.set("renewTime", now.into());
    }

    fn set(&mut self, field: &str, value: Value) {
        if !self.0.data.is_object() {
            self.0.data = Value::Object(Map::new());
        }
        let spec = &mut self.0.data["spec"];
        if !spec.is_object() {
            *spec = Value::Object(Map::new());
        }
        spec[field] = value;
    }
}

/// A time as `metav1.MicroTime` prints it.
fn stamp(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
