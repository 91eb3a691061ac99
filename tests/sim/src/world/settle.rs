//! The end of a run: caches and handlers converge with the server, and stopped informers leave no task.

use std::time::Duration;

use super::World;
use crate::plan::{Write, WriteKind};
use crate::subject::Subject;

/// After the faults the caches must equal the server within this time: a silent watch is given up after ten
/// minutes and a margin, and one backoff follows.
pub(super) const BOUND: Duration = Duration::from_secs(900);

/// The most lists that are forced at the end because of unreadable objects.
const FORCED_LISTS: usize = 6;

impl World<'_> {
    /// Waits until caches and handlers agree with the server.
    pub(super) async fn converge(&mut self) {
        let mut waited = Duration::ZERO;
        loop {
            for subject in &mut self.subjects {
                subject.read_streams(usize::MAX).await;
            }
            if self.check().is_none() {
                return;
            }
            let revision = self.server.revision();
            let mut running = self.subjects.iter().filter(|subject| subject.is_running());
            let Some(difference) = running.find_map(|subject| subject.difference(revision)) else {
                return;
            };
            if waited > BOUND {
                self.verdict.report(
                    "I12",
                    format!("still different {BOUND:?} after the last fault: {difference}"),
                );
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            waited += Duration::from_secs(1);
        }
    }

    /// Ends all faults, and lists again what was unreadable.
    pub(super) async fn settle(&mut self) {
        self.server.faults().clear();
        self.converge().await;
        for _ in 0..FORCED_LISTS {
            let mut running = self.subjects.iter().filter(|subject| subject.is_running());
            if self.verdict.first().is_some() || running.all(Subject::is_certain) {
                break;
            }
            // A watch that ends before the oldest revision is followed by a list.
            self.server.close_watches();
            self.write(Write {
                place: 0,
                value: 1,
                kind: WriteKind::Recreate,
            });
            self.server.compact(self.server.revision());
            self.converge().await;
            self.advance(Duration::from_secs(90)).await;
            let _ = self.check();
        }
        self.converge().await;
        let subjects = self.subjects.iter().filter(|subject| subject.is_running());
        if let Some(what) = subjects.filter_map(Subject::marked_without_reason).next() {
            self.verdict.report("I16", what);
        }
    }

    /// Checks that stopped informers have no tasks.
    pub(super) async fn check_nothing_left(&mut self) {
        self.subjects.clear();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        if tasks > 0 {
            self.verdict
                .report("I12", format!("{tasks} tasks are still running"));
        }
    }
}
