//! Whether the whole state is read through a stream: what the server showed so far, and how long that is
//! believed.

use std::time::Duration;

use tokio::time::Instant;

use super::super::InitialState;
use crate::source::WatchListSupport;
use crate::status::WatchListVerdict;

/// How many streams in a row may be closed in good order without their end bookmark before lists are used.
const UNFINISHED: u32 = 2;

/// How long a refusal is believed. Servers are upgraded and features switched on: the next time the whole
/// state is read after this, a stream is tried again, which costs one refused request if nothing has changed.
const BELIEVED: Duration = Duration::from_secs(30 * 60);

/// What is known about streams of the initial state.
#[derive(Debug)]
pub(super) struct Streaming {
    knowledge: Knowledge,
    unfinished: u32,
}

#[derive(Debug)]
enum Knowledge {
    /// The informer is configured to use lists.
    Off,
    /// The source cannot stream.
    Unsupported,
    /// Nothing yet.
    Unknown,
    /// A stream was refused in words that may mean something else in the request: the list that follows
    /// decides.
    Doubted { reason: String },
    /// The server has completed a stream.
    Works,
    /// The server refused, or never completed a stream.
    Refused { reason: String, at: Instant },
}

/// What follows a stream that did not complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// Another stream.
    Stream,
    /// A list this once; streams have worked before.
    ListOnce,
    /// Lists, until the verdict expires.
    Lists,
}

impl Streaming {
    pub(super) fn new(mode: InitialState, support: WatchListSupport) -> Self {
        let knowledge = match (mode, support) {
            (InitialState::List, _) => Knowledge::Off,
            (InitialState::WatchList, WatchListSupport::Unsupported) => Knowledge::Unsupported,
            (InitialState::WatchList, WatchListSupport::Unknown) => Knowledge::Unknown,
        };
        Self {
            knowledge,
            unfinished: 0,
        }
    }

    /// The same in the words of `status()`.
    pub(super) fn verdict(&self) -> WatchListVerdict {
        match &self.knowledge {
            Knowledge::Off => WatchListVerdict::Off,
            Knowledge::Unsupported => WatchListVerdict::Refused("the source does not support it".to_owned()),
            Knowledge::Unknown | Knowledge::Doubted { .. } => WatchListVerdict::Unknown,
            Knowledge::Works => WatchListVerdict::Works,
            Knowledge::Refused { reason, .. } => WatchListVerdict::Refused(reason.clone()),
        }
    }

    /// Whether the next read of the whole state is a stream.
    pub(super) fn is_worth_trying(&self, now: Instant) -> bool {
        match &self.knowledge {
            Knowledge::Off | Knowledge::Unsupported | Knowledge::Doubted { .. } => false,
            Knowledge::Unknown | Knowledge::Works => true,
            Knowledge::Refused { at, .. } => now.saturating_duration_since(*at) >= BELIEVED,
        }
    }

    /// A stream brought its end bookmark.
    pub(super) fn completed(&mut self) {
        self.knowledge = Knowledge::Works;
        self.unfinished = 0;
    }

    /// A stream was closed in good order before its end bookmark. An API server that shuts down does that
    /// too.
    pub(super) fn unfinished(&mut self, reason: &str, now: Instant) -> Fallback {
        self.unfinished += 1;
        if self.unfinished < UNFINISHED {
            return Fallback::Stream;
        }
        self.unfinished = 0;
        self.not_completed(reason, now)
    }

    /// A stream did not get to its end bookmark in time.
    pub(super) fn not_completed(&mut self, reason: &str, now: Instant) -> Fallback {
        if matches!(self.knowledge, Knowledge::Works) {
            return Fallback::ListOnce;
        }
        self.refused(reason, now);
        Fallback::Lists
    }

    /// The server refused the parameters of a stream.
    pub(super) fn refused(&mut self, reason: &str, now: Instant) {
        self.knowledge = Knowledge::Refused {
            reason: reason.to_owned(),
            at: now,
        };
    }

    /// The server refused the request of a stream, and it is unclear what in it.
    pub(super) fn doubt(&mut self, reason: &str) {
        self.knowledge = Knowledge::Doubted {
            reason: reason.to_owned(),
        };
    }

    /// A list brought the state: what was refused before was the stream.
    pub(super) fn list_worked(&mut self, now: Instant) {
        if let Knowledge::Doubted { reason } = &self.knowledge {
            let reason = reason.clone();
            self.refused(&reason, now);
        }
    }

    /// A list failed as well: what was refused before was not the stream.
    pub(super) fn list_failed(&mut self) {
        if matches!(self.knowledge, Knowledge::Doubted { .. }) {
            self.knowledge = Knowledge::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Streaming {
        Streaming::new(InitialState::WatchList, WatchListSupport::Unknown)
    }

    #[test]
    fn a_refusal_is_believed_for_half_an_hour() {
        let now = Instant::now();
        let mut streaming = unknown();
        streaming.refused("no", now);
        assert!(!streaming.is_worth_trying(now));
        assert!(!streaming.is_worth_trying(now + BELIEVED - Duration::from_secs(1)));
        assert!(streaming.is_worth_trying(now + BELIEVED));
        assert_eq!(streaming.verdict(), WatchListVerdict::Refused("no".to_owned()));
    }

    #[test]
    fn what_is_configured_or_unsupported_never_expires() {
        let later = Instant::now() + 2 * BELIEVED;
        for streaming in [
            Streaming::new(InitialState::List, WatchListSupport::Unknown),
            Streaming::new(InitialState::WatchList, WatchListSupport::Unsupported),
        ] {
            assert!(!streaming.is_worth_trying(later), "{streaming:?}");
        }
    }

    #[test]
    fn the_list_after_an_unclear_refusal_decides() {
        let now = Instant::now();
        let mut streaming = unknown();
        streaming.doubt("400");
        assert_eq!(streaming.verdict(), WatchListVerdict::Unknown);
        assert!(!streaming.is_worth_trying(now));
        streaming.list_failed();
        assert!(streaming.is_worth_trying(now));
        streaming.doubt("400");
        streaming.list_worked(now);
        assert_eq!(streaming.verdict(), WatchListVerdict::Refused("400".to_owned()));
        // Without a doubt, lists say nothing about streams.
        let mut streaming = unknown();
        streaming.list_worked(now);
        assert_eq!(streaming.verdict(), WatchListVerdict::Unknown);
    }

    #[test]
    fn a_server_that_has_completed_a_stream_is_never_refused_for_an_unfinished_one() {
        let now = Instant::now();
        let mut streaming = unknown();
        assert_eq!(streaming.unfinished("cut", now), Fallback::Stream);
        streaming.completed();
        assert_eq!(streaming.unfinished("cut", now), Fallback::Stream);
        assert_eq!(streaming.unfinished("cut", now), Fallback::ListOnce);
        assert_eq!(streaming.not_completed("silent", now), Fallback::ListOnce);
        assert_eq!(streaming.verdict(), WatchListVerdict::Works);
        let mut streaming = unknown();
        assert_eq!(streaming.unfinished("cut", now), Fallback::Stream);
        assert_eq!(streaming.unfinished("cut", now), Fallback::Lists);
        assert_eq!(streaming.verdict(), WatchListVerdict::Refused("cut".to_owned()));
    }
}
