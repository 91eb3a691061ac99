//! Steps that restore an older state of the server, and wait until every informer has noticed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_testing::{Fault, Rule, Verb};

use super::World;
use super::settle::BOUND;

/// A rewind must be noticed within this time while other faults last; then they are ended.
const REWIND_TIMEOUT: Duration = Duration::from_secs(180);

impl World<'_> {
    /// Restores an older state and refuses watches from lost revisions, as after a restore that marks them as
    /// compacted. Nothing is written before every informer has noticed, because lost and new versions of the
    /// same number cannot be distinguished.
    pub(super) async fn rewind(&mut self, back: u64) {
        let Some(revision) = self.begin_rewind(back) else {
            return;
        };
        let from_the_future = move |request: &informer_testing::Request| {
            let requested = request.resource_version().parse().unwrap_or(0);
            requested > revision && !request.is_watch_list()
        };
        let faults = self.server.faults();
        let mut rules = vec![
            faults.add(Rule::new(Fault::expired()).on(Verb::Watch).when(from_the_future)),
            faults.add(Rule::new(Fault::ExpireToken)),
        ];
        // Requests that were in flight during the rewind must have ended.
        let mut waited = Duration::ZERO;
        let step = Duration::from_secs(10);
        while waited < Duration::from_secs(120) || !self.is_not_past(revision) {
            if waited == REWIND_TIMEOUT {
                faults.clear();
                rules = vec![faults.add(Rule::new(Fault::expired()).on(Verb::Watch).when(from_the_future))];
            }
            if waited > REWIND_TIMEOUT + BOUND {
                self.verdict
                    .report("I12", format!("the rewind to {revision} was not noticed"));
                return;
            }
            self.advance(step).await;
            waited += step;
            if self.verdict.first().is_some() {
                return;
            }
        }
        rules.into_iter().for_each(|rule| faults.remove(rule));
        self.settle_rewind();
    }

    /// Goes back in the server's history. Returns the revision, or `None` if the history does not reach that
    /// far.
    pub(super) fn begin_rewind(&mut self, back: u64) -> Option<u64> {
        let revision = self.server.revision().saturating_sub(back);
        self.server.rewind(revision).ok()?;
        self.doubted.store(true, Ordering::Relaxed);
        let revision = self.server.revision();
        self.history().rewind(revision);
        for subject in &mut self.subjects {
            subject.rewinding();
        }
        Some(revision)
    }

    /// Every informer has seen nothing that the server does not have: from now on all of it is certain.
    pub(super) fn settle_rewind(&mut self) {
        for subject in &mut self.subjects {
            if subject.is_running() {
                subject.rewound();
            }
        }
    }

    pub(super) fn is_not_past(&self, revision: u64) -> bool {
        let mut running = self.subjects.iter().filter(|subject| subject.is_running());
        running.all(|subject| subject.is_not_past(revision))
    }
}
