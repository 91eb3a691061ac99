//! The end of an informer that its token stopped before it was started.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// Lets a wait end an informer whose token is cancelled before it was started: no task of its own runs that
/// could.
#[derive(Clone)]
pub(crate) struct Unstarted {
    token: CancellationToken,
    end: Arc<dyn Fn() + Send + Sync>,
}

impl Unstarted {
    /// `end` ends the informer if it was never started, and does nothing if it was.
    pub(crate) fn new(token: CancellationToken, end: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            token,
            end: Arc::new(end),
        }
    }

    /// Nothing to end, for listeners without an informer.
    pub(crate) fn never() -> Self {
        Self::new(CancellationToken::new(), || {})
    }

    /// Ends the informer when its token is cancelled. Never returns: whatever waits beside this learns of the
    /// end itself.
    pub(crate) async fn watch(self) -> Infallible {
        self.token.cancelled().await;
        (self.end)();
        std::future::pending().await
    }
}

impl fmt::Debug for Unstarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unstarted").field(&self.token).finish()
    }
}
