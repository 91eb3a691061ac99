//! How somebody outside asks a reflector to read the whole state again.

use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::Notify;

/// A request for a new list. It is kept until a watch is open to be ended by it; a list that begins before makes it void.
#[derive(Clone, Debug, Default)]
pub(crate) enum Relist {
    /// Nobody will ask.
    #[default]
    Never,
    /// Somebody may.
    OnRequest(Arc<Notify>),
}

impl Relist {
    pub(crate) fn on_request() -> Self {
        Self::OnRequest(Arc::default())
    }

    /// Asks for a new list; asking again before it has begun changes nothing.
    pub(crate) fn ask(&self) {
        if let Self::OnRequest(asked) = self {
            asked.notify_one();
        }
    }

    /// Waits until a new list is asked for.
    pub(super) async fn asked(&self) {
        match self {
            Self::Never => std::future::pending().await,
            Self::OnRequest(asked) => asked.notified().await,
        }
    }

    /// A list begins, so whoever asked is answered.
    pub(super) fn forget(&self) {
        let _ = self.asked().now_or_never();
    }
}
