//! The names of modules and accessors in a tree.

use super::{is_keyword, snake};

/// The module of a group: `example.com` is `example_com`, and `3scale.net` is `group_3scale_net`.
pub(crate) fn group_module(group: &str) -> String {
    let name = module(group);
    match name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("group_{name}"),
        false => name,
    }
}

/// The module of a version.
pub(crate) fn module(name: &str) -> String {
    usable(snake(name))
}

/// The module of a kind's types: `IPAddress` is `ip_address`.
pub(crate) fn kind_module(kind: &str, type_name: &str) -> String {
    let name = module(kind);
    // A type and a module cannot have the same name. This happens only for kinds without a capital letter.
    match name == type_name {
        true => format!("{name}_"),
        false => name,
    }
}

/// The accessor of a kind: the words of the kind with the ending of the plural, or the plural unchanged.
pub(crate) fn accessor(kind: &str, plural: &str) -> String {
    usable(super::accessor(kind, plural).unwrap_or_else(|| snake(plural)))
}

/// The name, changed if it is a keyword.
fn usable(name: String) -> String {
    match is_keyword(&name) {
        true => name + "_",
        false => name,
    }
}
