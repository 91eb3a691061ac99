//! What a user adds to every list and watch: selectors and extra query parameters.

use super::request::Query;

/// Restricts what is listed and watched. Applied to LIST and WATCH alike, so that both see the same objects.
///
/// ```
/// use informer_core::source::ListOptions;
///
/// let options = ListOptions::default().labels("tier=frontend").fields("spec.nodeName=node-1");
/// assert!(options.validate().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The label selector, such as `tier=frontend,env in (prod, stage)`. `None` or empty selects everything.
    pub labels: Option<String>,
    /// The field selector, such as `spec.nodeName=node-1`. `None` or empty selects everything.
    pub fields: Option<String>,
    /// Further query parameters, such as `shardSelector`, sent in this order.
    pub parameters: Vec<(String, String)>,
}

/// The parameters this library decides about itself.
const OWNED: [&str; 10] = [
    "watch",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "timeoutSeconds",
    "labelSelector",
    "fieldSelector",
];

impl ListOptions {
    /// Sets the label selector, in place of an earlier one.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Sets the field selector, in place of an earlier one.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Finds mistakes that no server would accept. A selector that passes may still be refused by the server, which
    /// alone knows the fields a kind can be selected by.
    pub fn validate(&self) -> Result<(), ListOptionsError> {
        if let Some(labels) = &self.labels {
            check_selector(SelectorKind::Label, labels)?;
        }
        if let Some(fields) = &self.fields {
            check_selector(SelectorKind::Field, fields)?;
        }
        for (name, _) in &self.parameters {
            if name.trim().is_empty() {
                return Err(ListOptionsError::EmptyParameter);
            }
            if OWNED.contains(&name.as_str()) {
                return Err(ListOptionsError::OwnedParameter { name: name.clone() });
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, query: &mut Query) {
        for (name, selector) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields)] {
            if let Some(selector) = selector
                .as_deref()
                .map(str::trim)
                .filter(|selector| !selector.is_empty())
            {
                query.pair(name, selector);
            }
        }
        for (name, value) in &self.parameters {
            query.pair(name, value);
        }
    }
}

/// Why [`ListOptions`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListOptionsError {
    /// A parameter without a name.
    #[error("a query parameter has an empty name")]
    EmptyParameter,
    /// A parameter the library sets itself.
    #[error(
        "the query parameter {name:?} is set by the library itself; selectors are set with `labels` and `fields`"
    )]
    OwnedParameter {
        /// Its name.
        name: String,
    },
    /// A selector that cannot be parsed by any server.
    #[error("the {kind} selector {selector:?} is broken: {why}")]
    BrokenSelector {
        /// Which selector.
        kind: SelectorKind,
        /// Its text.
        selector: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Which of the two selectors an error speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectorKind {
    /// The label selector.
    Label,
    /// The field selector.
    Field,
}

impl std::fmt::Display for SelectorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Label => "label",
            Self::Field => "field",
        })
    }
}

fn check_selector(kind: SelectorKind, selector: &str) -> Result<(), ListOptionsError> {
    let verdict = match kind {
        _ if selector.trim().is_empty() => Ok(()),
        _ if selector.chars().any(char::is_control) => Err("it contains a control character"),
        SelectorKind::Label => check_labels(selector),
        SelectorKind::Field => check_fields(selector),
    };
    verdict.map_err(|why| ListOptionsError::BrokenSelector {
        kind,
        selector: selector.to_owned(),
        why,
    })
}

fn check_labels(selector: &str) -> Result<(), &'static str> {
    let mut requirements = vec![String::new()];
    let mut in_set = false;
    for character in selector.chars() {
        match character {
            '(' if in_set => return Err("parentheses cannot be nested"),
            '(' => in_set = true,
            ')' if !in_set => return Err("a closing parenthesis has no opening one"),
            ')' => in_set = false,
            ',' if !in_set => {
                requirements.push(String::new());
                continue;
            }
            _ => {}
        }
        requirements
            .last_mut()
            .expect("there is always one requirement")
            .push(character);
    }
    if in_set {
        return Err("an opening parenthesis has no closing one");
    }
    requirements
        .iter()
        .try_for_each(|requirement| check_label_requirement(requirement.trim()))
}

fn check_label_requirement(requirement: &str) -> Result<(), &'static str> {
    if requirement.is_empty() {
        return Err("a requirement is empty");
    }
    let absent = requirement.strip_prefix('!').map(str::trim_start);
    let rest = absent.unwrap_or(requirement);
    let key_end = rest
        .find(|c: char| c.is_whitespace() || "=!<>()".contains(c))
        .unwrap_or(rest.len());
    let (key, operator) = (&rest[..key_end], rest[key_end..].trim());
    if key.is_empty() {
        return Err("a requirement has no key");
    }
    if operator.is_empty() {
        return Ok(());
    }
    if absent.is_some() {
        return Err("a requirement that begins with `!` takes no value");
    }
    let in_set = ["in", "notin"].iter().any(|word| {
        operator
            .strip_prefix(word)
            .is_some_and(|set| set.trim_start().starts_with('(') && set.ends_with(')'))
    });
    let compares = ["==", "!=", "=", "<", ">"]
        .iter()
        .any(|sign| operator.starts_with(sign))
        && !operator.contains('(');
    if in_set || compares {
        Ok(())
    } else {
        Err("a requirement has no operator the server knows")
    }
}

fn check_fields(selector: &str) -> Result<(), &'static str> {
    // A comma in a value is written `\,`, so an odd number of backslashes before it hides it.
    let mut requirements = vec![String::new()];
    let mut escaped = false;
    for character in selector.chars() {
        match character {
            ',' if !escaped => requirements.push(String::new()),
            _ => requirements
                .last_mut()
                .expect("there is always one requirement")
                .push(character),
        }
        escaped = character == '\\' && !escaped;
    }
    for requirement in &requirements {
        let Some(sign) = requirement.find('=') else {
            return Err("a requirement has no `=`");
        };
        if requirement[..sign].trim_end_matches('!').trim().is_empty() {
            return Err("a requirement has no field");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: ListOptions, expected: Result<(), &str>) {
        let outcome = options.validate().map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(outcome, Ok(()), "{options:?}"),
            Err(part) => {
                let message = outcome.expect_err("these options are broken");
                assert!(message.contains(part), "{options:?}: {message}");
            }
        }
    }

    #[test]
    fn sound_label_selectors_pass() {
        for selector in [
            "",
            "a",
            "!a",
            "a=b",
            "a==b",
            "a!=b",
            "a=",
            "a in (b, c),d notin (e)",
            "example.com/x = y , !z",
            "generation > 5",
        ] {
            check(ListOptions::default().labels(selector), Ok(()));
        }
    }

    #[test]
    fn broken_label_selectors_are_refused_with_the_reason() {
        for (selector, why) in [
            ("a=b,,c=d", "is empty"),
            (",a", "is empty"),
            ("a,", "is empty"),
            ("=b", "no key"),
            ("!", "no key"),
            ("!a=b", "takes no value"),
            ("a in (b", "no closing"),
            ("a in b)", "no opening"),
            ("a in ((b))", "nested"),
            ("a b", "no operator"),
            ("a in b", "no operator"),
            ("a=\nb", "control character"),
        ] {
            check(ListOptions::default().labels(selector), Err(why));
        }
    }

    #[test]
    fn field_selectors_need_a_field_and_a_sign() {
        check(
            ListOptions::default().fields("spec.nodeName=node-1,metadata.name!=x"),
            Ok(()),
        );
        check(ListOptions::default().fields(r"a=b\,c"), Ok(()));
        check(ListOptions::default().fields("spec.nodeName"), Err("no `=`"));
        check(ListOptions::default().fields("a=b,"), Err("no `=`"));
        check(ListOptions::default().fields("!=b"), Err("no field"));
    }

    #[test]
    fn parameters_the_library_owns_are_refused() {
        check(ListOptions::default().parameter("shardSelector", "x"), Ok(()));
        check(ListOptions::default().parameter("", "x"), Err("empty name"));
        for name in OWNED {
            check(ListOptions::default().parameter(name, "x"), Err(name));
        }
    }
}
