//! A request to a reflector, from outside, to read the whole state again.

use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::Notify;

/// A request for a relist. It is kept until a watch is open, which it ends. A list that begins earlier
/// fulfils it.
#[derive(Clone, Debug, Default)]
pub(crate) enum RelistRequest {
    /// Nothing sends requests.
    #[default]
    Disabled,
    Enabled(Arc<Notify>),
}

impl RelistRequest {
    pub(crate) fn enabled() -> Self {
        Self::Enabled(Arc::default())
    }

    /// Requests a relist. A second request before the list begins has no effect.
    pub(crate) fn send(&self) {
        if let Self::Enabled(request) = self {
            request.notify_one();
        }
    }

    /// Waits for a request.
    pub(super) async fn received(&self) {
        match self {
            Self::Disabled => std::future::pending().await,
            Self::Enabled(request) => request.notified().await,
        }
    }

    /// Discards a pending request: a list begins.
    pub(super) fn clear(&self) {
        let _ = self.received().now_or_never();
    }
}
