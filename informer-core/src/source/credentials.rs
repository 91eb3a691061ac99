//! Errors of credentials, described without secrets.

use std::error::Error as StdError;
use std::fmt;

use kube::client::AuthError;
use tower::BoxError;

use super::answer::causes;

/// Why a request has no credentials.
///
/// kube's own error does not name a credential plugin that cannot be started, and contains the output of one
/// that fails, which may be a token.
pub(crate) struct CredentialError {
    why: String,
}

crate::__debug_is_the_message!(CredentialError);

impl CredentialError {
    /// Replaces an error of kube's credentials; other errors pass. `plugin` is the command of the client's
    /// configuration.
    pub(crate) fn replace(error: BoxError, plugin: Option<&str>) -> BoxError {
        match in_chain(&*error, plugin) {
            Some(why) => Box::new(Self { why }),
            None => error,
        }
    }
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no credentials: {}", self.why)
    }
}

impl StdError for CredentialError {}

/// Why credentials are missing, if that is what an error is about.
pub(super) fn missing(error: &(dyn StdError + 'static)) -> Option<String> {
    let named = causes(error).find_map(|cause| cause.downcast_ref::<CredentialError>());
    match named {
        Some(named) => Some(named.to_string()),
        None => in_chain(error, None).map(|why| CredentialError { why }.to_string()),
    }
}

fn in_chain(error: &(dyn StdError + 'static), plugin: Option<&str>) -> Option<String> {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<AuthError>())?;
    Some(describe_auth(error, plugin))
}

/// Describes why credentials are missing. Leaves out the output, arguments and environment of a plugin: they
/// may contain a token.
pub(crate) fn describe_auth(error: &AuthError, plugin: Option<&str>) -> String {
    let plugin = match plugin {
        Some(name) => format!("the credential plugin {name:?}"),
        None => "the credential plugin".to_owned(),
    };
    match error {
        AuthError::AuthExecStart(io) if io.kind() == std::io::ErrorKind::NotFound => {
            format!("{plugin} was not found; install it, or add its directory to PATH")
        }
        AuthError::AuthExecStart(io) => format!("cannot start {plugin}: {io}"),
        AuthError::AuthExecRun { out, .. } => format!("{plugin} failed with {}", out.status),
        AuthError::AuthExecParse(_) | AuthError::ParseTokenKey(_) => {
            format!("cannot parse the output of {plugin}")
        }
        AuthError::AuthExec(_) => format!("cannot use {plugin}"),
        AuthError::ExecPluginFailed => format!("the output of {plugin} has no status"),
        other => other.to_string(),
    }
}
