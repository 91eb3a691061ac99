//! Decoding of projections from JSON.

use informers::Projection;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodStatus};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pods;
use super::types::{OnNode, PodOnNode, Restarts, ServiceAddress, pod_json, service};

fn read(json: Value) -> PodOnNode {
    serde_json::from_value(json).unwrap()
}

#[test]
fn declared_fields_are_read_and_others_ignored() {
    let read = read(pod_json("default", "a", "node-1", "10.1.0.1"));
    assert_eq!(read.metadata.name.as_deref(), Some("a"));
    let spec = read.spec.unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("node-1"));
    assert_eq!(spec.node_selector["disk"], "ssd");
    let status = read.status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert_eq!(
        status.container_statuses,
        [Restarts {
            name: "main".to_owned(),
            restart_count: 3
        }]
    );
}

#[test]
fn irregular_names_are_read() {
    let status = read(pod_json("default", "a", "node-1", "10.1.0.1"))
        .status
        .unwrap();
    assert_eq!(status.pod_ip.as_deref(), Some("10.1.0.1"));
    assert_eq!(status.host_ip.as_deref(), Some("10.0.0.1"));

    let json = serde_json::to_value(service("web", "10.2.0.1")).unwrap();
    let service: ServiceAddress = serde_json::from_value(json).unwrap();
    let spec = service.spec.unwrap();
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.2.0.1"));
    assert_eq!(spec.cluster_ips.unwrap(), ["10.2.0.1"]);
    assert_eq!(*spec.external_ips, ["192.0.2.1".into()]);
}

#[test]
fn missing_or_null_fields_are_the_default_as_in_full_types() {
    let sparse = [json!({}), json!({"metadata": null, "spec": null, "status": null})];
    for json in sparse {
        assert_eq!(read(json.clone()), PodOnNode::default(), "{json}");
        assert_eq!(serde_json::from_value::<Pod>(json).unwrap(), Pod::default());
    }
    let spec = read(json!({"spec": {"nodeSelector": null}})).spec;
    assert_eq!(spec, Some(OnNode::default()));
}

#[test]
fn undeclared_keys_may_have_any_value() {
    let json = r#"{"future": [{"deep": {"er": [1, 2.5, true, null, "x"]}}],
        "spec": {"nodeName": "n", "other": {}}}"#;
    let read: PodOnNode = serde_json::from_str(json).unwrap();
    assert_eq!(read.spec.unwrap().node_name.as_deref(), Some("n"));
}

#[test]
fn the_last_of_duplicate_keys_is_used_as_in_full_types() {
    for last in [r#"{"phase": "Failed"}"#, "null"] {
        let json = format!(r#"{{"status": {{"phase": "Running"}}, "status": {last}}}"#);
        let projected: PodOnNode = serde_json::from_str(&json).unwrap();
        let whole: Pod = serde_json::from_str(&json).unwrap();
        assert_eq!(
            projected.status.map(|status| status.phase.map(String::from)),
            whole.status.map(|status| status.phase),
            "{json}"
        );
    }
}

#[test]
fn a_projection_has_the_values_of_the_full_type() {
    for number in 0..50 {
        let json = pods::json(number);
        let projected: PodOnNode = serde_json::from_str(&json).unwrap();
        let whole: Pod = serde_json::from_str(&json).unwrap();
        assert_eq!(projected.metadata, whole.metadata);
        let (spec, status) = (whole.spec.unwrap(), whole.status.unwrap());
        assert_eq!(projected.spec.unwrap().node_name, spec.node_name);
        let addresses = projected.status.unwrap();
        assert_eq!(
            (addresses.pod_ip, addresses.host_ip),
            (status.pod_ip, status.host_ip)
        );
        let restarts = |of: &ContainerStatus| Restarts {
            name: of.name.clone(),
            restart_count: of.restart_count,
        };
        let statuses = status.container_statuses.unwrap();
        assert_eq!(
            addresses.container_statuses,
            statuses.iter().map(restarts).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_that_names_it() {
    let error = serde_json::from_value::<PodOnNode>(json!({"spec": {"nodeName": 7}})).unwrap_err();
    assert!(error.to_string().contains("invalid type: integer `7`"), "{error}");
    let error = serde_json::from_value::<PodOnNode>(json!([])).unwrap_err();
    assert!(error.to_string().contains("expected a Pod"), "{error}");
}

#[test]
fn a_projection_has_the_identity_of_its_kind() {
    let identity = (
        PodOnNode::kind(&informers::Projected),
        PodOnNode::api_version(&informers::Projected),
        PodOnNode::url_path(&informers::Projected, Some("web")),
    );
    assert_eq!(
        identity,
        (
            "Pod".into(),
            "v1".into(),
            "/api/v1/namespaces/web/pods".to_owned()
        )
    );
}

/// A projection with types of the user.
#[derive(Projection)]
#[projection(of = PodStatus)]
struct Free {
    #[projection(any)]
    phase: Phase,
    #[projection(any)]
    conditions: std::collections::VecDeque<PodCondition>,
    #[projection(any, rename = "podIP")]
    pod_ip: Option<std::net::IpAddr>,
}

#[derive(Default, Debug, PartialEq, Deserialize)]
enum Phase {
    #[default]
    Unknown,
    Running,
}

#[test]
fn a_field_may_have_a_type_of_the_user() {
    let json =
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "podIP": "10.1.0.1"});
    let read: Free = serde_json::from_value(json).unwrap();
    assert_eq!(read.phase, Phase::Running);
    assert_eq!(read.conditions[0].type_, "Ready");
    assert!(read.pod_ip.unwrap().is_ipv4());
    let read: Free = serde_json::from_value(json!({})).unwrap();
    assert_eq!(read.phase, Phase::Unknown);
}

/// A recursive type, like its full type.
#[derive(Projection)]
#[projection(of = JSONSchemaProps)]
struct Schema {
    type_: Option<String>,
    ref_path: Option<String>,
    not: Option<Box<Schema>>,
    properties: Option<std::collections::HashMap<String, Schema>>,
}

#[test]
fn a_projection_may_be_recursive() {
    let json =
        json!({"type": "object", "not": {"$ref": "#/x"}, "properties": {"a": {"not": {"type": "string"}}}});
    let read: Schema = serde_json::from_value(json).unwrap();
    assert_eq!(read.type_.as_deref(), Some("object"));
    assert_eq!(read.not.unwrap().ref_path.as_deref(), Some("#/x"));
    let inner = read.properties.unwrap().remove("a").unwrap().not.unwrap();
    assert_eq!(inner.type_.as_deref(), Some("string"));
    informers::projection::verify::<Schema>().unwrap();
}
