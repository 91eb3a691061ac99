//! Tests of the encoding: bytes by hand, and objects that survive a round trip.

use serde_json::json;

use super::*;

fn names(api_version: &str, kind: &str) -> TypeNames {
    TypeNames::new(api_version, kind)
}

/// Encodes an object, decodes it, and compares it with what was encoded.
fn round_trip(object: &Value) {
    let text = |field: &str| object[field].as_str().unwrap();
    let body = names(text("apiVersion"), text("kind")).body(object.to_string().as_bytes());
    let decoded = read_body(&body).map(Value::Object);
    assert_eq!(decoded.as_ref(), Ok(object));
}

#[test]
fn bytes_are_those_of_the_wire() {
    let status = names("v1", "Status").body(br#"{"code":404,"metadata":{},"reason":"NotFound"}"#);
    let object = b"\x0a\x00\x22\x08NotFound\x30\x94\x03";
    let mut expected = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12".to_vec();
    expected.push(object.len() as u8);
    expected.extend_from_slice(object);
    expected.extend_from_slice(b"\x1a\x00\x22\x00");
    assert_eq!(status, expected);
}

#[test]
fn a_frame_has_its_length_and_an_envelope_within() {
    let mut frame = Vec::new();
    names("v1", "ConfigMap").frame(&mut frame, "ADDED", br#"{"data":{"a":"b"}}"#);
    let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
    assert_eq!(length as usize, frame.len() - 4);
    assert_eq!(&frame[4..11], b"\x0a\x05ADDED");
    let at = frame.windows(4).position(|bytes| bytes == MAGIC).unwrap();
    let object = read_body(&frame[at..]).unwrap();
    let expected = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" } });
    assert_eq!(Value::Object(object), expected);
}

#[test]
fn objects_survive_a_round_trip() {
    round_trip(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "creationTimestamp": "2026-01-02T03:04:05Z", "generation": -3,
            "labels": { "a": "b", "c": "" },
            "managedFields": [{ "manager": "m", "fieldsV1": { "f:metadata": {} } }],
        },
        "spec": {
            "containers": [{
                "name": "main", "securityContext": { "runAsUser": 0, "privileged": false },
                "resources": { "limits": { "cpu": "10m" } },
                "livenessProbe": { "httpGet": { "port": "http" } },
                "ports": [{ "containerPort": 80 }],
            }, { "name": "other", "livenessProbe": { "tcpSocket": { "port": 8080 } }, "resources": {} }],
            "volumes": [{ "name": "v", "emptyDir": {} }],
        },
    }));
    round_trip(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "spec": { "renewTime": "2026-01-02T03:04:05.000007Z", "leaseTransitions": 0 },
    }));
    round_trip(&json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": "/w==", "b": "" } }));
    round_trip(&json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "spec": { "request": "", "signerName": "", "extra": { "a": ["b", "c"] } },
    }));
    round_trip(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "spec": { "matchConstraints": { "resourceRules": [
            { "apiGroups": [""], "operations": ["*"], "resourceNames": ["x"], "scope": "*" },
        ] } },
    }));
    let schema = json!({
        "type": "object", "maximum": 1.5, "default": { "a": [1, null] }, "enum": [1, "b"],
        "properties": { "a": {
            "additionalProperties": { "type": "string" }, "items": { "type": "string" },
            "dependencies": { "b": ["c"], "d": { "type": "string" } },
        } },
        "additionalProperties": false, "items": [{ "type": "string" }], "x-kubernetes-int-or-string": true,
    });
    round_trip(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {
            "group": "x.io", "names": { "kind": "X", "plural": "xs" }, "scope": "Cluster",
            "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": schema }, "served": true,
                "storage": false }],
        },
    }));
}

#[test]
fn zeros_are_left_out_where_go_leaves_them_out() {
    // A Namespace as kubectl sends it: every field that is no pointer is on the wire.
    let mut body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x11".to_vec();
    body.extend_from_slice(b"\x0a\x09\x0a\x03foo\x12\x00\x42\x00\x12\x00\x1a\x02\x0a\x00");
    let object = read_body(&body).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "foo" }, "spec": {}, "status": {},
    });
    assert_eq!(Value::Object(object), expected);
}

#[test]
fn a_value_of_a_wrong_type_has_a_wrong_wire_type() {
    let encode = |json: &str| names("v1", "ConfigMap").encode(json.as_bytes());
    // Fields 11 (labels) and 1 (metadata) are messages, so a number is wrong.
    assert_eq!(
        encode(r#"{"metadata":{"labels":"garbled"}}"#),
        b"\x0a\x02\x58\x00"
    );
    assert_eq!(encode(r#"{"metadata":"garbled"}"#), b"\x08\x00");
    assert_eq!(encode("null"), b"");
    assert_eq!(encode("{garbled}"), b"{garbled}");
    assert_eq!(encode(r#"{"immutable":"yes"}"#), b"\x22\x00");
}

#[test]
fn malformed_bodies_are_refused() {
    let refused = |body: &[u8]| read_body(body).unwrap_err();
    assert_eq!(refused(b"{}"), DecodeError::NoEnvelope);
    assert_eq!(refused(b"k8s\0\x0a"), DecodeError::Malformed);
    assert_eq!(refused(b"k8s\0"), DecodeError::UnknownType);
    let pod = |object: &[u8]| names("v1", "Pod").envelope(object);
    assert_eq!(refused(&pod(b"\x0a\xff")), DecodeError::Malformed);
    assert_eq!(refused(&pod(b"\x0a\x03\x0a\x01\xff")), DecodeError::Malformed);
}

#[test]
fn nested_messages_are_bounded() {
    let schema = "apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps";
    let (mut bytes, not) = (Vec::new(), 28);
    for _ in 0..1000 {
        let mut outer = Vec::new();
        put_bytes(&mut outer, not, &bytes);
        bytes = outer;
    }
    let result = decode::object(SCHEMA.by_path(schema), &bytes);
    assert_eq!(result, Err(DecodeError::TooDeep));
}

/// Random objects of every kind, as kube-apiserver's types write them in both formats.
const CORPUS: &str = include_str!("../../../informers/protobuf/tests/equality/corpus-1.37.txt");

#[test]
fn random_objects_of_every_kind_equal_those_of_the_real_encoder() {
    use base64::Engine as _;
    let (mut objects, mut different) = (0, Vec::new());
    for line in CORPUS.lines() {
        let cells: Vec<&str> = line.splitn(4, ' ').collect();
        let names = names(cells[0], cells[1]);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(cells[2])
            .unwrap();
        let mut expected: Value = serde_json::from_str(cells[3]).unwrap();
        let mut decoded = Value::Object(read_body(&bytes).unwrap());
        let mut again = Value::Object(read_body(&names.body(cells[3].as_bytes())).unwrap());
        for value in [&mut expected, &mut decoded, &mut again] {
            prune(value);
        }
        objects += 1;
        if decoded != expected || again != expected {
            different.push(format!("{names:?}:\n{expected}\n{decoded}\n{again}"));
        }
    }
    assert!(objects > 200, "{objects}");
    assert!(
        different.is_empty(),
        "{} of {objects}: {}",
        different.len(),
        different[0]
    );
}

/// Removes what one of the formats does not have: `null`, and empty lists, maps and texts.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune);
            fields.retain(|_, value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(elements) => !elements.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            });
        }
        Value::Array(elements) => elements.iter_mut().for_each(prune),
        _ => {}
    }
}
