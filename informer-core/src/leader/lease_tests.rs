//! Tests of reading and writing Leases.

use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(7)
}

fn lease(spec: Value) -> Lease {
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "lock", "namespace": "default", "resourceVersion": "7" },
        "spec": spec,
    });
    Lease::from(serde_json::from_value::<DynamicObject>(object).expect("a Lease"))
}

/// Upstream: TestLeaseSpecToLeaderElectionRecordRoundTrip, TestLeaseConversion.
#[test]
fn a_new_holder_is_written_as_client_go_does() {
    let mut fresh = Lease::new("default", "lock");
    fresh.hold("a", 15, at(1));
    let first = json!({
        "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "1970-01-01T00:00:01.000007Z", "renewTime": "1970-01-01T00:00:01.000007Z",
    });
    assert_eq!(fresh.spec(), &first);
    assert_eq!(fresh.acquired(), Some(at(1)));

    let mut stored = lease(first);
    stored.hold("a", 15, at(3));
    let renewed = json!({
        "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "1970-01-01T00:00:01.000007Z", "renewTime": "1970-01-01T00:00:03.000007Z",
    });
    assert_eq!(stored.spec(), &renewed);

    stored.hold("b", 20, at(60));
    let taken = json!({
        "holderIdentity": "b", "leaseDurationSeconds": 20, "leaseTransitions": 1,
        "acquireTime": "1970-01-01T00:01:00.000007Z", "renewTime": "1970-01-01T00:01:00.000007Z",
    });
    assert_eq!(stored.spec(), &taken);

    stored.release(at(61));
    let released = json!({
        "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 1,
        "acquireTime": "1970-01-01T00:01:01.000007Z", "renewTime": "1970-01-01T00:01:01.000007Z",
    });
    assert_eq!(stored.spec(), &released);
}

#[test]
fn unknown_fields_survive() {
    let mut stored = lease(json!({
        "holderIdentity": "a", "strategy": "OldestEmulationVersion", "preferredHolder": "c", "later": [1],
    }));
    stored.hold("b", 15, at(1));
    stored.release(at(2));
    let spec = stored.spec();
    assert_eq!(spec["strategy"], "OldestEmulationVersion");
    assert_eq!(spec["preferredHolder"], "c");
    assert_eq!(spec["later"], json!([1]));
}

/// Upstream: TestGet.
#[test]
fn malformed_fields_are_absent() {
    for spec in [
        Value::Null,
        json!([]),
        json!("text"),
        json!({}),
        json!({ "holderIdentity": 7, "leaseDurationSeconds": "15", "leaseTransitions": {},
            "acquireTime": 1 }),
        json!({ "leaseDurationSeconds": -15, "leaseTransitions": -1, "acquireTime": "yesterday" }),
        json!({ "leaseDurationSeconds": 0, "holderIdentity": null }),
    ] {
        let mut stored = lease(spec.clone());
        assert_eq!(stored.holder(), "", "{spec}");
        assert_eq!(stored.duration(), None, "{spec}");
        assert_eq!(stored.transitions(), 0, "{spec}");
        assert_eq!(stored.acquired(), None, "{spec}");
        stored.hold("a", 15, at(1));
        assert_eq!(stored.holder(), "a", "{spec}");
        assert_eq!(stored.transitions(), 1, "{spec}");
    }
    let large = lease(json!({ "leaseDurationSeconds": i64::MAX, "leaseTransitions": i64::MAX }));
    assert_eq!(large.duration(), Some(Duration::from_secs(i32::MAX as u64)));
    assert_eq!(large.transitions(), i32::MAX);
}
