//! The way to being in sync, step by step, for somebody who waits and wants to see why.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::wait::{self, Awaited, Hope, WaitingFor};
use super::{Closing, Shared};

/// Reports how far a set of informers is from being in sync, each time that changes.
///
/// ```no_run
/// # async fn example(registry: informer_core::registry::Registry) {
/// let mut progress = registry.progress();
/// tokio::spawn(async move {
///     while let Some(report) = progress.next().await {
///         println!("{report}"); // 3 of 5 informers in sync; pods: listing, 1200 of 5000; ..
///     }
/// });
/// # }
/// ```
pub struct SyncProgress {
    shared: Weak<Shared>,
    /// Changes when an informer comes, is started, or all are stopped.
    changed: watch::Receiver<u64>,
    awaited: Vec<Awaited>,
    step: Step,
}

/// Which report comes next.
enum Step {
    First,
    /// One that differs from this.
    After(String),
    /// None: the last one was told.
    Over,
}

impl SyncProgress {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            changed: shared.changed.subscribe(),
            awaited: Vec::new(),
            step: Step::First,
        }
    }

    /// The next report: the present state at first, then one after each change; several changes in a row may be told as one.
    ///
    /// `None` after a report in which every started informer is in sync or has stopped, or once all are shut down.
    pub async fn next(&mut self) -> Option<SyncReport> {
        loop {
            match self.step {
                Step::Over => return None,
                Step::First => self.refresh()?,
                Step::After(_) => tokio::select! {
                    () = wait::any_news(&mut self.awaited) => {}
                    changed = self.changed.changed() => {
                        changed.ok()?;
                        self.refresh()?;
                    }
                },
            }
            let (report, outlook) = self.report();
            let text = report.to_string();
            if let Outlook::Final = outlook {
                self.step = Step::Over;
                return Some(report);
            }
            match &self.step {
                Step::After(last) if *last == text => {}
                _ => {
                    self.step = Step::After(text);
                    return Some(report);
                }
            }
        }
    }

    /// Looks again at which informers there are; `None` if there will be no more.
    fn refresh(&mut self) -> Option<()> {
        let shared = self.shared.upgrade()?;
        self.changed.borrow_and_update();
        if shared.contents.lock().closing == Closing::Closed {
            return None;
        }
        self.awaited = wait::started(&shared);
        Some(())
    }

    fn report(&self) -> (SyncReport, Outlook) {
        let mut outlook = match self.awaited.is_empty() {
            true => Outlook::Open,
            false => Outlook::Final,
        };
        let informers = self.awaited.iter().map(|awaited| {
            let missing = awaited.look();
            if let Some((_, Hope::Open | Hope::Failing(_))) = missing {
                outlook = Outlook::Open;
            }
            InformerProgress {
                resource: awaited.informer.resource().to_owned(),
                objects: awaited.informer.objects(),
                waiting_for: missing.map(|(waiting_for, _)| waiting_for),
            }
        });
        let informers = informers.collect();
        (SyncReport { informers }, outlook)
    }
}

/// Whether a report can still be followed by another.
enum Outlook {
    Open,
    Final,
}

impl fmt::Debug for SyncProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SyncProgress").field(&self.report().0).finish()
    }
}

/// How far each started informer is from being in sync.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncReport {
    /// Every informer that was started, in the order they were asked for.
    pub informers: Vec<InformerProgress>,
}

/// How far one informer is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerProgress {
    /// The resource: `pods`, `deployments.apps`; with its type if it is a projection: `pods (PodOnNode)`.
    pub resource: String,
    /// How many objects its cache holds. The first list is put there as a whole; while it is read,
    /// [`WaitingFor::Cache`] has the count.
    pub objects: usize,
    /// What is missing; `None` if it is in sync.
    pub waiting_for: Option<WaitingFor>,
}

impl SyncReport {
    /// Whether informers were started, and all of them are in sync.
    pub fn is_synced(&self) -> bool {
        !self.informers.is_empty() && self.waiting().next().is_none()
    }

    fn waiting(&self) -> impl Iterator<Item = (&InformerProgress, &WaitingFor)> {
        self.informers
            .iter()
            .filter_map(|informer| Some((informer, informer.waiting_for.as_ref()?)))
    }
}

impl fmt::Display for SyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.informers.len();
        write!(
            f,
            "{} of {total} informers in sync",
            total - self.waiting().count()
        )?;
        for (informer, waiting_for) in self.waiting() {
            write!(f, "; {}: {waiting_for}", informer.resource)?;
        }
        Ok(())
    }
}
