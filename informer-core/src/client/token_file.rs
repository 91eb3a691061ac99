//! A bearer token that is read from a file, and read again when it changes.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderValue};
use kube::config::AuthInfo;
use tokio::time::Instant;

use super::ClientError;
use crate::sync::Mutex;

/// How long a token is used before the file is read again, as in client-go.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// The token in a file. A clone shares it.
///
/// The file is read again every minute, and after a response with 401: a token that was rotated is used from
/// the next request on. kube reads it every 50 s only, and refuses one that ends with a line break. If the
/// file cannot be read, the last token stays in use, because some programs get a file only at their start.
#[derive(Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    token: HeaderValue,
    /// `None` if the server did not accept the token.
    fresh_until: Option<Instant>,
}

impl TokenFile {
    /// Takes the token file out of a configuration, if it is where the credentials come from.
    ///
    /// # Errors
    /// If the file has no token now.
    pub(super) fn take(auth: &mut AuthInfo) -> Result<Option<Self>, ClientError> {
        let has_others = auth.token.is_some()
            || auth.auth_provider.is_some()
            || (auth.username.is_some() && auth.password.is_some());
        // kube's order.
        let Some(path) = auth.token_file.take_if(|_| !has_others).map(PathBuf::from) else {
            return Ok(None);
        };
        let token = read(&path).map_err(|why| ClientError::Build {
            why: format!("cannot use the token file {}: {why}", path.display()),
        })?;
        let state = State {
            token,
            fresh_until: Some(Instant::now() + READ_AGAIN_AFTER),
        };
        Ok(Some(Self {
            path,
            state: Arc::new(Mutex::new(state)),
        }))
    }

    /// Adds the token to a request.
    pub(super) fn sign<B>(&self, mut request: http::Request<B>) -> http::Request<B> {
        request.headers_mut().insert(AUTHORIZATION, self.token());
        request
    }

    /// The server did not accept the token.
    pub(super) fn refused(&self) {
        self.state.lock().fresh_until = None;
    }

    fn token(&self) -> HeaderValue {
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.fresh_until.is_none_or(|until| until <= now) {
            match read(&self.path) {
                Ok(token) => state.token = token,
                Err(error) => {
                    let file = self.path.display();
                    tracing::warn!(%file, %error, "could not read the token file; the last token is used");
                }
            }
            state.fresh_until = Some(now + READ_AGAIN_AFTER);
        }
        state.token.clone()
    }
}

impl fmt::Display for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the token file {}", self.path.display())
    }
}

/// Reads a token as the value of a header. The error does not quote the file.
fn read(path: &PathBuf) -> Result<HeaderValue, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let token = text.trim();
    if token.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut header = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| "it contains a character that is invalid in a header".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before the old token expires, the new one is in the file.
    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_again_every_minute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one\n").unwrap();
        let mut auth = AuthInfo {
            token_file: Some(path.display().to_string()),
            ..AuthInfo::default()
        };
        let file = TokenFile::take(&mut auth).unwrap().unwrap();
        assert!(auth.token_file.is_none(), "kube must not read it as well");
        let sent = || {
            let request = file.sign(http::Request::new(()));
            request.headers()[AUTHORIZATION].to_str().unwrap().to_owned()
        };
        std::fs::write(&path, "two").unwrap();
        tokio::time::advance(READ_AGAIN_AFTER - Duration::from_millis(1)).await;
        assert_eq!(sent(), "Bearer one");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(sent(), "Bearer two");
        std::fs::write(&path, "").unwrap();
        tokio::time::advance(READ_AGAIN_AFTER).await;
        assert_eq!(sent(), "Bearer two", "a file that is being written");
    }

    #[test]
    fn other_credentials_come_first_as_in_kube() {
        let mut auth = AuthInfo {
            token_file: Some("/does/not/exist".to_owned()),
            token: Some("inline".to_owned().into()),
            ..AuthInfo::default()
        };
        assert!(TokenFile::take(&mut auth).unwrap().is_none());
        assert!(auth.token_file.is_some());
    }
}
