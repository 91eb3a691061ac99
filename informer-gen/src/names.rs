//! Names of accessors: the kind provides the word breaks, the plural of the API the ending of the last word.
//!
//! `IPAddress` and `ipaddresses` give `ip_addresses`. No rules of English are needed.

/// The accessor of a kind, or `None` if `plural` is not the words of `kind` with another ending.
pub(crate) fn accessor(kind: &str, plural: &str) -> Option<String> {
    // Kinds and plurals of custom resources may have dashes, in different places.
    let is_break = |letter: char| !(letter.is_alphanumeric() || letter == '_');
    let parts = kind.split(is_break).filter(|part| !part.is_empty());
    let words: Vec<String> = parts.flat_map(words).map(str::to_ascii_lowercase).collect();
    let (last, head) = words.split_last()?;
    let mut ending = plural;
    for word in head {
        ending = ending.trim_start_matches(is_break).strip_prefix(word)?;
    }
    let ending = ending.split(is_break).filter(|part| !part.is_empty());
    let ending = ending.collect::<Vec<_>>().join("_");
    // A plural keeps the word except for the last letter (`policy`, `policies`). Anything else is a different
    // word.
    let stem = last.get(..last.len().checked_sub(1)?)?;
    if ending.is_empty() || !ending.starts_with(stem) {
        return None;
    }
    let words: Vec<&str> = head.iter().map(String::as_str).chain([ending.as_str()]).collect();
    Some(words.join("_"))
}

/// The words of a name in camel case; a run of capitals is one word: `CSIStorageCapacity` is `CSI`,
/// `Storage`, `Capacity`.
pub(crate) fn words(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let is_upper = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_lowercase);
    let mut starts: Vec<usize> = (1..bytes.len())
        .filter(|&index| is_upper(index) && (!is_upper(index - 1) || is_lower(index + 1)))
        .collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| name.get(start..end))
        .collect()
}

/// The name of a type from that of a module: `core` is `Core`, `v1beta1` is `V1beta1`.
pub(crate) fn type_name(module: &str) -> String {
    let mut chars = module.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &str, plural: &str, expected: Option<&str>) {
        assert_eq!(accessor(kind, plural).as_deref(), expected, "{kind}, {plural}");
    }

    #[test]
    fn words_come_from_the_kind_and_the_ending_from_the_plural() {
        check("Pod", "pods", Some("pods"));
        check("Endpoints", "endpoints", Some("endpoints"));
        check("IPAddress", "ipaddresses", Some("ip_addresses"));
        check("NetworkPolicy", "networkpolicies", Some("network_policies"));
        check("StorageClass", "storageclasses", Some("storage_classes"));
        check("ServiceCIDR", "servicecidrs", Some("service_cidrs"));
        check(
            "CSIStorageCapacity",
            "csistoragecapacities",
            Some("csi_storage_capacities"),
        );
    }

    #[test]
    fn characters_that_identifiers_cannot_have_break_words() {
        check("Foo-Bar", "foo-bars", Some("foo_bars"));
        check("Foo-Bar", "foobars", Some("foo_bars"));
        check("FooBar", "foo-bars", Some("foo_bars"));
        check("lower-case", "lower-cases", Some("lower_cases"));
        check("Foo", "foo-bars", Some("foo_bars"));
        check("FooBar", "fo-obars", None);
        check("-", "foos", None);
    }

    #[test]
    fn a_plural_of_other_words_gives_no_name() {
        check("Pod", "containers", None);
        check("Foot", "feet", None);
        check("StorageClass", "classes", None);
        check("StorageClass", "storage", None);
        check("", "pods", None);
    }

    #[test]
    fn a_module_becomes_a_type() {
        assert_eq!(
            (type_name("core"), type_name("v1beta1")),
            ("Core".into(), "V1beta1".into())
        );
    }
}
