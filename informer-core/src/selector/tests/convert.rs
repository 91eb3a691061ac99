//! Conversions from and to the selectors of the API and of kube.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::{Expression, Selector as KubeSelector};

use super::super::{RequirementError, Selector, UnsupportedByKube};
use super::{labels, parse};

fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: (!values.is_empty()).then(|| values.iter().map(|value| (*value).to_owned()).collect()),
    }
}

fn label_selector(pairs: &[(&str, &str)], expressions: &[LabelSelectorRequirement]) -> LabelSelector {
    LabelSelector {
        match_labels: (!pairs.is_empty()).then(|| labels(pairs)),
        match_expressions: (!expressions.is_empty()).then(|| expressions.to_vec()),
    }
}

/// Upstream: TestLabelSelectorAsSelector.
#[test]
fn a_label_selector_is_a_selector() {
    let foo = [("foo", "bar")];
    let baz = [expression("baz", "In", &["qux", "norf"])];
    let check = |pairs: &[(&str, &str)], expressions: &[LabelSelectorRequirement], text: &str| {
        let made = Selector::try_from(label_selector(pairs, expressions)).unwrap();
        assert_eq!(made, parse(text));
    };
    check(&[], &[], "");
    check(&foo, &[], "foo=bar");
    check(&[], &baz, "baz in (norf,qux)");
    check(&foo, &baz, "baz in (norf,qux),foo=bar");
    check(
        &[],
        &[
            expression("a", "NotIn", &["b"]),
            expression("c", "Exists", &[]),
            expression("d", "DoesNotExist", &[]),
        ],
        "a notin (b),c,!d",
    );
}

/// Upstream: TestLabelSelectorAsSelector.
#[test]
fn no_label_selector_selects_nothing_and_an_empty_one_everything() {
    let empty = LabelSelector::default();
    assert_eq!(Selector::try_from(None).unwrap(), Selector::nothing());
    assert_eq!(Selector::try_from(Some(&empty)).unwrap(), Selector::everything());
    assert_eq!(Selector::try_from(&empty).unwrap(), Selector::everything());
}

/// Upstream: TestLabelSelectorAsSelector.
#[test]
fn an_invalid_label_selector_is_refused() {
    let check = |one: LabelSelectorRequirement, expected: &str| {
        let error = Selector::try_from(label_selector(&[], &[one])).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        expression("baz", "Exists", &["qux", "norf"]),
        "cannot have 2 values",
    );
    check(expression("baz", "In", &[]), "cannot have 0 values");
    check(expression("baz", "Like", &["x"]), "unknown operator \"Like\"");
    check(expression("-baz", "Exists", &[]), "invalid label key \"-baz\"");
    check(expression("baz", "In", &["q/x"]), "invalid value \"q/x\"");
}

#[test]
fn kubes_selectors_are_converted_both_ways() {
    let text = "a=b,c!=d,e in (f,g),h notin (i),j,!k";
    let of_kube = KubeSelector::try_from(&parse(text)).unwrap();
    assert_eq!(Selector::try_from(of_kube).unwrap(), parse(text));
    assert!(
        KubeSelector::try_from(&Selector::everything())
            .unwrap()
            .selects_all()
    );
}

#[test]
fn selectors_without_a_counterpart_are_refused() {
    let back = |selector: &Selector| KubeSelector::try_from(selector).unwrap_err();
    assert_eq!(back(&Selector::nothing()), UnsupportedByKube::Nothing);
    assert_eq!(
        back(&parse("a=b,n>5")),
        UnsupportedByKube::Comparison { key: "n".to_owned() }
    );
    let unchecked = KubeSelector::from(Expression::Exists("not a key".to_owned()));
    assert!(matches!(
        Selector::try_from(unchecked),
        Err(RequirementError::Key { key, .. }) if key == "not a key"
    ));
}
