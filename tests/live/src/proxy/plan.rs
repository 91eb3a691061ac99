//! Which fault meets which request: drawn from a seed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// What a proxy can do to a request or to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The body ends in the middle of an object, and is complete as far as HTTP is concerned. (If the length
    /// was announced, the connection is closed early.)
    CutObject,
    /// The connection is closed in the middle of a chunk, whose head promised more.
    CutChunk,
    /// A compressed body ends in the middle of a gzip member, and is complete as far as HTTP is concerned.
    CutGzip,
    /// The answer comes later.
    Delay,
    /// The answer stops in the middle of a chunk, and the connection stays open for a while.
    Stall,
    /// The connection is reset (`RST`): before the answer, or in the middle of it.
    Reset,
    /// An event of a watch comes twice.
    Duplicate,
    /// The answer is 429 with a `Retry-After`.
    TooManyRequests,
    /// The answer is 500 with a `Retry-After`.
    InternalError,
    /// The answer is 503 with a `Retry-After`.
    Unavailable,
    /// A watch is answered with 410, as if its version were compacted: the client must list again.
    Expired,
    /// The request goes to the second server, which may lag behind.
    Stale,
}

impl FaultKind {
    /// Every kind there is.
    pub const ALL: [Self; 12] = [
        Self::CutObject,
        Self::CutChunk,
        Self::CutGzip,
        Self::Delay,
        Self::Stall,
        Self::Reset,
        Self::Duplicate,
        Self::TooManyRequests,
        Self::InternalError,
        Self::Unavailable,
        Self::Expired,
        Self::Stale,
    ];
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CutObject => "cut in an object",
            Self::CutChunk => "cut in a chunk",
            Self::CutGzip => "cut in a gzip member",
            Self::Delay => "delay",
            Self::Stall => "stall",
            Self::Reset => "reset",
            Self::Duplicate => "duplicate",
            Self::TooManyRequests => "429",
            Self::InternalError => "500",
            Self::Unavailable => "503",
            Self::Expired => "410",
            Self::Stale => "stale server",
        })
    }
}

/// How often faults are drawn, and how long they last.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FaultProfile {
    /// The probability of a fault per request, from 0 to 1. Default 0.8. Watches end by a fault in any case,
    /// if there is one for bodies among the kinds.
    pub probability: f64,
    /// The kinds to draw from, each as likely as the others. Default: all.
    pub kinds: Vec<FaultKind>,
    /// How many bytes of a body pass before it is harmed. Default: up to 3,000, about ten small events.
    pub unharmed: Range<u64>,
    /// How long an answer is delayed. Default: up to 300 ms.
    pub delay: Range<Duration>,
    /// How long a stalled connection stays open, if the client does not leave before. Default: 100 ms to 1 s.
    pub stall: Range<Duration>,
    /// The `Retry-After` of refusals, in seconds. Default 1.
    pub retry_after: u32,
}

impl Default for FaultProfile {
    fn default() -> Self {
        Self {
            probability: 0.8,
            kinds: FaultKind::ALL.to_vec(),
            unharmed: 0..3_000,
            delay: Duration::ZERO..Duration::from_millis(300),
            stall: Duration::from_millis(100)..Duration::from_secs(1),
            retry_after: 1,
        }
    }
}

impl FaultProfile {
    /// One kind of fault for every request.
    pub fn only(kind: FaultKind) -> Self {
        Self {
            probability: 1.0,
            kinds: vec![kind],
            ..Self::default()
        }
    }
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// A watch from a version.
    Watch,
    /// A watch that begins with the whole state.
    WatchList,
    Other,
}

/// What happens to one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    Pass,
    /// An answer to what the server never sees.
    Answer(Refusal),
    /// The connection is reset before anything is sent on.
    ResetAtOnce,
    Delay(Duration),
    Stale,
    /// The body is damaged after this many bytes.
    Body {
        harm: Harm,
        after: u64,
    },
}

/// An answer that is a refusal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) kind: FaultKind,
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) retry_after: u32,
}

/// How a body is harmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    CutObject,
    CutChunk,
    CutGzip,
    Stall(Duration),
    Reset,
    Duplicate,
}

/// Draws fates.
pub(super) struct Plan {
    random: SmallRng,
    profile: FaultProfile,
}

impl Plan {
    pub(super) fn new(seed: u64, mut profile: FaultProfile, has_second_server: bool) -> Self {
        if !has_second_server {
            profile.kinds.retain(|kind| *kind != FaultKind::Stale);
        }
        Self {
            random: SmallRng::seed_from_u64(seed),
            profile,
        }
    }

    /// The fate of the next request. What only a watch can meet, other requests are spared.
    pub(super) fn draw(&mut self, verb: Verb) -> Fate {
        let Self { random, profile } = self;
        if profile.kinds.is_empty() || !random.random_bool(profile.probability.clamp(0.0, 1.0)) {
            return Fate::Pass;
        }
        let kind = profile.kinds[random.random_range(0..profile.kinds.len())];
        let after = draw_from(random, &profile.unharmed);
        let body = |harm| Fate::Body { harm, after };
        let answer = |code, reason| {
            Fate::Answer(Refusal {
                kind,
                code,
                reason,
                retry_after: profile.retry_after,
            })
        };
        match kind {
            FaultKind::CutObject => body(Harm::CutObject),
            FaultKind::CutChunk => body(Harm::CutChunk),
            FaultKind::CutGzip => body(Harm::CutGzip),
            FaultKind::Duplicate if verb != Verb::Other => body(Harm::Duplicate),
            FaultKind::Duplicate => Fate::Pass,
            FaultKind::Stall => body(Harm::Stall(draw_time(random, &profile.stall))),
            FaultKind::Reset if random.random_bool(0.3) => Fate::ResetAtOnce,
            FaultKind::Reset => body(Harm::Reset),
            FaultKind::Delay => Fate::Delay(draw_time(random, &profile.delay)),
            FaultKind::TooManyRequests => answer(429, "TooManyRequests"),
            FaultKind::InternalError => answer(500, "InternalError"),
            FaultKind::Unavailable => answer(503, "ServiceUnavailable"),
            FaultKind::Expired if verb == Verb::Watch => answer(410, "Expired"),
            FaultKind::Expired => Fate::Pass,
            FaultKind::Stale => Fate::Stale,
        }
    }
}

impl Plan {
    /// The harm that ends a watch in which nothing (more) goes wrong otherwise: none outlives the faults that
    /// a profile has for bodies. Says also after how many further bytes.
    pub(super) fn draw_end(&mut self) -> Option<(Harm, u64)> {
        let Self { random, profile } = self;
        let ends = profile.kinds.iter().filter_map(|kind| match kind {
            FaultKind::CutObject => Some(Harm::CutObject),
            FaultKind::CutChunk => Some(Harm::CutChunk),
            FaultKind::CutGzip => Some(Harm::CutGzip),
            FaultKind::Reset => Some(Harm::Reset),
            FaultKind::Stall => Some(Harm::Stall(profile.stall.start)),
            _ => None,
        });
        let ends: Vec<Harm> = ends.collect();
        if ends.is_empty() {
            return None;
        }
        let end = match ends[random.random_range(0..ends.len())] {
            Harm::Stall(_) => Harm::Stall(draw_time(random, &profile.stall)),
            end => end,
        };
        Some((end, draw_from(random, &profile.unharmed)))
    }
}

fn draw_from(random: &mut SmallRng, range: &Range<u64>) -> u64 {
    match range.is_empty() {
        true => range.start,
        false => random.random_range(range.clone()),
    }
}

fn draw_time(random: &mut SmallRng, range: &Range<Duration>) -> Duration {
    match range.is_empty() {
        true => range.start,
        false => random.random_range(range.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(seed: u64, profile: FaultProfile) -> Vec<Fate> {
        let mut plan = Plan::new(seed, profile, true);
        (0..200).map(|_| plan.draw(Verb::Watch)).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_fates() {
        let draw = |seed| fates(seed, FaultProfile::default());
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_profile_of_no_kinds_or_no_probability_harms_nobody() {
        for (probability, kinds) in [(1.0, Vec::new()), (0.0, FaultKind::ALL.to_vec())] {
            let profile = FaultProfile {
                probability,
                kinds,
                ..FaultProfile::default()
            };
            assert!(fates(1, profile).iter().all(|fate| *fate == Fate::Pass));
        }
    }

    #[test]
    fn without_a_second_server_nothing_goes_there() {
        let mut plan = Plan::new(1, FaultProfile::default(), false);
        assert!((0..500).all(|_| plan.draw(Verb::Watch) != Fate::Stale));
    }
}
