//! The names of modules, types and accessors in a tree.

use crate::names;

/// The module of a group: `example.com` is `example_com`, and `3scale.net` is `group_3scale_net`.
pub(super) fn group_module(group: &str) -> String {
    let name = snake(group);
    match name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("group_{name}"),
        false => usable(name),
    }
}

/// The module of a version, or of a kind's types given its words.
pub(super) fn module(name: &str) -> String {
    usable(snake(name))
}

/// The module of a kind's types: `IPAddress` is `ip_address`.
pub(super) fn kind_module(kind: &str, type_name: &str) -> String {
    let words: Vec<String> = kind
        .split('-')
        .flat_map(names::words)
        .map(str::to_ascii_lowercase)
        .collect();
    let name = usable(words.join("_"));
    // A type and a module cannot have the same name. This happens only for kinds without a capital letter.
    match name == type_name {
        true => format!("{name}_"),
        false => name,
    }
}

/// The accessor of a kind: the words of the kind with the ending of the plural, or the plural unchanged.
pub(super) fn accessor(kind: &str, plural: &str) -> String {
    usable(names::accessor(kind, plural).unwrap_or_else(|| snake(plural)))
}

/// The name of a type from that of a module: `example_com` is `ExampleCom`, and `v1beta1` is `V1beta1`.
pub(super) fn type_name(module: &str) -> String {
    module.split('_').map(names::type_name).collect()
}

fn snake(name: &str) -> String {
    name.replace(['.', '-'], "_").to_ascii_lowercase()
}

/// The name, changed if it is a keyword.
fn usable(name: String) -> String {
    match syn::parse_str::<syn::Ident>(&name) {
        Ok(_) => name,
        Err(_) => format!("{name}_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert_eq!(name, expected);
    }

    #[test]
    fn a_group_becomes_a_module_and_a_type() {
        check(&group_module("example.com"), "example_com");
        check(
            &group_module("gateway.networking.k8s.io"),
            "gateway_networking_k8s_io",
        );
        check(&group_module("cert-manager.io"), "cert_manager_io");
        check(&group_module("3scale.net"), "group_3scale_net");
        check(&group_module("type"), "type_");
        check(&type_name("cert_manager_io"), "CertManagerIo");
        check(&type_name("group_3scale_net"), "Group3scaleNet");
        check(&type_name("v1beta1"), "V1beta1");
    }

    #[test]
    fn a_kind_becomes_a_module() {
        check(&kind_module("IPAddress", "IPAddress"), "ip_address");
        check(&kind_module("HTTPRoute", "HTTPRoute"), "http_route");
        check(&kind_module("Type", "Type"), "type_");
        check(&kind_module("Crate", "Crate"), "crate_");
        check(&kind_module("foo", "foo"), "foo_");
    }

    #[test]
    fn an_accessor_is_the_plural_if_its_words_are_not_those_of_the_kind() {
        check(&accessor("GRPCRoute", "grpcroutes"), "grpc_routes");
        check(&accessor("Foot", "feet"), "feet");
        check(&accessor("Foo", "big-foos"), "big_foos");
        check(&accessor("Match", "match"), "match_");
        check(&accessor("StorageClass", "classes"), "classes");
    }
}
