//! Sync progress of each informer, for display while waiting.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::wait::{self, Awaited, Outlook, WaitingFor};
use super::{Closing, RegistryInner};

/// A stream of reports on how far the informers of a registry are from being in sync.
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
    registry: Weak<RegistryInner>,
    /// Changes when informers are started, or all are stopped.
    changed: watch::Receiver<u64>,
    awaited: Vec<Awaited>,
    next: NextReport,
}

/// Which report comes next.
enum NextReport {
    First,
    /// One whose text differs from this.
    After(String),
    /// None: the last one was returned.
    Over,
}

impl SyncProgress {
    pub(super) fn new(registry: &Arc<RegistryInner>) -> Self {
        Self {
            registry: Arc::downgrade(registry),
            changed: registry.changed.subscribe(),
            awaited: Vec::new(),
            next: NextReport::First,
        }
    }

    /// Waits for the next report: the present state first, then one after each change. Several changes in a
    /// row may give one report.
    ///
    /// Returns `None` after a report in which every started informer is in sync or has stopped, and after a
    /// shutdown.
    pub async fn next(&mut self) -> Option<SyncReport> {
        loop {
            match self.next {
                NextReport::Over => return None,
                NextReport::First => self.refresh()?,
                NextReport::After(_) => tokio::select! {
                    () = wait::any_change(&mut self.awaited) => {}
                    changed = self.changed.changed() => {
                        changed.ok()?;
                        self.refresh()?;
                    }
                },
            }
            let (report, kind) = self.report();
            let text = report.to_string();
            if let ReportKind::Final = kind {
                self.next = NextReport::Over;
                return Some(report);
            }
            match &self.next {
                NextReport::After(last) if *last == text => {}
                _ => {
                    self.next = NextReport::After(text);
                    return Some(report);
                }
            }
        }
    }

    /// Reads again which informers are started; `None` after a shutdown.
    fn refresh(&mut self) -> Option<()> {
        let registry = self.registry.upgrade()?;
        self.changed.borrow_and_update();
        if registry.contents.lock().closing == Closing::Closed {
            return None;
        }
        self.awaited = wait::started(&registry);
        Some(())
    }

    fn report(&self) -> (SyncReport, ReportKind) {
        let mut kind = match self.awaited.is_empty() {
            true => ReportKind::Interim,
            false => ReportKind::Final,
        };
        let informers = self.awaited.iter().map(|awaited| {
            let missing = awaited.look();
            if let Some((_, Outlook::Possible | Outlook::Failing(_))) = missing {
                kind = ReportKind::Interim;
            }
            InformerProgress {
                resource: awaited.informer.resource().to_owned(),
                objects: awaited.informer.objects(),
                waiting_for: missing.map(|(waiting_for, _)| waiting_for),
            }
        });
        let informers = informers.collect();
        (SyncReport { informers }, kind)
    }
}

/// Whether another report can follow.
enum ReportKind {
    Interim,
    Final,
}

impl fmt::Debug for SyncProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SyncProgress").field(&self.report().0).finish()
    }
}

/// The sync progress of every started informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncReport {
    /// The started informers, in request order.
    pub informers: Vec<InformerProgress>,
}

/// The sync progress of one informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerProgress {
    /// The resource: `pods`, `deployments.apps`; with its type if it is a projection: `pods (PodOnNode)`.
    pub resource: String,
    /// How many objects its cache holds. The first list is committed as a whole; until then
    /// [`WaitingFor::Cache`] has the count.
    pub objects: usize,
    /// What is missing; `None` if the informer is in sync.
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
