//! Decides whether the next whole state is read by watch-list, from how the server answered earlier ones.

use std::time::Duration;

use tokio::time::Instant;

use super::super::InitialState;
use crate::source::WatchListSupport;
use crate::status::WatchListVerdict;

/// How many streams in a row may be closed normally without their end bookmark before lists are used.
const UNFINISHED: u32 = 2;

/// How long a refusal is remembered. Servers are upgraded and features enabled: when the whole state is read
/// later than this, a stream is tried again, which costs one refused request if nothing has changed.
const REMEMBERED: Duration = Duration::from_secs(30 * 60);

/// What is known about watch-lists of this server.
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
    /// Not tried yet.
    Unknown,
    /// A stream was refused with an error that may refer to another part of the request. The list that
    /// follows decides.
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
    /// One list; streams have worked before.
    ListOnce,
    /// Lists, until the refusal expires.
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

    /// The value shown by `status()`.
    pub(super) fn verdict(&self) -> WatchListVerdict {
        match &self.knowledge {
            Knowledge::Off => WatchListVerdict::Off,
            Knowledge::Unsupported => WatchListVerdict::Refused("the source does not support it".to_owned()),
            Knowledge::Unknown | Knowledge::Doubted { .. } => WatchListVerdict::Unknown,
            Knowledge::Works => WatchListVerdict::Works,
            Knowledge::Refused { reason, .. } => WatchListVerdict::Refused(reason.clone()),
        }
    }

    /// Whether the next whole state is read by a stream.
    pub(super) fn is_worth_trying(&self, now: Instant) -> bool {
        match &self.knowledge {
            Knowledge::Off | Knowledge::Unsupported | Knowledge::Doubted { .. } => false,
            Knowledge::Unknown | Knowledge::Works => true,
            Knowledge::Refused { at, .. } => now.saturating_duration_since(*at) >= REMEMBERED,
        }
    }

    /// A stream delivered its end bookmark.
    pub(super) fn completed(&mut self) {
        self.knowledge = Knowledge::Works;
        self.unfinished = 0;
    }

    /// A stream was closed normally before its end bookmark. An API server that shuts down does that too.
    pub(super) fn unfinished(&mut self, reason: &str, now: Instant) -> Fallback {
        self.unfinished += 1;
        if self.unfinished < UNFINISHED {
            return Fallback::Stream;
        }
        self.unfinished = 0;
        self.not_completed(reason, now)
    }

    /// A stream did not deliver its end bookmark in time.
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

    /// The server refused the request of a stream, and it is unclear which part of it.
    pub(super) fn doubt(&mut self, reason: &str) {
        self.knowledge = Knowledge::Doubted {
            reason: reason.to_owned(),
        };
    }

    /// A list succeeded: the refused part was the stream.
    pub(super) fn list_worked(&mut self, now: Instant) {
        if let Knowledge::Doubted { reason } = &self.knowledge {
            let reason = reason.clone();
            self.refused(&reason, now);
        }
    }

    /// A list failed as well: the refused part was not the stream.
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
    fn a_refusal_is_remembered_for_half_an_hour() {
        let now = Instant::now();
        let mut streaming = unknown();
        streaming.refused("no", now);
        assert!(!streaming.is_worth_trying(now));
        assert!(!streaming.is_worth_trying(now + REMEMBERED - Duration::from_secs(1)));
        assert!(streaming.is_worth_trying(now + REMEMBERED));
        assert_eq!(streaming.verdict(), WatchListVerdict::Refused("no".to_owned()));
    }

    #[test]
    fn a_configured_or_unsupported_mode_never_expires() {
        let later = Instant::now() + 2 * REMEMBERED;
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
        // Without an unclear refusal, lists prove nothing about streams.
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
