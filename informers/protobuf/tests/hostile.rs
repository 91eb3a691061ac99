//! Broken and hostile bytes are errors: no panic, no deep stack, no memory that the input does not justify.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]
#![cfg(all(feature = "core", feature = "apiextensions"))]

use informer_core::source::ManagedFields;
use informer_core::source::protobuf::MAX_DEPTH;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn field(number: usize, value: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | 2), &varint(value.len()), value].concat()
}

fn decode<K: 'static>(bytes: &[u8]) -> Result<K, String> {
    let decode = informer_protobuf::decoder::<K>().unwrap();
    decode(bytes, ManagedFields::Drop).map_err(|error| error.to_string())
}

/// A Pod with metadata, a label, a volume, a container with a port, and a toleration.
fn pod() -> Vec<u8> {
    let label = [field(1, b"app"), field(2, b"web")].concat();
    let metadata = [field(1, b"pod"), field(3, b"ns"), field(11, &label)].concat();
    let volume = [field(1, b"data"), field(2, &field(2, b""))].concat();
    let port = [field(1, b"http"), vec![3 << 3, 0x90, 0x3f]].concat();
    let container = [field(1, b"main"), field(2, b"image"), field(6, &port)].concat();
    let spec = [field(1, &volume), field(2, &container)].concat();
    [field(1, &metadata), field(2, &spec)].concat()
}

#[test]
fn a_whole_object_is_decoded() {
    let pod: Pod = decode(&pod()).unwrap();
    let spec = pod.spec.unwrap();
    assert_eq!(pod.metadata.labels.unwrap()["app"], "web");
    assert!(spec.volumes.unwrap()[0].empty_dir.is_some());
    assert_eq!(spec.containers[0].ports.as_ref().unwrap()[0].container_port, 8080);
}

#[test]
fn truncated_and_changed_bytes_never_panic() {
    let whole = pod();
    for length in 0..whole.len() {
        let _ = decode::<Pod>(&whole[..length]);
    }
    for index in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[index] ^= 1 << bit;
            let _ = decode::<Pod>(&changed);
        }
    }
}

#[test]
fn errors_name_the_numbers_of_the_fields() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(decode::<Pod>(bytes).unwrap_err(), expected);
    };
    check(&field(1, &field(1, b"\xff")), "a text is not UTF-8 at field 1.1");
    check(
        &field(2, &field(2, &field(1, b"\xff"))),
        "a text is not UTF-8 at field 2.2.1",
    );
    check(
        &field(1, &[1 << 3, 5]),
        "a field has an unexpected type at field 1.1",
    );
    check(&field(1, &[11 << 3 | 2, 9, 1]), "it ends too early at field 1.11");
    // A time in the year 300,000,000,000.
    let far = [8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    check(&field(1, &field(8, &far)), "invalid value at field 1.8");
}

/// An empty volume has two bytes on the wire and three kilobytes in memory.
#[test]
fn many_empty_elements_are_refused_before_memory_is_reserved() {
    let spec = field(1, b"").repeat(1_000_000);
    let error = decode::<Pod>(&field(2, &spec)).unwrap_err();
    assert_eq!(error, "it would take too much memory at field 2.1");
    let few = field(1, b"").repeat(1_000);
    let pod: Pod = decode(&field(2, &few)).unwrap();
    assert_eq!(pod.spec.unwrap().volumes.unwrap().len(), 1_000);
}

/// A CustomResourceDefinition whose schema is nested this deeply, one schema in the other by `nest`.
fn nested_schema(depth: u16, nest: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let schema = (0..depth).fold(Vec::new(), |inner, _| nest(&inner));
    // spec.versions[0].schema.openAPIV3Schema
    field(2, &field(7, &field(4, &field(1, &schema))))
}

fn not(schema: &[u8]) -> Vec<u8> {
    field(28, schema)
}

/// An entry of a map is a message around the message.
fn property(schema: &[u8]) -> Vec<u8> {
    field(29, &[field(1, b"a"), field(2, schema)].concat())
}

#[test]
fn deep_schemas_end_with_an_error_on_a_small_stack() {
    let run = || {
        let decode = |bytes: Vec<u8>| decode::<CustomResourceDefinition>(&bytes);
        let limit = MAX_DEPTH - 4;
        for (nest, most) in [(not as fn(&[u8]) -> Vec<u8>, limit), (property, limit / 2)] {
            for depth in [10, most] {
                assert!(decode(nested_schema(depth, nest)).is_ok(), "{depth} of {most}");
            }
            for depth in [most + 1, 1_000] {
                let error = decode(nested_schema(depth, nest)).unwrap_err();
                assert!(error.starts_with("it is nested too deeply"), "{error}");
            }
        }
    };
    // The size that tokio and the standard library give a thread.
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(run);
    thread.unwrap().join().unwrap();
}
