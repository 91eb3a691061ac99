//! The cases of `selector_test.go` in apimachinery's package labels. Each test names its origin.

use super::super::Operator::{DoesNotExist, Equals, Exists, GreaterThan, In, LessThan, NotEquals, NotIn};
use super::super::lexer::Token::{self, Close, Comma, Greater, Less, Not, Open, Word};
use super::super::{Operator, Requirement, Selector};
use super::{check_parsed, labels, parse, tokens};

/// Upstream: TestSelectorParse.
#[test]
fn good_selectors_print_without_their_blanks() {
    for text in [
        "x=a,y=b,z=c",
        "",
        "x!=a,y=b",
        "x=",
        "x= ",
        "x=,z= ",
        "x= ,z= ",
        "!x",
        "x>1",
        "x>1,z<5",
    ] {
        assert_eq!(parse(text).to_string(), text.replace(' ', ""), "{text:?}");
    }
}

/// Upstream: TestSelectorParse and the cases of TestSetSelectorParser that are not valid.
#[test]
fn bad_selectors_do_not_parse() {
    for text in [
        "x=a||y=b",
        "x==a==b",
        "!x=a",
        "x<a",
        "x,,y",
        ",x,y",
        "x nott in (y)",
        "a in (xyz),",
        "a in (xyz)b notin ()",
        "a in (xyz abc)",
        "a notin(",
        "a (",
        "(",
    ] {
        assert!(text.parse::<Selector>().is_err(), "{text:?}");
    }
}

/// Upstream: TestDeterministicParse.
#[test]
fn the_order_of_requirements_does_not_matter() {
    assert_eq!(parse("x=a,a=x").to_string(), parse("a=x,x=a").to_string());
}

/// Upstream: TestSelectorMatches.
#[test]
fn selectors_match_labels() {
    let check = |text: &str, pairs: &[(&str, &str)], expected: bool| {
        assert_eq!(
            parse(text).matches(&labels(pairs)),
            expected,
            "{text:?} on {pairs:?}"
        );
    };
    check("", &[("x", "y")], true);
    check("x=y", &[("x", "y")], true);
    check("x=y,z=w", &[("x", "y"), ("z", "w")], true);
    check("x!=y,z!=w", &[("x", "z"), ("z", "a")], true);
    check("notin=in", &[("notin", "in")], true);
    check("x", &[("x", "z")], true);
    check("!x", &[("y", "z")], true);
    check("x>1", &[("x", "2")], true);
    check("x<1", &[("x", "0")], true);
    check("x=z", &[], false);
    check("x=y", &[("x", "z")], false);
    check("x=y,z=w", &[("x", "w"), ("z", "w")], false);
    check("x!=y,z!=w", &[("x", "z"), ("z", "w")], false);
    check("x", &[("y", "z")], false);
    check("!x", &[("x", "z")], false);
    check("x>1", &[("x", "0")], false);
    check("x<1", &[("x", "2")], false);

    let both = [("foo", "bar"), ("baz", "blah")];
    check("foo=bar", &both, true);
    check("baz=blah", &both, true);
    check("foo=bar,baz=blah", &both, true);
    check("foo=blah", &both, false);
    check("baz=bar", &both, false);
    check("foo=bar,foobar=bar,baz=blah", &both, false);
}

/// Upstream: TestRequirementSelectorMatching.
#[test]
fn sets_match_labels() {
    let check = |text: &str, pairs: &[(&str, &str)], expected: bool| {
        assert_eq!(
            parse(text).matches(&labels(pairs)),
            expected,
            "{text:?} on {pairs:?}"
        );
    };
    check("x in (foo),y notin (alpha)", &[("x", "foo"), ("y", "baz")], true);
    check("x in (foo),y in (alpha)", &[("x", "foo"), ("y", "baz")], false);
    check("x notin (),y", &[("y", "")], true);
    check("!x,y", &[("y", "")], true);
    check("x notin (),!y", &[("y", "")], false);
    check("x in ()", &[("y", "baz")], false);
    check("z>1", &[("z", "2")], true);
    check("z>1", &[("z", "v2")], false);
}

/// Upstream: TestSetMatches, TestNilMapIsValid, TestSetIsEmpty, TestSetSelectorString,
/// TestValidatedSelectorFromSet.
#[test]
fn labels_make_a_selector() {
    let both = labels(&[("foo", "bar"), ("baz", "blah")]);
    let check = |pairs: &[(&str, &str)], text: &str| {
        let selector = Selector::from_labels(pairs.iter().copied()).unwrap();
        assert_eq!(selector.to_string(), text);
        assert!(selector.matches(&both), "{selector}");
        assert_eq!(selector.is_everything(), pairs.is_empty());
    };
    check(&[], "");
    check(&[("foo", "bar")], "foo=bar");
    check(&[("baz", "blah")], "baz=blah");
    check(&[("foo", "bar"), ("baz", "blah")], "baz=blah,foo=bar");

    let refused = Selector::from_labels([("Key", "a".repeat(64))]);
    assert!(refused.is_err(), "{refused:?}");
}

/// Upstream: TestLexer. `=` and `==` are one token here, because they have the same meaning.
#[test]
fn single_tokens_are_recognised() {
    for (text, expected) in [
        (",", Comma),
        ("notin", Word("notin")),
        ("in", Word("in")),
        ("=", Token::Equals),
        ("==", Token::Equals),
        (">", Greater),
        ("<", Less),
        ("!", Not),
        ("!=", Token::NotEquals),
        ("(", Open),
        (")", Close),
        ("~", Word("~")),
        ("||", Word("||")),
    ] {
        assert_eq!(tokens(text), [expected]);
    }
    assert_eq!(tokens(""), []);
}

/// Upstream: TestLexerSequence, TestParserLookahead.
#[test]
fn tokens_are_read_in_order() {
    let key = Word("key");
    let check = |text: &str, expected: &[Token<'_>]| assert_eq!(tokens(text), expected, "{text:?}");
    check("key in ( value )", &[key, Word("in"), Open, Word("value"), Close]);
    check(
        "key notin ( value )",
        &[key, Word("notin"), Open, Word("value"), Close],
    );
    check(
        "key in ( value1, value2 )",
        &[
            key,
            Word("in"),
            Open,
            Word("value1"),
            Comma,
            Word("value2"),
            Close,
        ],
    );
    check("key", &[key]);
    check("!key", &[Not, key]);
    check("()", &[Open, Close]);
    check(
        "x in (),y",
        &[Word("x"), Word("in"), Open, Close, Comma, Word("y")],
    );
    check(
        "== != (), = notin",
        &[
            Token::Equals,
            Token::NotEquals,
            Open,
            Close,
            Comma,
            Token::Equals,
            Word("notin"),
        ],
    );
    check("key>2", &[key, Greater, Word("2")]);
    check("key<1", &[key, Less, Word("1")]);
}

/// Upstream: TestParseOperator.
#[test]
fn only_operators_stand_between_key_and_value() {
    for operator in ["=", "==", "!="] {
        assert!(
            format!("x {operator} y").parse::<Selector>().is_ok(),
            "{operator}"
        );
    }
    for operator in [">", "<"] {
        assert!(
            format!("x {operator} 1").parse::<Selector>().is_ok(),
            "{operator}"
        );
    }
    for operator in ["in", "notin"] {
        assert!(
            format!("x {operator} (y)").parse::<Selector>().is_ok(),
            "{operator}"
        );
    }
    for operator in ["!", "exists", "("] {
        assert!(
            format!("x {operator} y").parse::<Selector>().is_err(),
            "{operator}"
        );
    }
}

/// Upstream: TestRequirementConstructor.
#[test]
fn requirements_are_validated() {
    let check = |key: &str, operator: Operator, values: &[&str], is_valid: bool| {
        let made = Requirement::new(key, operator, values.iter().copied());
        assert_eq!(made.is_ok(), is_valid, "{key} {operator} {values:?}: {made:?}");
    };
    let long = "a".repeat(254);
    check("x1", In, &[], false);
    check("x2", NotIn, &[], false);
    check("x3", In, &["foo"], true);
    check("x4", NotIn, &["foo"], true);
    check("x5", Equals, &["foo", "bar"], false);
    check("x6", Exists, &[], true);
    check("x7", DoesNotExist, &[], true);
    check("x8", Exists, &["foo"], false);
    check("x11", GreaterThan, &["1"], true);
    check("x12", LessThan, &["6"], true);
    check("x13", GreaterThan, &[], false);
    check("x14", GreaterThan, &["bar"], false);
    check("x15", LessThan, &["bar"], false);
    check(&long, Exists, &[], false);
    check("x16", Equals, &[&long], false);
    check("x17", Equals, &["a b"], false);
}

/// Upstream: TestToString. `==` prints as `=`.
#[test]
fn requirements_print_as_they_are_written() {
    for (text, printed) in [
        ("x in (abc,def),y notin (jkl),z", "x in (abc,def),y notin (jkl),z"),
        ("x notin (abc,def),y!=jkl,!z", "x notin (abc,def),y!=jkl,!z"),
        (
            "x notin (abc),y in (jkl,mno),z notin ()",
            "x notin (abc),y in (jkl,mno),z notin ()",
        ),
        ("x=abc,y==jkl,z!=a,z", "x=abc,y=jkl,z!=a,z"),
        ("x>2,y<8,z", "x>2,y<8,z"),
    ] {
        assert_eq!(parse(text).to_string(), printed);
    }
}

/// Upstream: TestSetSelectorParser.
#[test]
fn sets_parse_with_blanks_and_empty_values_anywhere() {
    check_parsed("", &[]);
    check_parsed("\rx", &[("x", Exists, &[])]);
    let key = "this-is-a-dns.domain.com/key-with-dash";
    check_parsed(key, &[(key, Exists, &[])]);
    check_parsed(&format!("{key} in (so,what)"), &[(key, In, &["so", "what"])]);
    check_parsed(
        "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)",
        &[("0.1.2.domain/99", NotIn, &["10.10.100.1", "tick.tack.clock"])],
    );
    check_parsed("foo  in\t (abc)", &[("foo", In, &["abc"])]);
    check_parsed("x notin\n (abc)", &[("x", NotIn, &["abc"])]);
    check_parsed("x  notin\t\t\t(abc,def)", &[("x", NotIn, &["abc", "def"])]);
    check_parsed("x in (abc,def)", &[("x", In, &["abc", "def"])]);
    check_parsed("x in (abc,)", &[("x", In, &["", "abc"])]);
    check_parsed("x in (abc,abc)", &[("x", In, &["abc"])]);
    check_parsed("x in ()", &[("x", In, &[""])]);
    for text in [
        "x in (a,,)",
        "x in (a,,,)",
        "x in (a,,,,,,)",
        "x in (a,,a,,a,,a,,)",
    ] {
        check_parsed(text, &[("x", In, &["", "a"])]);
    }
    check_parsed(
        "x notin (abc,,def),bar,z in (),w",
        &[
            ("bar", Exists, &[]),
            ("w", Exists, &[]),
            ("x", NotIn, &["", "abc", "def"]),
            ("z", In, &[""]),
        ],
    );
    check_parsed("x,y in (a)", &[("x", Exists, &[]), ("y", In, &["a"])]);
    check_parsed("x=a", &[("x", Equals, &["a"])]);
    check_parsed("x>1", &[("x", GreaterThan, &["1"])]);
    check_parsed("x<7", &[("x", LessThan, &["7"])]);
    check_parsed("x=a,y!=b", &[("x", Equals, &["a"]), ("y", NotEquals, &["b"])]);
    check_parsed(
        "x=a,y!=b,z in (h,i,j)",
        &[
            ("x", Equals, &["a"]),
            ("y", NotEquals, &["b"]),
            ("z", In, &["h", "i", "j"]),
        ],
    );
    check_parsed("x notin ( )", &[("x", NotIn, &[""])]);
    check_parsed("x notin (, a)", &[("x", NotIn, &["", "a"])]);
    check_parsed("a ", &[("a", Exists, &[])]);
    check_parsed(
        "a in (x,y,notin, z,in)",
        &[("a", In, &["in", "notin", "x", "y", "z"])],
    );
}

/// Not among upstream's cases, but accepted by its parser.
#[test]
fn in_and_notin_can_be_keys() {
    check_parsed("in", &[("in", Exists, &[])]);
    check_parsed("!notin", &[("notin", DoesNotExist, &[])]);
    check_parsed("in in (in)", &[("in", In, &["in"])]);
    check_parsed("notin notin (x)", &[("notin", NotIn, &["x"])]);
}

/// Upstream: TestAdd, TestRequiresExactMatch.
#[test]
fn a_requirement_returns_the_values_a_label_must_have() {
    let check = |text: &str, expected: Option<&[&str]>| {
        let selector = parse(text);
        let found = selector.requirements().next().and_then(Requirement::one_of);
        let found: Option<Vec<&str>> = found.map(|values| values.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected, "{text}");
    };
    check("key in (value)", Some(&["value"]));
    check("key in (value,value2)", Some(&["value", "value2"]));
    check("key=value", Some(&["value"]));
    check("key==value", Some(&["value"]));
    check("key!=value", None);
    check("key", None);
    check("key>1", None);
}
