//! Selectors: parsing, printing, matching, and errors.

mod convert;
mod errors;
mod upstream;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::lexer::{Lexer, Token};
use super::{Operator, Requirement, Selector};

fn parse(text: &str) -> Selector {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Checks the requirements of a text, in order, each as key, operator and values.
fn check_parsed(text: &str, expected: &[(&str, Operator, &[&str])]) {
    let selector = parse(text);
    let found: Vec<(&str, Operator, Vec<&str>)> = selector
        .requirements()
        .map(|one| {
            (
                one.key(),
                one.operator(),
                one.values().iter().map(String::as_str).collect(),
            )
        })
        .collect();
    let expected: Vec<(&str, Operator, Vec<&str>)> = expected
        .iter()
        .map(|(key, operator, values)| (*key, *operator, values.to_vec()))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn everything_and_nothing_are_opposites() {
    for (selector, matches) in [
        (Selector::everything(), true),
        (Selector::default(), true),
        (parse(""), true),
        (parse(" \t\r\n"), true),
        (Selector::from_iter([]), true),
        (Selector::nothing(), false),
    ] {
        assert_eq!(selector.matches(&labels(&[])), matches, "{selector:?}");
        assert_eq!(selector.matches(&labels(&[("a", "b")])), matches, "{selector:?}");
        assert_eq!(selector.is_everything(), matches);
        assert_eq!(selector.is_nothing(), !matches);
        assert_eq!(selector.requirements().len(), 0);
    }
}

/// client-go prints the empty text, which parses as everything.
#[test]
fn the_text_of_nothing_does_not_parse() {
    assert_eq!(Selector::nothing().to_string(), "<nothing>");
    assert!(Selector::nothing().to_string().parse::<Selector>().is_err());
}

#[test]
fn requirements_are_added_one_by_one() {
    let app = Requirement::new("app", Operator::Equals, ["web"]).unwrap();
    let tier = Requirement::new("tier", Operator::Exists, [""; 0]).unwrap();
    let both = Selector::everything().and(tier).and(app.clone());
    assert_eq!(both.to_string(), "app=web,tier");
    assert_eq!(both.clone().and(app.clone()), both);
    assert!(Selector::nothing().and(app).is_nothing());
}

#[test]
fn selectors_that_differ_in_order_are_equal() {
    for (this, that) in [
        ("a=b", "a==b"),
        ("a=b,c", "c,a=b"),
        ("a,a", "a"),
        ("a=2,a=1", "a=1,a=2"),
        ("a in (x,y,x)", "a in (y, x)"),
        ("a=b", "\ta = b\n"),
    ] {
        assert_eq!(parse(this), parse(that));
        assert_eq!(parse(this).to_string(), parse(that).to_string());
    }
    assert_ne!(
        parse("a=b"),
        parse("a in (b)"),
        "as upstream, these stay different"
    );
}

#[test]
fn an_object_is_matched_by_its_labels() {
    let mut pod = k8s_openapi::api::core::v1::Pod::default();
    assert!(parse("").matches_object(&pod));
    assert!(parse("!app").matches_object(&pod));
    assert!(!parse("app=web").matches_object(&pod));
    pod.metadata.labels = Some(labels(&[("app", "web")]));
    assert!(parse("app=web").matches_object(&pod));
}

#[test]
fn comparing_takes_integers_of_64_bits_on_both_sides() {
    let check = |text: &str, value: &str, expected: bool| {
        assert_eq!(
            parse(text).matches(&labels(&[("n", value)])),
            expected,
            "{text} for {value}"
        );
    };
    check("n>5", "6", true);
    check("n>5", "5", false);
    check("n<5", "-6", true);
    check("n<5", "5", false);
    check("n>007", "8", true);
    check("n<9223372036854775807", "9223372036854775806", true);
    check("n>5", "9223372036854775808", false);
    check("n>5", "6.5", false);
    check("n>5", "", false);
    for text in ["n>", "n>x", "n>1.5", "n>9223372036854775808", "n>-1", "n<"] {
        assert!(text.parse::<Selector>().is_err(), "{text}");
    }
}

#[test]
fn a_selector_of_a_megabyte_is_parsed() {
    let requirements: Vec<String> = (0..50_000).map(|at| format!("key-{at} in (a,b,c)")).collect();
    let selector = parse(&requirements.join(","));
    assert_eq!(selector.requirements().len(), 50_000);
    let error = format!("{selector},").parse::<Selector>().unwrap_err();
    assert_eq!(error.offset(), selector.to_string().len() + 1);
}

/// A word: a key, or similar to one.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z][a-z0-9-]{0,4}[a-z]",
        2 => "[a-z]{1,3}[.][a-z]{1,3}/[A-Za-z0-9]([-_.A-Za-z0-9]{0,4}[A-Za-z0-9])?",
        1 => Just("in".to_owned()),
        1 => Just("notin".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z0-9]([-_.A-Za-z0-9]{0,6}[A-Za-z0-9])?",
        1 => Just(String::new()),
        1 => Just("in".to_owned()),
    ]
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let single = prop_oneof![Just(Operator::Equals), Just(Operator::NotEquals)];
    let set = prop_oneof![Just(Operator::In), Just(Operator::NotIn)];
    let sign = prop_oneof![Just(Operator::GreaterThan), Just(Operator::LessThan)];
    let none = prop_oneof![Just(Operator::Exists), Just(Operator::DoesNotExist)];
    let rest = prop_oneof![
        (single, value().prop_map(|value| vec![value])),
        (set, proptest::collection::vec(value(), 1..4)),
        (sign, (0..i64::MAX).prop_map(|bound| vec![bound.to_string()])),
        (none, Just(Vec::new())),
    ];
    (word(), rest).prop_map(|(key, (operator, values))| Requirement::new(key, operator, values).unwrap())
}

/// Texts that are almost selectors, and arbitrary ones.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => word(),
        6 => "[=!<>(), \t]{1,2}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop_oneof![
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn what_is_printed_parses_to_the_same(requirements in proptest::collection::vec(requirement(), 0..6)) {
        let selector = Selector::from_iter(requirements);
        prop_assert_eq!(parse(&selector.to_string()), selector);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in text()) {
        match text.parse::<Selector>() {
            Ok(selector) => prop_assert_eq!(parse(&selector.to_string()), selector),
            Err(error) => {
                prop_assert!(text.is_char_boundary(error.offset()));
                prop_assert_eq!(error.text(), &text);
                let shown = error.to_string();
                prop_assert_eq!(shown.lines().count(), 3);
                prop_assert!(shown.len() < 400);
                prop_assert!(!shown.chars().any(|one| one.is_control() && one != '\n'));
            }
        }
    }
}

/// The tokens of a text up to its end.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(|| {
        let next = lexer.peek();
        assert_eq!(lexer.take(), next, "the token peeked at is the token taken");
        (next != Token::End).then_some(next)
    })
    .collect()
}
