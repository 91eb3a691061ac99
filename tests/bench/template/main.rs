//! Checks that the replayed Pods are the same in both wire formats.

use informer_bench::template::{FIRST_VERSION, PodSize, Template, name, namespace};
use informer_core::source::{Decode as _, JsonDecoder, ManagedFields};
use k8s_openapi::api::core::v1::Pod;

/// Rows in JSON and in protobuf measure the same objects.
#[test]
fn a_pod_is_the_same_in_both_formats() {
    let from_json = JsonDecoder::of::<Pod>(&(), ManagedFields::Keep);
    let from_protobuf = informer_protobuf::decoder::<Pod>().expect("a built-in kind");
    let numbers = [0, 199, 200, 159_999];
    for (size, number) in PodSize::ALL
        .into_iter()
        .flat_map(|size| numbers.map(|number| (size, number)))
    {
        let (json, protobuf) = (Template::json(size), Template::protobuf(size));
        let expected: Pod = from_json.decode(&json.pod(number)).expect("JSON of a Pod");
        let found = from_protobuf(&protobuf.pod(number), ManagedFields::Keep).expect("a Pod");
        assert_eq!(
            found, expected,
            "the {size:?} Pod is not that of `template::source`: encode it again, see docs/bench/README.md"
        );
        assert_eq!(found.metadata.name, Some(name(number)));
        assert_eq!(found.metadata.namespace, Some(namespace(number)));
        assert_eq!(found.metadata.resource_version, Some(FIRST_VERSION.to_string()));
    }
}
