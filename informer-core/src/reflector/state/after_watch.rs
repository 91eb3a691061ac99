//! What follows a watch or a probe.

use std::time::Duration;

use super::outcome::{VERY_SHORT, is_storage_read_error};
use super::{Continuity, EndReason, FailureState, Health, Memory, Next, Pause, Phase, WatchEnd};
use crate::resource_version::ResourceVersion;
use crate::source::SourceError;
use crate::status::{Coverage, RelistReason};

/// How many watches in a row may fail to open, or end at once, before the whole state is read again.
const WATCH_FAILURES: u32 = 5;

/// How many watches in a row may deliver nothing before the server's version is probed.
const MUTE_WATCHES: u32 = 2;

/// Bookmarks come about once a minute. A watch shorter than this may have ended before its first one.
const FIRST_BOOKMARK: Duration = Duration::from_secs(180);

impl Memory {
    /// Decides what follows a watch.
    pub(in super::super) fn after_watch(&mut self, from: ResourceVersion, end: WatchEnd) -> Next {
        self.relist = None;
        let next = self.decide_after_watch(from, end);
        match next.phase {
            Phase::Watch { .. } | Phase::Probe { .. } => self.relist = None,
            // A watch that would be resumed if the cache were known to be complete.
            Phase::List { .. } | Phase::WatchList { .. } => {
                self.relist.get_or_insert(RelistReason::Unreadable);
            }
        }
        next
    }

    fn decide_after_watch(&mut self, from: ResourceVersion, end: WatchEnd) -> Next {
        // Also after a failure: everything up to the last version is in the queue.
        let from = self.last().cloned().unwrap_or(from);
        let resume = match self.position.coverage {
            Coverage::Complete => Phase::Watch { from },
            // The cache may hold deleted objects, or lack one that could not be read. Another watch would not
            // show them, a list does.
            Coverage::Partial => self.start(),
        };
        if end.events > 0 {
            self.watch_failures = 0;
            self.version_refusals = 0;
        }
        let healthy = end.health() == Health::Proven;
        let WatchEnd {
            reason,
            lived,
            events,
        } = end;
        match reason {
            EndReason::Closed if lived >= VERY_SHORT => {
                let phase = match (resume, self.is_version_in_doubt(lived, events)) {
                    (Phase::Watch { from }, true) => Phase::Probe { from },
                    (resume, _) => resume,
                };
                self.resume(phase)
            }
            EndReason::Closed => {
                let error = SourceError::Protocol(format!(
                    "a watch was closed after {lived:.1?} and {events} events"
                ));
                self.watch_failed(resume, error, FailureState::BackingOff)
            }
            EndReason::Overdue { .. } if healthy => self.resume(resume),
            EndReason::Overdue { silent_for } => {
                let error = SourceError::Deadline {
                    what: "events, a bookmark or the end of a watch",
                    after: silent_for,
                };
                self.watch_failed(resume, error, FailureState::Stalled)
            }
            EndReason::UnreadableDelete => {
                let error =
                    SourceError::Protocol("an object was deleted and its name cannot be read".to_owned());
                self.again(error)
            }
            EndReason::Unconfirmed => {
                self.relist = Some(RelistReason::Unconfirmed);
                self.read_at_once()
            }
            // Expected after a warm start: the program was down for longer than the server keeps its history.
            EndReason::Failed(error) if self.is_unconfirmed() && error.is_expired() => {
                self.relist = Some(RelistReason::Expired);
                self.read_at_once()
            }
            EndReason::Doubted => {
                // Only the newest state: the server's watch cache may be what is wrong.
                self.continuity = Continuity::Lost;
                self.relist = Some(RelistReason::Audit);
                self.read_at_once()
            }
            // A server never sends an older bookmark, unless it was restored from a backup.
            EndReason::WentBack => {
                self.continuity = Continuity::Lost;
                self.relist = Some(RelistReason::Rewound);
                self.again(SourceError::Protocol(
                    "a bookmark is older than a version that was already seen".to_owned(),
                ))
            }
            EndReason::Failed(error) if error.is_forbidden() || error.is_not_found() => {
                self.relist = Some(RelistReason::Refused);
                self.refused(error)
            }
            EndReason::Failed(error) if error.is_limit_reached() => {
                self.relist = Some(RelistReason::Limit);
                self.over_limit(error)
            }
            EndReason::Failed(error) if error.is_expired() => {
                self.relist = Some(RelistReason::Expired);
                self.again(error)
            }
            EndReason::Failed(error) if is_storage_read_error(&error) => self.again(error),
            // The server has not reached our version: it lags, or it was restored from a backup. A list from
            // that version would fail as well.
            EndReason::Failed(error) if error.is_too_large_version() => {
                self.continuity = Continuity::Lost;
                self.relist = Some(RelistReason::VersionAhead);
                self.again(error)
            }
            // A list would only add load: these do not count towards `WATCH_FAILURES`.
            EndReason::Failed(error) if error.is_connection_refused() || error.is_too_many_requests() => {
                Next {
                    phase: resume,
                    ..self.again(error)
                }
            }
            // Proxies cut connections after some time. The watch delivered data, so this is as good as a
            // close.
            EndReason::Failed(error) if healthy && error.is_disconnect() => self.resume(resume),
            EndReason::Failed(error) if self.gives_up_version(&error) => {
                self.relist = Some(RelistReason::VersionRefused);
                self.again(error)
            }
            EndReason::Failed(error) => {
                self.wait_longer_after(&error);
                self.watch_failed(resume, error, FailureState::BackingOff)
            }
        }
    }

    /// Whether so many watches in a row delivered nothing that the server may not have reached their version.
    ///
    /// A server keeps a watch from a future version open and sends neither events nor bookmarks until it
    /// reaches that version. This happens after an etcd restore, and after a wrong version from a proxy.
    /// Upstream stays live and receives nothing until then.
    fn is_version_in_doubt(&mut self, lived: Duration, events: u64) -> bool {
        match (events, lived >= FIRST_BOOKMARK) {
            (0, true) => self.mute_watches += 1,
            (0, false) => {}
            _ => self.mute_watches = 0,
        }
        let in_doubt = self.mute_watches >= MUTE_WATCHES;
        if in_doubt {
            self.mute_watches = 0;
        }
        in_doubt
    }

    /// Decides what follows a probe, which found the version of the server's newest state.
    pub(in super::super) fn after_probe(
        &mut self,
        from: ResourceVersion,
        found: Result<Option<ResourceVersion>, SourceError>,
    ) -> Next {
        match found {
            Ok(Some(newest)) if newest.is_older_than(&from) => {
                self.continuity = Continuity::Lost;
                self.relist = Some(RelistReason::Rewound);
                self.resume(self.start())
            }
            Ok(_) => self.resume(Phase::Watch { from }),
            Err(error) => Next {
                phase: Phase::Watch { from },
                ..self.again(error)
            },
        }
    }

    /// Reads the whole state without a wait: no request failed.
    fn read_at_once(&self) -> Next {
        Next {
            phase: self.start(),
            pause: Pause::None,
            report: None,
        }
    }

    /// Continues after a watch that ended normally.
    fn resume(&mut self, phase: Phase) -> Next {
        self.watch_failures = 0;
        self.version_refusals = 0;
        Next {
            phase,
            pause: Pause::Minimum,
            report: None,
        }
    }

    /// Resumes after a wait; reads the whole state after too many failures in a row.
    ///
    /// Upstream lists again after most failures. A list costs a server far more than a watch, and a watch
    /// that opens loses nothing, because the server answers 410 if it no longer has the version.
    fn watch_failed(&mut self, resume: Phase, error: SourceError, failure_state: FailureState) -> Next {
        self.watch_failures += 1;
        let mut again = self.again(error);
        again.report = again.report.map(|(error, _)| (error, failure_state));
        if self.watch_failures >= WATCH_FAILURES {
            self.watch_failures = 0;
            self.relist = Some(match failure_state {
                FailureState::Stalled => RelistReason::Silent,
                _ => RelistReason::WatchFailed,
            });
            return again;
        }
        Next {
            phase: resume,
            ..again
        }
    }
}
