//! Where a client's configuration comes from, for errors: the file to look at.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tower::BoxError;

/// Where a client's configuration comes from, and which server it is for.
///
/// It is added to the errors of connections and to responses with 401, so that a message can name them.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The server: `https://10.0.0.1:6443`.
    server: Arc<str>,
    /// The configuration, as a phrase: `kubeconfig ~/.kube/config`.
    configured_by: Option<Arc<str>>,
    /// The file of the credentials, if it is another one.
    credentials: Option<Arc<str>>,
}

impl Origin {
    pub(crate) fn new(server: &http::Uri) -> Self {
        let scheme = server.scheme_str().unwrap_or("https");
        // Without the path, and without a password before the host.
        let (host, port) = (server.host().unwrap_or_default(), server.port());
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Self {
            server: format!("{scheme}://{host}{port}").into(),
            configured_by: None,
            credentials: None,
        }
    }

    /// Sets the configuration, as a phrase.
    pub(crate) fn configured_by(mut self, phrase: &str) -> Self {
        self.configured_by = Some(phrase.into());
        self
    }

    /// Sets the file of the credentials, as a phrase.
    pub(crate) fn credentials_of(mut self, phrase: &str) -> Self {
        self.credentials = Some(phrase.into());
        self
    }

    /// Everything that is known, to be appended to an error.
    pub(crate) fn in_brackets(&self) -> String {
        let server = &self.server;
        match &self.configured_by {
            Some(file) => format!(" (configured by {file}, for {server})"),
            None => format!(" (for {server})"),
        }
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
        Some(origin) => {
            let file = origin.credentials.as_ref().or(origin.configured_by.as_ref());
            let of = file.map(|file| format!(" of {file}")).unwrap_or_default();
            format!("the token or client certificate{of} for {}", origin.server)
        }
        None => "the token or client certificate".to_owned(),
    };
    format!("{whose} is missing, has expired or was revoked; renew it")
}

/// The phrase that names the configuration, or nothing.
fn of_file(origin: Option<&Origin>) -> String {
    let file = origin.and_then(|origin| origin.configured_by.as_ref());
    file.map(|file| format!(" of {file}")).unwrap_or_default()
}

/// Adds what to do to the text of a connection that broke, if the server refused the client's certificate: in
/// TLS 1.3 it does so after the handshake.
pub(super) fn advise_broken(text: String, origin: Option<&Origin>) -> String {
    match text.to_ascii_lowercase().contains(ALERT) {
        true => format!("{text}; {}", refused_handshake(origin)),
        false => text,
    }
}

/// What rustls says of a refusal.
const ALERT: &str = "fatal alert";

fn refused_handshake(origin: Option<&Origin>) -> String {
    let of = of_file(origin);
    format!("the server refused the TLS handshake; check the client certificate{of}")
}

/// Adds what to do to the text of a connection that cannot be established.
pub(super) fn advise_connect(text: String, origin: Option<&Origin>) -> String {
    let of = of_file(origin);
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
    } else if has(&[ALERT]) {
        refused_handshake(origin)
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

    /// Checks that the page of errors has the text, with `..` for the file.
    fn documented(advice: &str) {
        const PAGE: &str = include_str!("../../../docs/operating/states.md");
        let text = advice.replace("kubeconfig /etc/k/config", "..");
        assert!(
            PAGE.contains(&format!("``{text}``")),
            "the page has no ``{text}``"
        );
    }

    #[test]
    fn every_failure_to_connect_names_the_file_and_says_what_to_do() {
        let origin = Origin::new(&"https://a:1".parse().unwrap()).configured_by("kubeconfig /etc/k/config");
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
            documented(&advised[text.len() + 2..]);
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
        documented("the server's certificate has expired; renew it, or correct the clock of this machine");
        let other = advise_connect("timed out".to_owned(), Some(&origin));
        assert_eq!(other, "timed out");
    }
}
