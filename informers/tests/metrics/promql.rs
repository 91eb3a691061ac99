//! Finds the names of metrics and labels in PromQL expressions: enough of a lexer to compare them with what
//! is exported. An expression that it does not understand is an error.

use std::collections::BTreeSet;

/// Functions and aggregations that the documents use. An unknown one may be a typing error.
const FUNCTIONS: [&str; 12] = [
    "sum",
    "max",
    "min",
    "avg",
    "count",
    "rate",
    "increase",
    "histogram_quantile",
    "topk",
    "clamp_min",
    "label_values",
    "changes",
];

/// What an expression names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Each metric, with the labels of its matchers.
    pub(super) metrics: BTreeSet<(String, Vec<String>)>,
    /// The labels of `by (..)` and similar.
    pub(super) labels: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text,
    Sign(char),
}

impl Token {
    fn word(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Text | Self::Sign(_) => None,
        }
    }
}

/// Returns the names in an expression.
pub(super) fn names(expression: &str) -> Result<Names, String> {
    let tokens = tokens(expression)?;
    let mut names = Names::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let Token::Word(word) = token else { continue };
        let next = tokens.get(at);
        match word.as_str() {
            "by" | "without" | "on" | "ignoring" | "group_left" | "group_right" => {
                if next == Some(&Token::Sign('(')) {
                    let rest = tokens[at + 1..].iter();
                    let list: Vec<&Token> = rest.take_while(|token| **token != Token::Sign(')')).collect();
                    at += 1 + list.len();
                    names.labels.extend(list.into_iter().filter_map(Token::word));
                }
            }
            "and" | "or" | "unless" | "offset" | "bool" => {}
            // An aggregation may be followed by its labels instead of its argument.
            function if next == Some(&Token::Sign('(')) || FUNCTIONS.contains(&function) => {
                if !FUNCTIONS.contains(&function) {
                    return Err(format!("unknown function {function}"));
                }
                // label_values(metric, label), of Grafana.
                if function == "label_values" {
                    let label = tokens.iter().rev().find_map(Token::word);
                    names.labels.extend(label);
                    if let Some(Token::Word(metric)) = tokens.get(at + 1) {
                        names.metrics.insert((metric.clone(), Vec::new()));
                    }
                    return Ok(names);
                }
            }
            number if number.starts_with(|first: char| first.is_ascii_digit()) => {}
            metric => {
                let mut labels = Vec::new();
                if next == Some(&Token::Sign('{')) {
                    for pair in tokens[at..].split(|token| *token == Token::Sign('}')).take(1) {
                        let words = pair.iter().filter_map(Token::word);
                        labels.extend(words);
                        at += pair.len();
                    }
                }
                names.metrics.insert((metric.to_owned(), labels));
            }
        }
    }
    Ok(names)
}

fn tokens(expression: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = expression.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '"' => {
                if !rest.any(|char| char == '"') {
                    return Err("an open string".to_owned());
                }
                tokens.push(Token::Text);
            }
            // The range of a vector: a duration or a variable of Grafana.
            '[' => {
                if !rest.any(|char| char == ']') {
                    return Err("an open range".to_owned());
                }
            }
            // A variable of Grafana outside of a string stands for a number.
            '$' => {
                while rest
                    .next_if(|char| char.is_alphanumeric() || *char == '_')
                    .is_some()
                {}
            }
            _ if first.is_ascii_alphanumeric() || first == '_' => {
                let mut word = String::from(first);
                while let Some(char) =
                    rest.next_if(|char| char.is_ascii_alphanumeric() || "_:.".contains(*char))
                {
                    word.push(char);
                }
                tokens.push(Token::Word(word));
            }
            _ if first.is_whitespace() => {}
            _ if "(){}=!~<>,+-*/".contains(first) => tokens.push(Token::Sign(first)),
            other => return Err(format!("unexpected {other:?}")),
        }
    }
    Ok(tokens)
}

#[test]
fn the_names_of_an_expression_are_found() {
    let found = names(
        "histogram_quantile(0.99, sum by (le, handler) (rate(a_bucket{name=~\"$name\", \
         b!=\"x\"}[$__rate_interval]))) > 5
         and on (resource) c == 1",
    )
    .unwrap();
    let labels = |labels: &[&str]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
    let metrics = [
        ("a_bucket".to_owned(), labels(&["name", "b"])),
        ("c".to_owned(), labels(&[])),
    ];
    assert_eq!(found.metrics, metrics.into());
    assert_eq!(
        found.labels,
        ["le", "handler", "resource"].map(str::to_owned).into()
    );
    let variable = names("label_values(informer_synced, name)").unwrap();
    assert_eq!(
        variable.metrics,
        [("informer_synced".to_owned(), Vec::new())].into()
    );
    assert_eq!(variable.labels, ["name".to_owned()].into());
    assert_eq!(names("summ(a)").unwrap_err(), "unknown function summ");
    assert_eq!(names("a[5m").unwrap_err(), "an open range");
    assert_eq!(names("a{b=\"c}").unwrap_err(), "an open string");
}
