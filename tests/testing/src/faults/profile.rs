//! Random faults from a seed.

use std::collections::HashMap;
use std::time::Duration;

use super::{Cut, Fault};
use crate::error::ApiError;
use crate::log::Request;
use crate::request::Verb;
use crate::rng::Rng;

/// How likely each fault is, per request, from 0 (never, the default) to 1.
///
/// Only faults that a correct client survives are included: none loses events or corrupts content. Faults
/// that apply to writes also affect writes of clients, but not direct writes of the test.
///
/// ```
/// use informer_testing::{ApiServer, Profile};
///
/// let server = ApiServer::start();
/// server.faults().random(42, Profile { cut: 0.5, half_open: 0.1, ..Profile::mild() });
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The connection is refused.
    pub refuse: f64,
    /// 429 with `Retry-After` of one second.
    pub throttle: f64,
    /// 500.
    pub internal_error: f64,
    /// 503.
    pub unavailable: f64,
    /// 410 for a list or a watch.
    pub expire: f64,
    /// The answer is late, by up to two seconds.
    pub delay: f64,
    /// The body of a list or a watch breaks: after some events, within one, or after some bytes.
    pub cut: f64,
    /// A watch ends cleanly after up to ten events.
    pub close: f64,
    /// A watch gets an ERROR event, 410 or 500, after up to ten events.
    pub error_event: f64,
    /// A watch stops sending without closing. The client needs a timeout, or the test calls
    /// [`Faults::calm`](super::Faults::calm).
    pub half_open: f64,
    /// The request is never answered. The client needs a timeout, as for `half_open`.
    pub hang: f64,
    /// Initial events arrive in random order.
    pub shuffle: f64,
    /// Initial events arrive twice.
    pub duplicate: f64,
    /// Changes arrive before the end bookmark.
    pub changes_before_end: f64,
    /// The end bookmark is never sent.
    pub omit_end_bookmark: f64,
    /// Progress bookmarks are not sent.
    pub omit_bookmarks: f64,
    /// Empty gzip members are sent.
    pub empty_members: f64,
    /// Bodies are sent in small chunks.
    pub fragment: f64,
    /// A continue token expires.
    pub expire_token: f64,
}

impl Profile {
    /// Mild faults: every fault that ends by itself, each once in ten to thirty requests.
    pub fn mild() -> Self {
        Self {
            refuse: 0.04,
            throttle: 0.04,
            internal_error: 0.04,
            unavailable: 0.04,
            expire: 0.04,
            delay: 0.1,
            cut: 0.1,
            close: 0.1,
            error_event: 0.05,
            half_open: 0.0,
            hang: 0.0,
            shuffle: 0.2,
            duplicate: 0.05,
            changes_before_end: 0.2,
            omit_end_bookmark: 0.0,
            omit_bookmarks: 0.05,
            empty_members: 0.1,
            fragment: 0.2,
            expire_token: 0.05,
        }
    }

    /// Severe faults: all of them, more often, including those that only a timeout of the client ends.
    pub fn harsh() -> Self {
        Self {
            refuse: 0.1,
            throttle: 0.1,
            internal_error: 0.1,
            unavailable: 0.05,
            expire: 0.1,
            delay: 0.2,
            cut: 0.25,
            close: 0.2,
            error_event: 0.15,
            half_open: 0.05,
            hang: 0.02,
            shuffle: 0.5,
            duplicate: 0.2,
            changes_before_end: 0.4,
            omit_end_bookmark: 0.05,
            omit_bookmarks: 0.2,
            empty_members: 0.3,
            fragment: 0.4,
            expire_token: 0.2,
        }
    }
}

/// A profile in use, with its request counters.
#[derive(Debug)]
pub(super) struct Random {
    seed: u64,
    profile: Profile,
    /// The number of requests so far, by verb, resource and namespace.
    counts: HashMap<String, u64>,
}

impl Random {
    pub(super) fn new(seed: u64, profile: Profile) -> Self {
        Self {
            seed,
            profile,
            counts: HashMap::new(),
        }
    }

    /// Returns the faults of this request, drawn in a fixed order from a generator seeded for this request.
    pub(super) fn draw(&mut self, request: &Request) -> Vec<Fault> {
        let Some(resource) = &request.resource else {
            return Vec::new();
        };
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let stream = format!(
            "{} {resource}.{} {namespace}",
            request.verb.as_str(),
            request.group
        );
        let count = self.counts.entry(stream.clone()).or_default();
        *count += 1;
        let mut rng = Rng::new(self.seed ^ fnv1a(stream.as_bytes()) ^ count.wrapping_mul(0x9E37_79B9));
        let mut draw = Draw {
            rng: &mut rng,
            faults: Vec::new(),
        };
        let profile = &self.profile;
        let (list, watch) = (request.verb == Verb::List, request.verb == Verb::Watch);
        draw.maybe(profile.refuse, |_| Fault::Refuse);
        draw.maybe(profile.throttle, |_| Fault::too_many_requests(1));
        draw.maybe(profile.internal_error, |_| Fault::internal_error());
        draw.maybe(profile.unavailable, |_| Fault::unavailable());
        draw.maybe(profile.hang, |_| Fault::Hang);
        draw.maybe(profile.delay, |rng| {
            Fault::Delay(Duration::from_millis(rng.below(2000)))
        });
        if list || watch {
            draw.maybe(profile.expire, |_| Fault::expired());
            draw.maybe(profile.fragment, |rng| {
                Fault::Fragment(1 + rng.below(200) as usize)
            });
            draw.maybe(profile.cut, |rng| Fault::Cut(cut(rng, request.verb)));
        }
        if list && request.parameter("continue").is_some() {
            draw.maybe(profile.expire_token, |_| Fault::ExpireToken);
        }
        if watch {
            draw.maybe(profile.close, |rng| Fault::CloseWatch {
                after: rng.below(11) as usize,
            });
            draw.maybe(profile.error_event, |rng| {
                let error = match rng.below(2) {
                    0 => ApiError::expired("The resourceVersion for the provided watch is too old."),
                    _ => ApiError::new(500, "InternalError", "Internal error occurred: drawn at random"),
                };
                Fault::ErrorEvent {
                    after: rng.below(11) as usize,
                    error,
                }
            });
            draw.maybe(profile.half_open, |rng| Fault::HalfOpen {
                after: rng.below(11) as usize,
            });
            draw.maybe(profile.shuffle, |rng| Fault::ShuffleInitial { seed: rng.next() });
            draw.maybe(profile.duplicate, |_| Fault::DuplicateInitial);
            draw.maybe(profile.changes_before_end, |rng| Fault::ChangesBeforeEnd {
                revisions: rng.below(50),
            });
            draw.maybe(profile.omit_end_bookmark, |_| Fault::OmitEndBookmark);
            draw.maybe(profile.omit_bookmarks, |_| Fault::OmitProgressBookmarks);
            draw.maybe(profile.empty_members, |_| Fault::EmptyMembers);
        }
        draw.faults
    }
}

struct Draw<'a> {
    rng: &'a mut Rng,
    faults: Vec<Fault>,
}

impl Draw<'_> {
    fn maybe(&mut self, probability: f64, fault: impl FnOnce(&mut Rng) -> Fault) {
        if self.rng.chance(probability) {
            self.faults.push(fault(self.rng));
        }
    }
}

fn cut(rng: &mut Rng, verb: Verb) -> Cut {
    let events = rng.below(11) as usize;
    match (rng.below(5), verb) {
        (0, Verb::Watch) => Cut::Events(events),
        (1, Verb::Watch) => Cut::MidObject(events),
        (2, Verb::Watch) => Cut::MidCharacter(events),
        (3, Verb::Watch) => Cut::MidMember(events),
        _ => Cut::Bytes(rng.below(4096) as usize),
    }
}

/// A stable hash, so that a seed has the same effect in every build.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
