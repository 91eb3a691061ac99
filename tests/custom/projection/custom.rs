//! Projections of a custom resource, whose JSON names only its type defines.

use informer_testing::ApiServer;
use informers::projection::verify;
use informers::{Informer, Projection, SharedInformerFactory};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{CustomResource, CustomResourceExt as _};
use serde::{Deserialize, Serialize};

use crate::support::synced;

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Gate",
    namespaced,
    schema = "disabled",
    status = "GateStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateSpec {
    /// `podIp`: serde's camelCase, unlike the names of built-in kinds.
    pod_ip: String,
    #[serde(rename = "hostIP")]
    host_ip: String,
    port: u16,
    long_text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct GateStatus {
    is_open: bool,
}

/// The projected part of a gate.
#[derive(Informer, Debug)]
#[informer(of = Gate, accessor = "gate_addresses")]
struct GateAddress {
    metadata: ObjectMeta,
    spec: Address,
    status: Option<Openness>,
}

#[derive(Projection, Debug, Default)]
#[projection(of = GateSpec)]
struct Address {
    pod_ip: String,
    #[projection(rename = "hostIP")]
    host_ip: String,
    port: u16,
}

#[derive(Projection, Debug, Default)]
#[projection(of = GateStatus)]
struct Openness {
    #[projection(rename = "is_open")]
    is_open: bool,
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_can_be_projected() {
    let server = ApiServer::start();
    server.create::<CustomResourceDefinition>(&Gate::crd()).unwrap();
    let spec = GateSpec {
        pod_ip: "10.1.0.1".to_owned(),
        host_ip: "10.0.0.1".to_owned(),
        port: 80,
        long_text: "x".repeat(100),
    };
    let mut gate = Gate::new("front", spec);
    gate.metadata.namespace = Some("web".to_owned());
    gate.status = Some(GateStatus { is_open: true });
    server.create(&gate).unwrap();

    let factory = SharedInformerFactory::new(server.client());
    let gates: GateAddressLister = factory.gate_addresses().lister();
    synced(&factory).await;
    let front = gates.namespace("web").get("front").unwrap();
    let Address {
        pod_ip,
        host_ip,
        port,
    } = &front.spec;
    assert_eq!(
        (pod_ip.as_str(), host_ip.as_str(), *port),
        ("10.1.0.1", "10.0.0.1", 80)
    );
    assert!(front.status.as_ref().unwrap().is_open);
    assert_eq!(
        factory.status().informers[0].resource,
        "gates.example.com (GateAddress)"
    );
    factory.shutdown().await;
}

#[test]
fn names_are_those_that_the_type_reads() {
    verify::<GateAddress>().unwrap();
}

/// A projection that compiles although two of its names are wrong.
#[allow(dead_code, reason = "only the names are compared")]
#[derive(Informer, Debug)]
#[informer(of = Gate, accessor = "wrong_gates")]
struct WrongGate {
    metadata: ObjectMeta,
    spec: Option<WrongAddress>,
    status: Option<WrongOpenness>,
}

#[derive(Projection, Debug)]
#[projection(of = GateSpec)]
#[allow(dead_code, reason = "only the names are compared")]
struct WrongAddress {
    pod_ip: String,
    host_ip: String,
}

#[derive(Projection, Debug)]
#[projection(of = GateStatus)]
#[allow(dead_code, reason = "only the names are compared")]
struct WrongOpenness {
    is_open: bool,
}

#[test]
fn every_name_that_matches_no_field_is_reported() {
    let error = verify::<WrongGate>().unwrap_err();
    let paths: Vec<&str> = error.fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["spec.hostIp", "status.isOpen"]);
    let text = error.to_string();
    assert!(
        text.contains("WrongGate has fields that the whole type does not read: `spec.hostIp`"),
        "{text}"
    );
    assert!(text.contains("`podIp`, `hostIP`, `port`, `longText`"), "{text}");
    assert!(
        text.contains("#[projection(rename = \"..\")] on the field `is_open`"),
        "{text}"
    );
}

/// A type whose `Deserialize` does not announce its fields.
#[derive(Deserialize)]
struct Open {
    known: Option<String>,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, String>,
}

#[derive(Projection)]
#[projection(of = Open)]
struct OfOpen {
    #[projection(rename = "whatever")]
    known: Option<String>,
}

#[test]
fn a_type_that_does_not_announce_its_fields_is_skipped() {
    verify::<OfOpen>().unwrap();
    let read: OfOpen = serde_json::from_str(r#"{"whatever": "x"}"#).unwrap();
    assert_eq!(read.known.as_deref(), Some("x"));
    let whole: Open = serde_json::from_str(r#"{"whatever": "x"}"#).unwrap();
    assert_eq!((whole.known, whole.rest.len()), (None, 1));
}
