//! Options of every list and watch: selectors and further query parameters.

use super::request::Query;
use crate::selector::{ParseSelectorError, Selector};

/// Restricts the objects that are listed and watched. Lists and watches use the same options, so both see the
/// same objects.
///
/// ```
/// use informer_core::source::ListOptions;
///
/// let options = ListOptions::default().labels("tier=frontend").fields("spec.nodeName=node-1");
/// assert!(options.validate().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The label selector, such as `tier=frontend,env in (prod, stage)`: the text of a [`Selector`]. `None`
    /// or empty selects everything.
    pub labels: Option<String>,
    /// The field selector, such as `spec.nodeName=node-1`. `None` or empty selects everything.
    pub fields: Option<String>,
    /// Further query parameters, such as `shardSelector`, sent in this order.
    pub parameters: Vec<(String, String)>,
}

/// The query parameters that the library sets.
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
    /// Sets the label selector, and replaces an earlier one.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Sets the field selector, and replaces an earlier one.
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

    /// Checks for errors that every server would reject. The server may still reject a valid selector: only
    /// the server knows the fields by which a kind can be selected.
    pub fn validate(&self) -> Result<(), ListOptionsError> {
        if let Some(labels) = &self.labels {
            labels.parse::<Selector>()?;
        }
        if let Some(fields) = self.fields.as_deref().filter(|fields| !fields.trim().is_empty()) {
            check_fields(fields).map_err(|why| ListOptionsError::FieldSelector {
                selector: fields.to_owned(),
                why,
            })?;
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

/// Why [`ListOptions`] are invalid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListOptionsError {
    /// A query parameter has no name.
    #[error("a query parameter has an empty name")]
    EmptyParameter,
    /// A query parameter is one that the library sets.
    #[error(
        "cannot set query parameter {name:?}: the library sets it; use `labels` and `fields` for selectors"
    )]
    OwnedParameter {
        /// Its name.
        name: String,
    },
    /// The label selector cannot be parsed.
    #[error(transparent)]
    LabelSelector(#[from] ParseSelectorError),
    /// The field selector cannot be parsed.
    #[error("invalid field selector {selector:?}: {why}")]
    FieldSelector {
        /// Its text.
        selector: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

crate::__debug_is_the_message!(ListOptionsError);

fn check_fields(selector: &str) -> Result<(), &'static str> {
    if selector.chars().any(char::is_control) {
        return Err("it contains a control character");
    }
    // A comma in a value is written `\,`: an odd number of backslashes before a comma escapes it.
    let mut requirements = vec![String::new()];
    let mut escaped = false;
    for character in selector.chars() {
        match character {
            ',' if !escaped => requirements.push(String::new()),
            _ => requirements
                .last_mut()
                .expect("the list of requirements is never empty")
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
                let message = outcome.expect_err("the options are invalid");
                assert!(message.contains(part), "{options:?}: {message}");
            }
        }
    }

    /// The parser has its own tests; this one shows that it is called.
    #[test]
    fn an_invalid_label_selector_is_rejected_with_its_position() {
        check(ListOptions::default().labels(""), Ok(()));
        check(ListOptions::default().labels(" "), Ok(()));
        check(
            ListOptions::default().labels("a in (b, c),example.com/d notin (e), n > 5"),
            Ok(()),
        );
        let broken = ListOptions::default().labels("a=b,,c=d").validate();
        let Err(ListOptionsError::LabelSelector(error)) = broken else {
            panic!("{broken:?}");
        };
        assert_eq!((error.offset(), error.found()), (4, Some(',')));
        let nothing = ListOptions::default().labels(Selector::nothing().to_string());
        check(nothing, Err("expected a key"));
    }

    #[test]
    fn field_selectors_need_a_field_and_an_operator() {
        check(
            ListOptions::default().fields("spec.nodeName=node-1,metadata.name!=x"),
            Ok(()),
        );
        check(ListOptions::default().fields(r"a=b\,c"), Ok(()));
        // An escaped backslash does not escape the comma after it.
        check(ListOptions::default().fields(r"a=b\\,c"), Err("no `=`"));
        check(ListOptions::default().fields(r"a=b\\,c=d"), Ok(()));
        check(ListOptions::default().fields(r"a=b\\\,c"), Ok(()));
        check(ListOptions::default().fields("spec.nodeName"), Err("no `=`"));
        check(ListOptions::default().fields("a=b,"), Err("no `=`"));
        check(ListOptions::default().fields("!=b"), Err("no field"));
        check(ListOptions::default().fields("a=\nb"), Err("control character"));
        check(ListOptions::default().fields(" "), Ok(()));
    }

    #[test]
    fn parameters_of_the_library_are_rejected() {
        check(ListOptions::default().parameter("shardSelector", "x"), Ok(()));
        check(ListOptions::default().parameter("", "x"), Err("empty name"));
        for name in OWNED {
            check(ListOptions::default().parameter(name, "x"), Err(name));
        }
    }
}
