//! Where a client's configuration comes from, for errors: the file to look at.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tower::BoxError;

/// Where a client's configuration comes from, as a phrase: `kubeconfig ~/.kube/config`.
///
/// It is added to the errors of connections and to responses with 401, so that a message can name it.
#[derive(Clone, Debug)]
pub(crate) struct Origin(Arc<str>);

impl Origin {
    pub(crate) fn new(phrase: &str) -> Self {
        Self(phrase.into())
    }

    /// Adds the origin to an error. Its text stays the same.
    pub(crate) fn attach(&self, error: BoxError) -> BoxError {
        Box::new(WithOrigin {
            origin: self.clone(),
            error,
        })
    }

    /// The origin in a chain of errors.
    pub(super) fn of<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e Self> {
        let found = super::answer::causes(error).find_map(|cause| cause.downcast_ref::<WithOrigin>());
        found.map(|error| &error.origin)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An error with the origin of the client's configuration.
struct WithOrigin {
    origin: Origin,
    error: BoxError,
}

crate::__debug_is_the_message!(WithOrigin);

impl fmt::Display for WithOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for WithOrigin {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.error)
    }
}

/// What to do about credentials that the server does not accept (401).
pub(super) fn unauthorized(origin: Option<&Origin>) -> String {
    let whose = match origin {
        Some(origin) => format!("the token or client certificate of {origin}"),
        None => "the token or client certificate".to_owned(),
    };
    format!("{whose} is missing, has expired or was revoked; renew it")
}

/// Adds what to do to the text of a connection that cannot be established.
pub(super) fn advise_connect(text: String, origin: Option<&Origin>) -> String {
    let of = match origin {
        Some(origin) => format!(" of {origin}"),
        None => String::new(),
    };
    let lower = text.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    // An authority of another cluster that has the name of the right one is found by the signature.
    let foreign = [
        "unknownissuer",
        "unknown issuer",
        "self-signed",
        "self signed",
        "badsignature",
    ];
    let advice = if has(&foreign) {
        format!("the server's certificate is not signed by the certificate authority{of}; correct it")
    } else if has(&["notvalidforname", "not valid for name"]) {
        format!("the server's certificate is for another name; correct `server` or `tls-server-name`{of}")
    } else if has(&["certificate expired", "invalid peer certificate: expired"]) {
        "the server's certificate has expired; renew it, or correct the clock of this machine".to_owned()
    } else if has(&["fatal alert"]) {
        format!("the server refused the TLS handshake; check the client certificate{of}")
    } else if has(&["corrupt message", "wrong version number"]) {
        format!("the server does not speak TLS; correct the scheme or the port of `server`{of}")
    } else if has(&["failed to lookup", "dns error", "name or service not known"]) {
        format!("the name does not resolve; correct `server`{of}, or the DNS of this machine")
    } else if has(&["connection refused"]) {
        format!("no server listens there; start it, or correct `server`{of}")
    } else {
        return text;
    };
    format!("{text}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_to_connect_names_the_file_and_says_what_to_do() {
        let origin = Origin::new("kubeconfig /etc/k/config");
        let cases = [
            (
                "a:1 (HTTP/2): invalid peer certificate: UnknownIssuer",
                "is not signed by",
            ),
            (
                "a:1 (HTTP/2): invalid peer certificate: NotValidForName",
                "`tls-server-name`",
            ),
            (
                "a:1 (HTTP/2): received fatal alert: CertificateRequired",
                "the client certificate",
            ),
            (
                "a:1 (HTTP/2): received corrupt message of type InvalidContentType",
                "does not speak TLS",
            ),
            (
                "a:1 (HTTP/1.1): failed to lookup address information",
                "does not resolve",
            ),
            (
                "a:1 (HTTP/1.1): Connection refused (os error 111)",
                "no server listens there",
            ),
        ];
        for (text, advice) in cases {
            let advised = advise_connect(text.to_owned(), Some(&origin));
            assert!(advised.starts_with(&format!("{text}; ")), "{advised}");
            assert!(advised.contains(advice), "{advised}");
            assert!(advised.contains("kubeconfig /etc/k/config"), "{advised}");
            let without = advise_connect(text.to_owned(), None);
            assert!(
                without.contains(advice) && !without.contains("kubeconfig"),
                "{without}"
            );
        }
        let expired = advise_connect("invalid peer certificate: Expired".to_owned(), Some(&origin));
        assert!(
            expired.ends_with("renew it, or correct the clock of this machine"),
            "{expired}"
        );
        let other = advise_connect("timed out".to_owned(), Some(&origin));
        assert_eq!(other, "timed out");
    }
}
