//! Label selectors: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`, joined by commas.

use std::collections::{BTreeMap, BTreeSet};

/// Requirements on labels, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Absent(String),
    Greater(String, i64),
    Less(String, i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Parser {
            tokens: tokens(text),
            at: 0,
        }
        .selector()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let number = |key: &str| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            // An object without the label matches: upstream means "has no such pair".
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
            Self::Greater(key, bound) => number(key).is_some_and(|value| value > *bound),
            Self::Less(key, bound) => number(key).is_some_and(|value| value < *bound),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

/// The longest symbols come first, so that `==` is not read as `=` twice.
const SYMBOLS: [&str; 10] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<", ""];

fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let symbol = SYMBOLS
            .iter()
            .find(|symbol| rest.starts_with(**symbol))
            .copied()
            .unwrap_or("");
        let length = if symbol.is_empty() {
            let end = |c: char| c.is_whitespace() || "=!(),<>".contains(c);
            let length = rest.find(end).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
            length
        } else {
            tokens.push(Token::Symbol(symbol));
            symbol.len()
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(LabelSelector { requirements }),
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(requirement);
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            match self.take() {
                Token::End => return Ok(LabelSelector { requirements }),
                Token::Symbol(",") => {
                    if !matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            self.peek().text()
                        ));
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        if self.peek() == Token::Symbol("!") {
            self.take();
            return Ok(Requirement::Absent(self.key()?));
        }
        let key = self.key()?;
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(Requirement::Exists(key)),
            Token::Symbol("=" | "==") => Ok(Requirement::In(key, self.exact()?)),
            Token::Symbol("!=") => Ok(Requirement::NotIn(key, self.exact()?)),
            Token::Symbol(">") => Ok(Requirement::Greater(key, self.number()?)),
            Token::Symbol("<") => Ok(Requirement::Less(key, self.number()?)),
            Token::Word(word) if word == "in" => Ok(Requirement::In(key, self.set()?)),
            Token::Word(word) if word == "notin" => Ok(Requirement::NotIn(key, self.set()?)),
            other => {
                let expected = "in, notin, =, ==, !=, gt, lt";
                Err(format!("found '{}', expected: {expected}", other.text()))
            }
        }
    }

    fn key(&mut self) -> Result<String, String> {
        match self.take() {
            Token::Word(word) => match label_key_problem(&word) {
                Some(why) => Err(format!("<nil>: Invalid value: {word:?}: {why}")),
                None => Ok(word),
            },
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Parses one value after an operator; a missing value is the empty one.
    fn exact(&mut self) -> Result<BTreeSet<String>, String> {
        self.take();
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(BTreeSet::from([String::new()])),
            Token::Word(word) => {
                self.take();
                Ok(BTreeSet::from([word]))
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let values = self.exact()?;
        let value = values.first().map_or("", String::as_str);
        value.parse().map_err(|_| {
            let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
            format!("values[0]: Invalid value: {value:?}: {rule}")
        })
    }

    fn set(&mut self) -> Result<BTreeSet<String>, String> {
        self.take();
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.take() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(values),
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    values.insert(String::new());
                }
                Token::Symbol(")") => {
                    values.insert(String::new());
                    return Ok(values);
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.text()
                    ));
                }
            }
        }
    }
}

const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
    validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
    or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
    '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const MAX_NAME: usize = 63;

/// Returns the error of a label key, if it is invalid. The domain before the slash is not checked.
pub(crate) fn label_key_problem(key: &str) -> Option<String> {
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    match name {
        "" => Some("name part must be non-empty".to_owned()),
        name if name.len() > MAX_NAME => {
            Some(format!("name part must be no more than {MAX_NAME} characters"))
        }
        name => (!is_label(name)).then(|| NAME.to_owned()),
    }
}

/// Returns the error of a label value, if it is invalid.
pub(crate) fn label_value_problem(value: &str) -> Option<String> {
    if value.len() > MAX_NAME {
        return Some(format!("must be no more than {MAX_NAME} characters"));
    }
    (!value.is_empty() && !is_label(value)).then(|| VALUE.to_owned())
}

fn is_label(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    bytes.iter().all(inner) && ends.into_iter().flatten().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(selector: &str, expected: bool) {
        let labels = [("app", "web"), ("tier", "front"), ("weight", "7"), ("empty", "")];
        let labels = labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(
            LabelSelector::parse(selector).unwrap().matches(&labels),
            expected,
            "{selector}"
        );
    }

    #[test]
    fn every_operator_selects_as_upstream_does() {
        check("", true);
        check("app=web", true);
        check("app==web,tier=front", true);
        check("app=db", false);
        check("app!=db", true);
        check("missing!=db", true);
        check("app in (web, db)", true);
        check("app notin (web,db)", false);
        check("missing notin (x)", true);
        check("app", true);
        check("!app", false);
        check("!missing", true);
        check("weight>6", true);
        check("weight<6", false);
        check("empty=", true);
        check("empty in (,x)", true);
    }

    #[test]
    fn invalid_selectors_are_refused_with_upstreams_messages() {
        let refused = |text: &str| LabelSelector::parse(text).unwrap_err();
        assert_eq!(
            refused("a in"),
            "unable to parse requirement: found '' expected: '('"
        );
        assert_eq!(refused("a=b=c"), "found '=', expected: ',' or 'end of string'");
        assert_eq!(refused("a,"), "found '', expected: identifier after ','");
    }
}
