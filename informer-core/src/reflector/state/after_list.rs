//! What follows a list or watch-list that failed.

use super::streaming::Fallback;
use super::{Continuity, FailureState, ListFailure, Memory, Next, Pause, Phase};
use crate::source::SourceError;

impl Memory {
    /// Decides what follows a list or watch-list that returned no state.
    pub(in super::super) fn after_list_failure(&mut self, phase: &Phase, failure: ListFailure) -> Next {
        let by_watch_list = matches!(phase, Phase::WatchList { .. });
        if !by_watch_list {
            self.streaming.list_failed();
        }
        match failure {
            ListFailure::Silent(error) => {
                let fallback = self.streaming.not_completed(&error.to_string(), self.now);
                self.fall_back(fallback, error)
            }
            ListFailure::Unfinished => {
                let error = SourceError::Protocol(
                    "the stream ended before the initial state was complete".to_owned(),
                );
                let fallback = self.streaming.unfinished(&error.to_string(), self.now);
                self.fall_back(fallback, error)
            }
            // The answer came from a replica that lags. The newest state is read from the storage itself, and
            // only that can show whether the server was rewound.
            ListFailure::Older(error) => {
                self.continuity = Continuity::Lost;
                self.again(error)
            }
            ListFailure::Failed(error) if error.is_forbidden() || error.is_not_found() => self.refused(error),
            ListFailure::Failed(error) if error.is_limit_reached() => self.over_limit(error),
            ListFailure::Failed(error) if error.is_expired() || error.is_too_large_version() => {
                self.continuity = Continuity::Lost;
                // No wait before the newest state is requested: the request was fine, its version was not. If
                // the newest state was requested already, the server contradicts itself, and is not hurried.
                if phase.is_of_newest() {
                    return self.again(error);
                }
                Next {
                    phase: self.start(),
                    pause: Pause::None,
                    report: None,
                }
            }
            // The request was not processed, so this proves nothing about watch-lists or versions.
            ListFailure::Failed(error) if error.is_connection_refused() || error.is_too_many_requests() => {
                self.again(error)
            }
            ListFailure::Failed(error) if by_watch_list && error.is_watch_list_refused() => {
                self.streaming.refused(&error.to_string(), self.now);
                self.list_at_once()
            }
            ListFailure::Failed(error) if phase.version().is_some() && self.gives_up_version(&error) => {
                self.again(error)
            }
            // 400 or 422 without details: the list that follows shows whether the watch-list was the cause.
            ListFailure::Failed(error) if by_watch_list && error.may_refuse_watch_list() => {
                self.streaming.doubt(&error.to_string());
                self.list_at_once()
            }
            ListFailure::Failed(error) => {
                self.wait_longer_after(&error);
                // The stream itself may be the cause, so the next attempt is a LIST. Later ones try a stream
                // again.
                if by_watch_list {
                    self.list_after(error)
                } else {
                    self.again(error)
                }
            }
        }
    }

    fn fall_back(&self, fallback: Fallback, error: SourceError) -> Next {
        match fallback {
            Fallback::Stream => self.again(error),
            Fallback::ListOnce => self.list_after(error),
            // No list has failed, so it does not wait. The failure is reported all the same.
            Fallback::Lists => Next {
                report: Some((error, FailureState::BackingOff)),
                ..self.list_at_once()
            },
        }
    }

    /// Reads the whole state by LIST, without a wait.
    fn list_at_once(&self) -> Next {
        Next {
            phase: self.start_list(),
            pause: Pause::None,
            report: None,
        }
    }

    /// Reads the whole state by LIST, after a wait.
    fn list_after(&self, error: SourceError) -> Next {
        Next {
            phase: self.start_list(),
            ..self.again(error)
        }
    }
}
