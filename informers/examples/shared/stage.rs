//! Where the story of an example is told: an embedded API server, and what the program says to it.

use std::sync::Arc;
use std::time::Duration;

use informer_testing::ApiServer;
use tokio::sync::mpsc;

use super::Failure;

/// Past this the program will not say what the story waits for. It is no measure of how long that takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many lines may wait for a story that looks at none.
const LINES: usize = 1024;

/// The embedded server, as its story sees it.
pub(crate) struct Stage {
    pub(crate) server: Arc<ApiServer>,
    lines: mpsc::Receiver<String>,
}

/// The program's side of a stage: tells the story what was written.
pub(super) struct Audience(mpsc::Sender<String>);

impl Stage {
    /// The same seed makes the same server.
    pub(super) fn new(seed: u64) -> (Self, Audience) {
        let server = Arc::new(ApiServer::builder().seed(seed).start());
        let (sender, lines) = mpsc::channel(LINES);
        (Self { server, lines }, Audience(sender))
    }

    /// Waits until the program has written a line that holds all of this, so that each step of a story is seen before the next. A
    /// line is looked at once.
    pub(crate) async fn until(&mut self, parts: &[&str]) -> Result<(), Failure> {
        let seen = async {
            while let Some(line) = self.lines.recv().await {
                if parts.iter().all(|part| line.contains(part)) {
                    return true;
                }
            }
            false
        };
        match tokio::time::timeout(PATIENCE, seen).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("the program ended before it said {parts:?}").into()),
            Err(_) => Err(format!("the program did not say {parts:?} within {PATIENCE:?}").into()),
        }
    }
}

impl Audience {
    pub(super) fn tell(&self, line: &str) {
        // A story that does not listen misses nothing.
        let _told = self.0.try_send(line.to_owned());
    }
}
