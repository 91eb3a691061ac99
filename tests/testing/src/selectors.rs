//! Label and field selectors, with upstream's syntax and error messages.

pub(crate) use crate::label_selector::{LabelSelector, label_key_problem, label_value_problem};
use crate::object::Stored;

/// The objects that a list, watch or deletecollection selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selectors {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selectors {
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(&object.labels) && self.fields.matches(object)
    }
}

/// Comparisons of fields, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSelector {
    terms: Vec<FieldTerm>,
}

#[derive(Clone, Debug, PartialEq)]
struct FieldTerm {
    path: String,
    comparison: Comparison,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
}

impl FieldSelector {
    /// Parses `a=b,c!=d`. A backslash escapes a comma, an equals sign or a backslash in a value.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let terms = split_terms(text).into_iter().filter(|term| !term.is_empty());
        let terms = terms
            .map(|term| {
                FieldTerm::parse(term)
                    .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Returns a selector for one object by name, for a watch on a single object.
    pub(crate) fn name(name: &str) -> Self {
        let term = FieldTerm {
            path: "metadata.name".into(),
            comparison: Comparison::Equal,
            value: name.into(),
        };
        Self { terms: vec![term] }
    }

    /// Combines both selectors.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.terms.extend(other.terms);
        self
    }

    /// Returns the field paths that are compared.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.path.as_str())
    }

    fn matches(&self, object: &Stored) -> bool {
        self.terms.iter().all(|term| {
            let equal = field_of(object, &term.path) == term.value;
            equal == (term.comparison == Comparison::Equal)
        })
    }
}

impl FieldTerm {
    fn parse(term: &str) -> Option<Self> {
        let at = term.find(['=', '!'])?;
        let (path, rest) = term.split_at(at);
        let (comparison, value) = if let Some(value) = rest.strip_prefix("!=") {
            (Comparison::NotEqual, value)
        } else {
            (
                Comparison::Equal,
                rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?,
            )
        };
        Some(Self {
            path: path.to_owned(),
            comparison,
            value: unescape(value)?,
        })
    }
}

fn field_of<'a>(object: &'a Stored, path: &str) -> &'a str {
    match path {
        "metadata.name" => &object.name,
        "metadata.namespace" => &object.namespace,
        other => object
            .fields
            .iter()
            .find(|(known, _)| known == other)
            .map_or("", |(_, value)| value),
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\\' if !escaped => escaped = true,
            b',' if !escaped => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => escaped = false,
        }
    }
    terms.push(&text[start..]);
    terms
}

fn unescape(value: &str) -> Option<String> {
    let (mut plain, mut chars) = (String::with_capacity(value.len()), value.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.push(chars.next().filter(|next| matches!(next, '\\' | ',' | '='))?),
            '=' | ',' => return None,
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, expected: bool) {
        let object =
            json!({ "metadata": { "name": "a", "namespace": "web" }, "spec": { "nodeName": "n=1,x" } });
        let object = Stored::new(object.as_object().unwrap().clone(), 1, &["spec.nodeName".into()]);
        assert_eq!(
            FieldSelector::parse(selector).unwrap().matches(&object),
            expected,
            "{selector}"
        );
    }

    #[test]
    fn fields_are_compared_and_escapes_understood() {
        check("", true);
        check("metadata.name=a", true);
        check("metadata.name==a,metadata.namespace=web", true);
        check("metadata.name!=a", false);
        check("spec.nodeName=n\\=1\\,x", true);
        check("spec.nodeName=", false);
    }

    #[test]
    fn invalid_selectors_are_refused_with_upstreams_messages() {
        assert_eq!(
            FieldSelector::parse("xx").unwrap_err(),
            "invalid selector: 'xx'; can't understand 'xx'"
        );
        assert!(FieldSelector::parse("a=b=c").is_err());
        assert!(FieldSelector::parse("a=b\\c").is_err());
    }
}
