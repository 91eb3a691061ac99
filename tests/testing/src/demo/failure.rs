//! Errors of a program, and the text that is printed for them.

use std::error::Error;
use std::fmt;

/// Any error.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The result of a program.
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// The program was ended while it waited for its caches.
#[derive(Debug)]
pub(super) struct Ended;

impl Error for Ended {}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ended before the caches were complete")
    }
}

/// The error with all its causes. A cause that its error quotes already is not repeated.
pub(super) fn with_causes(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

/// What a user can do about an error that a cluster caused.
pub(super) fn hint(name: &str, cluster: &str, text: &str) -> String {
    let rights = match text.to_lowercase().contains("forbidden") {
        true => {
            "Grant your user the verbs \"list\" and \"watch\" on this resource by a ClusterRole, \
             or limit the program to a namespace in which it has them: --namespace NS\n"
        }
        false => "",
    };
    format!(
        "The cluster is {cluster}.\n{rights}\
         To run this without a cluster: cargo run --example {name} -- --embedded"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    #[test]
    fn every_cause_is_printed_once() {
        let inner = Layer("refused", None);
        let middle = Layer("no connection: refused", Some(Box::new(inner)));
        let failure: Failure = Box::new(Layer("cannot list pods", Some(Box::new(middle))));
        assert_eq!(with_causes(&failure), "cannot list pods: no connection: refused");
    }

    #[test]
    fn a_hint_names_the_cluster_and_the_missing_rights() {
        let hint = |text| hint("quickstart", "http://host", text);
        assert!(hint("pods: Forbidden").contains("\"list\" and \"watch\""));
        assert!(!hint("pods: refused").contains("\"list\""));
        assert!(hint("").contains("http://host") && hint("").contains("quickstart -- --embedded"));
    }
}
