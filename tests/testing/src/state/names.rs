//! Names: validation, and random suffixes for `generateName`.

use crate::error::FieldProblem;
use crate::registry::Resource;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Returns the error of a name, if it is invalid.
///
/// Kinds with stricter rules upstream (services, namespaces) are checked by the common rule here.
pub(super) fn problem(resource: &Resource, name: &str) -> Option<FieldProblem> {
    let field = "metadata.name";
    let free = resource.group == "rbac.authorization.k8s.io" || resource.plural == "ipaddresses";
    if free {
        let bad = matches!(name, "." | "..") || name.contains(['/', '%']);
        return bad.then(|| FieldProblem::invalid(field, name, "may not contain '/' or '%'"));
    }
    if name.len() > 253 {
        return Some(FieldProblem::invalid(
            field,
            name,
            "must be no more than 253 characters",
        ));
    }
    (!is_subdomain(name)).then(|| FieldProblem::invalid(field, name, SUBDOMAIN))
}

fn is_subdomain(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    name.split('.').all(|label| {
        let bytes = label.as_bytes();
        let ends_well = |end: Option<&u8>| end.is_some_and(|b| *b != b'-');
        bytes.iter().all(|b| inner(*b)) && ends_well(bytes.first()) && ends_well(bytes.last())
    })
}

/// The longest base a generated name keeps, so that it stays a DNS label with its suffix.
pub(super) const MAX_GENERATED_BASE: usize = 58;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_are_distinguished_from_other_names() {
        for good in ["a", "a-b.c1", "0"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", ".a"] {
            assert!(!is_subdomain(bad), "{bad}");
        }
    }
}
