//! Every fault of the embedded server, with details drawn from the seed.

use std::time::Duration;

use informer_testing::{ApiError, Cut, EventType, Fault, Garble, Verb};
use rand::RngExt as _;
use rand::rngs::SmallRng;

use super::FaultPlan;

/// Draws one fault. `DropEvents` is left out: no client could notice it.
pub(super) fn draw(random: &mut SmallRng) -> FaultPlan {
    let after = random.random_range(0..8);
    let mut on = None;
    let mut times = Some(random.random_range(1..6));
    let fault = match random.random_range(0..42) {
        0 => Fault::unauthorized(),
        1 => Fault::not_found(),
        2 => Fault::Forbidden,
        3 => {
            on = Some(Verb::Watch);
            Fault::Forbidden
        }
        4 => Fault::expired(),
        5 => Fault::too_many_requests(random.random_range(0..20)),
        6 => Fault::internal_error(),
        7 => Fault::unavailable(),
        8 => Fault::timeout(),
        9 => Fault::version_too_large(),
        10 => Fault::Refuse,
        11 => Fault::Hang,
        12 => Fault::Delay(Duration::from_millis(random.random_range(1..5_000))),
        13 => Fault::Fragment(random.random_range(1..200)),
        14 => Fault::Table,
        15 => Fault::Stale(random.random_range(0..30)),
        16 => Fault::TruncateList {
            bytes: random.random_range(0..3_000),
        },
        17 => Fault::OmitListVersion,
        18 => Fault::ExpireToken,
        19 => Fault::GarbleItem {
            index: random.random_range(0..3),
            garble: Garble::Content,
        },
        20 => Fault::GarbleItem {
            index: random.random_range(0..3),
            garble: [Garble::Key, Garble::Null][random.random_range(0..2)],
        },
        21 => Fault::GarbleItem {
            index: random.random_range(0..3),
            garble: Garble::Syntax,
        },
        22 => Fault::CloseWatch { after },
        23 => Fault::HalfOpen { after },
        24 => Fault::ErrorEvent {
            // Also well after the initial events of a watch-list.
            after: random.random_range(0..25),
            error: ApiError::new(
                410,
                "Expired",
                "The resourceVersion for the provided watch is too old.",
            ),
        },
        25 => Fault::ErrorEvent {
            after,
            error: ApiError::new(500, "InternalError", "etcdserver: leader changed"),
        },
        26 => Fault::OmitEndBookmark,
        27 => Fault::PlainEndBookmark,
        28 => Fault::FalseEndBookmark,
        29 => Fault::OmitBookmarkVersion,
        30 => Fault::OmitProgressBookmarks,
        31 => Fault::EmptyMembers,
        32 => Fault::ChangesBeforeEnd {
            revisions: random.random_range(1..60),
        },
        33 => Fault::DuplicateInitial,
        34 => Fault::ShuffleInitial {
            seed: random.random_range(0..1_000),
        },
        35 | 36 => Fault::GarbleEvent {
            kind: [EventType::Added, EventType::Modified, EventType::Deleted][random.random_range(0..3)],
            index: random.random_range(0..3),
            garble: Garble::Content,
        },
        37 => Fault::GarbleEvent {
            kind: [EventType::Added, EventType::Modified, EventType::Deleted][random.random_range(0..3)],
            index: random.random_range(0..3),
            garble: [Garble::Key, Garble::Null][random.random_range(0..2)],
        },
        38 => Fault::GarbleEvent {
            kind: [EventType::Added, EventType::Modified, EventType::Deleted][random.random_range(0..3)],
            index: random.random_range(0..3),
            garble: Garble::Syntax,
        },
        39 => Fault::RepeatEvents {
            revisions: random.random_range(1..30),
        },
        _ => Fault::Cut(match random.random_range(0..6) {
            0 => Cut::Events(after),
            1 => Cut::MidObject(after),
            2 => Cut::MidCharacter(after),
            3 => Cut::MidMember(after),
            _ => Cut::Bytes(random.random_range(0..4_000)),
        }),
    };
    if random.random_bool(0.1) {
        times = None;
    }
    FaultPlan { fault, on, times }
}
