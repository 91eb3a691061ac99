//! The releases in which an item exists, as a `cfg` condition for generated code and as text.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::inventory::{NEWEST, OLDEST, Release, Resource};

/// The minor releases of the table in which an item exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gate(BTreeSet<u8>);

impl Gate {
    pub(super) fn of(resource: &Resource) -> Self {
        Self(
            releases()
                .filter(|&minor| resource.exists_in(Release { minor }))
                .collect(),
        )
    }

    pub(super) fn new(releases: &BTreeSet<u8>) -> Self {
        Self(releases.clone())
    }

    /// The union of the releases of an item's parts.
    pub(super) fn union<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        Self(parts.into_iter().flat_map(|part| &part.0).copied().collect())
    }

    /// The `cfg` condition, or `None` if the item exists in every release of the table.
    pub(super) fn condition(&self) -> Option<TokenStream> {
        if self.0.len() == releases().count() {
            return None;
        }
        let spans: Vec<TokenStream> = self.spans().into_iter().map(span_condition).collect();
        Some(match spans.as_slice() {
            [one] => one.clone(),
            several => quote!(any(#(#several),*)),
        })
    }

    /// The attribute for an item of a module with the condition `module`: empty if both exist in the same
    /// releases.
    pub(super) fn within(&self, module: &Self) -> TokenStream {
        if self == module {
            return TokenStream::new();
        }
        self.attribute()
    }

    /// The attribute for an item outside such a module.
    pub(super) fn attribute(&self) -> TokenStream {
        self.condition()
            .map(|condition| quote!(#[cfg(#condition)]))
            .unwrap_or_default()
    }

    /// `since Kubernetes 1.36` or the like, or `None` if it exists in every release of the table.
    pub(super) fn words(&self) -> Option<String> {
        self.condition()?;
        let words = |(first, last): (u8, u8)| match (first == OLDEST.minor, last == NEWEST.minor) {
            _ if first == last => format!("only in Kubernetes 1.{first}"),
            (_, true) => format!("since Kubernetes 1.{first}"),
            (true, false) => format!("up to Kubernetes 1.{last}"),
            (false, false) => format!("from Kubernetes 1.{first} to 1.{last}"),
        };
        Some(self.spans().into_iter().map(words).collect::<Vec<_>>().join(", "))
    }

    /// The runs of releases without a gap: first and last.
    fn spans(&self) -> Vec<(u8, u8)> {
        let mut spans: Vec<(u8, u8)> = Vec::new();
        for &minor in &self.0 {
            match spans.last_mut() {
                Some((_, last)) if *last + 1 == minor => *last = minor,
                _ => spans.push((minor, minor)),
            }
        }
        spans
    }
}

/// The releases of the table, oldest first.
pub(super) fn releases() -> impl Iterator<Item = u8> {
    OLDEST.minor..=NEWEST.minor
}

fn span_condition((first, last): (u8, u8)) -> TokenStream {
    let since = at_least(first);
    let after = at_least(last + 1);
    match (first == OLDEST.minor, last == NEWEST.minor) {
        (_, true) => quote!(#since),
        (true, false) => quote!(not(#after)),
        (false, false) => quote!(all(#since, not(#after))),
    }
}

/// The name that the build script sets for a release and every later one.
pub(super) fn at_least(minor: u8) -> proc_macro2::Ident {
    format_ident!("k8s_at_least_1_{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(minors: &[u8], condition: Option<&str>, words: Option<&str>) {
        let gate = Gate(minors.iter().copied().collect());
        let found = gate.condition().map(|tokens| tokens.to_string().replace(' ', ""));
        assert_eq!(found.as_deref(), condition, "{minors:?}");
        assert_eq!(gate.words().as_deref(), words, "{minors:?}");
    }

    #[test]
    fn what_every_release_has_stands_under_no_condition() {
        check(&[33, 34, 35, 36, 37], None, None);
    }

    #[test]
    fn a_condition_asks_only_for_the_ends_inside_the_table() {
        check(
            &[36, 37],
            Some("k8s_at_least_1_36"),
            Some("since Kubernetes 1.36"),
        );
        check(
            &[33, 34],
            Some("not(k8s_at_least_1_35)"),
            Some("up to Kubernetes 1.34"),
        );
        check(
            &[35],
            Some("all(k8s_at_least_1_35,not(k8s_at_least_1_36))"),
            Some("only in Kubernetes 1.35"),
        );
        check(
            &[34, 35],
            Some("all(k8s_at_least_1_34,not(k8s_at_least_1_36))"),
            Some("from Kubernetes 1.34 to 1.35"),
        );
    }

    #[test]
    fn a_gap_is_part_of_the_condition() {
        check(
            &[33, 36, 37],
            Some("any(not(k8s_at_least_1_34),k8s_at_least_1_36)"),
            Some("only in Kubernetes 1.33, since Kubernetes 1.36"),
        );
    }

    #[test]
    fn a_part_that_exists_where_its_module_does_needs_no_attribute() {
        let (narrow, wide) = (Gate([37].into()), Gate([36, 37].into()));
        assert!(wide.within(&wide).is_empty());
        assert_eq!(
            narrow.within(&wide).to_string().replace(' ', ""),
            "#[cfg(k8s_at_least_1_37)]"
        );
        assert_eq!(Gate::union([&narrow, &wide]), wide);
    }
}
