//! The rules of names, as tables.

use super::schema::{field, is_serde_name, kind, lower_words, segment, segment_words, variant, variants};
use super::tree::{group_module, kind_module, module};
use super::*;

/// Checks a rule on rows of input and expected output.
fn check(rule: impl Fn(&str) -> String, rows: &[(&str, &str)]) {
    for (input, expected) in rows {
        assert_eq!(rule(input), *expected, "{input:?}");
    }
}

/// Checks an accessor on rows of kind, plural and expected output.
fn check_accessor<T: PartialEq + std::fmt::Debug>(rule: impl Fn(&str, &str) -> T, rows: &[(&str, &str, T)]) {
    for (kind, plural, expected) in rows {
        assert_eq!(rule(kind, plural), *expected, "{kind:?}, {plural:?}");
    }
}

#[test]
fn words_are_those_of_heck_with_plurals_and_digits() {
    check(
        snake,
        &[
            ("CSIStorageCapacity", "csi_storage_capacity"),
            ("podIP", "pod_ip"),
            ("clusterIPs", "cluster_ips"),
            ("IPs", "ips"),
            ("hostPIDsOfNode", "host_pids_of_node"),
            ("URLs-and-IPs.x", "urls_and_ips_x"),
            ("URLset", "ur_lset"),
            ("asIs", "as_is"),
            ("sha256Sum", "sha256_sum"),
            ("SHA256RSA", "sha256_rsa"),
            ("IPv4CIDR", "i_pv4_cidr"),
            ("a__b", "a_b"),
            ("", ""),
        ],
    );
}

#[test]
fn an_accessor_has_the_words_of_the_kind_and_the_ending_of_the_plural() {
    let row = |kind, plural, expected: &str| (kind, plural, Some(expected.to_owned()));
    let none = |kind, plural| (kind, plural, None);
    check_accessor(
        accessor,
        &[
            row("Pod", "pods", "pods"),
            row("Endpoints", "endpoints", "endpoints"),
            row("IPAddress", "ipaddresses", "ip_addresses"),
            row("NetworkPolicy", "networkpolicies", "network_policies"),
            row("StorageClass", "storageclasses", "storage_classes"),
            row("ServiceCIDR", "servicecidrs", "service_cidrs"),
            row(
                "CSIStorageCapacity",
                "csistoragecapacities",
                "csi_storage_capacities",
            ),
            row("HostIPs", "hostips", "host_ips"),
            // Characters that identifiers cannot have break words.
            row("Foo-Bar", "foo-bars", "foo_bars"),
            row("Foo-Bar", "foobars", "foo_bars"),
            row("FooBar", "foo-bars", "foo_bars"),
            row("lower-case", "lower-cases", "lower_cases"),
            row("Foo", "foo-bars", "foo_bars"),
            none("FooBar", "fo-obars"),
            none("-", "foos"),
            // A plural of other words.
            none("Pod", "containers"),
            none("Foot", "feet"),
            none("StorageClass", "classes"),
            none("StorageClass", "storage"),
            none("Pod", ""),
            none("", "pods"),
        ],
    );
    let row = |kind, plural, expected: &str| (kind, plural, expected.to_owned());
    check_accessor(
        tree::accessor,
        &[
            row("GRPCRoute", "grpcroutes", "grpc_routes"),
            row("Foot", "feet", "feet"),
            row("Foo", "big-foos", "big_foos"),
            row("Match", "match", "match_"),
            row("StorageClass", "classes", "classes"),
        ],
    );
}

#[test]
fn modules_are_in_snake_case_and_never_keywords() {
    check(
        group_module,
        &[
            ("example.com", "example_com"),
            ("gateway.networking.k8s.io", "gateway_networking_k8s_io"),
            ("cert-manager.io", "cert_manager_io"),
            ("3scale.net", "group_3scale_net"),
            ("type", "type_"),
        ],
    );
    check(module, &[("v1beta1", "v1beta1"), ("gen", "gen_")]);
    check(
        |kind| kind_module(kind, kind),
        &[
            ("IPAddress", "ip_address"),
            ("HTTPRoute", "http_route"),
            ("Type", "type_"),
            ("Gen", "gen_"),
            ("foo", "foo_"),
        ],
    );
    check(
        type_name,
        &[
            ("core", "Core"),
            ("v1beta1", "V1beta1"),
            ("cert_manager_io", "CertManagerIo"),
            ("group_3scale_net", "Group3scaleNet"),
        ],
    );
}

#[test]
fn a_constant_is_in_capitals_and_keeps_every_break() {
    check(
        constant,
        &[
            ("httproutes", "HTTPROUTES"),
            ("foo-bars", "FOO_BARS"),
            ("v1beta1", "V1BETA1"),
            ("owner_name", "OWNER_NAME"),
            ("sha256sum", "SHA256SUM"),
            ("a_b", "A_B"),
            ("a__b", "A__B"),
            ("_a", "_A"),
            ("a_", "A_"),
        ],
    );
}

#[test]
fn a_plural_follows_the_rule_of_kube() {
    check(
        plural_of_kind,
        &[
            ("Pod", "pods"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("IPAddress", "ipaddresses"),
            ("Fox", "foxes"),
            ("Batch", "batches"),
        ],
    );
    check(
        plural,
        &[
            ("", "s"),
            ("y", "ys"),
            ("by", "bies"),
            ("öy", "öies"),
            ("Foo", "Foos"),
        ],
    );
}

#[test]
fn a_part_of_a_type_has_words() {
    check(
        |name| segment_words(name).join(" "),
        &[("PodIPs", "Pod Ips"), ("Foo", "Foo")],
    );
    check(
        |name| lower_words(name).join(" "),
        &[("PodIPs", "pod ips"), ("SELinuxOptions", "se linux options")],
    );
}

#[test]
fn a_type_keeps_its_capitals_and_a_kind_is_never_a_keyword() {
    check(
        segment,
        &[("podIP", "PodIP"), ("foo-bar", "FooBar"), ("ünï", "Ünï")],
    );
    check(
        |name| kind(name).unwrap_or_else(|| "none".to_owned()),
        &[
            ("HTTPRoute", "HTTPRoute"),
            ("foo-bar", "FooBar"),
            ("option", "Option"),
            ("Self", "none"),
            ("self", "none"),
            ("3D", "none"),
            ("Ünï", "none"),
            ("A_B", "none"),
            ("", "none"),
        ],
    );
}

#[test]
fn a_field_is_in_snake_case_and_never_a_keyword() {
    check(
        field,
        &[
            ("replicas", "replicas"),
            ("nodeName", "node_name"),
            ("podIP", "pod_ip"),
            ("clusterIPs", "cluster_ips"),
            ("hostPIDs", "host_pids"),
            ("HTTPRoute", "http_route"),
            ("sha256Sum", "sha256_sum"),
            ("type", "type_"),
            ("Self", "self_"),
            ("gen", "gen_"),
            ("$ref", "ref_"),
            ("foo-bar", "foo_bar"),
            ("foo.bar/baz", "foo_bar_baz"),
            ("3d", "_3d"),
            ("ünï", "ünï"),
            ("名前", "field"),
            ("", "field"),
            ("$", "dollar"),
        ],
    );
}

#[test]
fn a_variant_is_in_camel_case_and_spells_out_other_characters() {
    check(
        variant,
        &[
            ("RollingUpdate", "RollingUpdate"),
            ("rolling-update", "RollingUpdate"),
            ("ROUND_ROBIN", "RoundRobin"),
            ("TCP", "Tcp"),
            ("AES256GCM", "Aes256Gcm"),
            ("self", "Self_"),
            ("1.2", "V1_2"),
            ("12", "V12"),
            ("", "Empty"),
            ("!=", "NotEqual"),
            ("=~", "EqualTilde"),
            ("名前", "Value"),
        ],
    );
}

#[test]
fn a_value_that_needs_no_change_has_its_own_name_in_any_order() {
    let of = |values: &[&str]| {
        let variants = variants(&mut Names::default(), &values.iter().copied().collect());
        let all = variants.iter().map(|(value, name)| format!("{name}={value}"));
        all.collect::<Vec<_>>()
    };
    assert_eq!(of(&["replace"]), ["Replace=replace"]);
    let both = ["Replace=Replace", "Replace2=replace"];
    assert_eq!(of(&["replace", "Replace"]), both);
    assert_eq!(of(&["Replace", "replace"]), both);
    assert_eq!(of(&["x-y", "x y"]), ["XY=x y", "XY2=x-y"]);
}

/// The crate that compiles the golden files tests serde's own rule.
#[test]
fn a_json_name_follows_the_rule_of_serde() {
    check(
        serde_name,
        &[
            ("node_name", "nodeName"),
            ("pod_ip", "podIp"),
            ("type_", "type"),
            ("_3d", "3d"),
            ("foo_2", "foo2"),
            ("podIP", "podIP"),
            ("Port", "port"),
            ("foo_ünï", "fooünï"),
        ],
    );
    assert!(is_serde_name("node_name", "nodeName"));
    assert!(!is_serde_name("pod_ip", "podIP"));
    assert!(!is_serde_name("ünï", "ünï"));
}

#[test]
fn a_name_in_use_gets_a_number() {
    let mut names = Names::default();
    names.reserve("foo_2");
    let given = ["foo", "foo", "type_", "type_"].map(|name| names.give(name, "_"));
    assert_eq!(given, ["foo", "foo_3", "type_", "type_2"]);
}

#[test]
fn an_element_has_the_singular_of_its_list_if_it_is_clear() {
    for (list, element) in [
        ("Conditions", "Condition"),
        ("Policies", "Policy"),
        ("Addresses", "Address"),
        ("Matches", "Match"),
        ("Caches", "Cache"),
        ("Databases", "Database"),
        ("NodeStatuses", "NodeStatus"),
        ("ClusterIPs", "ClusterIP"),
        ("MatchExpressions", "MatchExpression"),
        ("Status", "Status"),
        ("Tls", "Tls"),
        ("TimeSeries", "TimeSeries"),
        ("Analysis", "Analysis"),
        ("Access", "Access"),
        ("Env", "Env"),
    ] {
        assert_eq!(schema::singular(list), element);
    }
}
