//! The task of one scope: runs its reflector and its audit, and obeys orders.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::{AuditOptions, Auditor, IdentitiesOf, TypedScopeStore};
use crate::delta::Joined;
use crate::object::Object;
use crate::reflector::{Reflector, RelistRequest};
use crate::resource_version::ResourceVersion;
use crate::scope::Revision;
use crate::source::ListWatch;
use crate::status::{RelistReason, Reporter};
use crate::store::Indexer;
use crate::sync::{Latch, Offload};

/// What the task of a scope does. It obeys the last order only.
pub(super) enum Order<K> {
    /// Lists and watches. After another order it reads the whole state first, not older than what it saw.
    Run(Assignment<K>),
    /// Sends no request.
    Pause,
    /// Removes the scope and its objects, and ends.
    Leave(Revision),
}

impl<K> Clone for Order<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Run(assignment) => Self::Run(assignment.clone()),
            Self::Pause => Self::Pause,
            Self::Leave(revision) => Self::Leave(*revision),
        }
    }
}

/// The source of a scope, and the change that it came with.
pub(super) struct Assignment<K> {
    pub(super) source: Arc<dyn ListWatch<K>>,
    pub(super) revision: Revision,
}

impl<K> Clone for Assignment<K> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            revision: self.revision,
        }
    }
}

/// How a scope became part of the informer.
pub(super) enum Entry {
    /// The informer was built with it, and the store knows it.
    Built,
    /// It was added, and the store does not know it.
    Added {
        /// If the scope was removed before, its earlier task must end first: it removes the objects.
        after: Option<Latch>,
        newest_removed: Option<ResourceVersion>,
        joined: Joined,
    },
}

/// The task of one scope.
pub(super) struct Worker<K: Object> {
    pub(super) reflector: Reflector<K>,
    pub(super) audit: Option<Audit<K>>,
    pub(super) orders: watch::Receiver<Order<K>>,
    /// The change whose source was used last.
    pub(super) revision: Revision,
    pub(super) entry: Entry,
    #[allow(dead_code, reason = "its drop is the report")]
    pub(super) ended: Ended,
}

/// Reports the end of a task, however it ends.
pub(super) struct Ended(pub(super) Latch);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl<K: Object> Worker<K> {
    pub(super) async fn run(mut self, token: CancellationToken, tasks: TaskTracker) {
        if let Entry::Added { after, .. } = &self.entry {
            if let Some(earlier) = after {
                earlier.wait().await;
            }
            if self.reflector.join(self.revision).await.is_err() {
                return;
            }
        }
        let mut relist = None;
        loop {
            let order = self.orders.borrow_and_update().clone();
            match order {
                Order::Run(assignment) => {
                    if assignment.revision != self.revision {
                        self.revision = assignment.revision;
                        relist = Some(RelistReason::Reselected);
                        if self.reflector.reselect(self.revision).await.is_err() {
                            return;
                        }
                    }
                    if let Some(reason) = relist.take() {
                        self.reflector.relists(reason);
                    }
                    let _audit = self.audit(&assignment.source, &token, &tasks);
                    self.reflector.read_from(assignment.source);
                    tokio::select! {
                        biased;
                        changed = self.orders.changed() => if changed.is_err() {
                            // The informer was dropped; its token ends this task.
                            std::future::pending::<()>().await;
                        },
                        () = keep_reflecting(&mut self.reflector) => return,
                    }
                }
                Order::Pause => {
                    self.reflector.pause();
                    if self.orders.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                    relist = Some(RelistReason::Resumed);
                }
                Order::Leave(revision) => {
                    // The queue is closed only if the informer stops.
                    let _ = self.reflector.leave(revision).await;
                    return;
                }
            }
        }
    }

    /// Audits against this source until the guard is dropped.
    fn audit(
        &self,
        source: &Arc<dyn ListWatch<K>>,
        token: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Option<tokio_util::sync::DropGuard> {
        let audit = self.audit.as_ref()?;
        let until = token.child_token();
        let guard = until.clone().drop_guard();
        let audited = audit.of(source).run(audit.synced.clone());
        tasks.spawn(async move {
            until.run_until_cancelled(audited).await;
        });
        Some(guard)
    }
}

/// Runs a reflector and restarts it after a panic, for example in a custom source.
async fn keep_reflecting<K: Object>(reflector: &mut Reflector<K>) {
    while let Err(payload) = AssertUnwindSafe(reflector.run()).catch_unwind().await {
        // The panic hook has printed the message. It may quote an object, so it is not logged here.
        drop(payload);
        reflector.panicked().await;
    }
}

/// Makes the auditors of one scope.
pub(super) struct Audit<K> {
    pub(super) options: AuditOptions,
    pub(super) indexer: Indexer<K>,
    pub(super) reporter: Reporter,
    pub(super) relist: RelistRequest,
    pub(super) offload: Offload,
    pub(super) seed: Option<u64>,
    pub(super) synced: Latch,
}

impl<K: Object> Audit<K> {
    /// An auditor that reads from this source, and can request a relist from the reflector of its scope.
    pub(super) fn of(&self, source: &Arc<dyn ListWatch<K>>) -> Auditor {
        let relist = self.relist.clone();
        Auditor::new(
            self.options.clone(),
            Box::new(IdentitiesOf(source.clone())),
            Box::new(TypedScopeStore {
                indexer: self.indexer.clone(),
                scope: self.reporter.scope().clone(),
            }),
            self.reporter.clone(),
            Box::new(move || relist.send()),
        )
        .offload(self.offload)
        .seed(self.seed)
    }
}
