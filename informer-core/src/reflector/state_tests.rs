//! The reflector's decisions as tables: what happened, and which request follows.

#[path = "state_tests/lists.rs"]
mod lists;
#[path = "state_tests/watches.rs"]
mod watches;

use super::*;
use crate::source::ServerStatus;
use crate::status::State;

/// Creates a memory that has listed this version, if any.
fn memory(mode: InitialState, last: Option<&str>) -> Memory {
    let mut memory = Memory::new(mode, WatchListSupport::Unknown, Instant::now());
    if let Some(version) = last {
        memory.listed(version.into(), Coverage::Complete);
    }
    memory
}

fn answer(code: u16) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code,
            ..ServerStatus::default()
        },
    }
}

fn reason(code: u16, reason: &str) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code,
            reason: reason.to_owned(),
            ..ServerStatus::default()
        },
    }
}

fn too_large() -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code: 504,
            message: "Too large resource version: 9, current: 3".to_owned(),
            ..ServerStatus::default()
        },
    }
}

fn retry_after(seconds: u64) -> SourceError {
    SourceError::Status {
        status: ServerStatus {
            code: 429,
            retry_after: Some(Duration::from_secs(seconds)),
            ..ServerStatus::default()
        },
    }
}

fn connect() -> SourceError {
    SourceError::Connect("refused".to_owned())
}

fn transport() -> SourceError {
    SourceError::Transport("reset".to_owned())
}

/// Formats a phase for the tables.
fn show_phase(phase: &Phase) -> String {
    match phase {
        Phase::Probe { from } => format!("probe {from}"),
        Phase::WatchList {
            from: WatchListFrom::MostRecent,
        } => "watch-list newest".to_owned(),
        Phase::WatchList {
            from: WatchListFrom::NotOlderThan(version),
        } => format!("watch-list >={version}"),
        Phase::List {
            from: ListFrom::MostRecent,
        } => "list newest".to_owned(),
        Phase::List {
            from: ListFrom::AnyCached,
        } => "list any".to_owned(),
        Phase::List {
            from: ListFrom::NotOlderThan(version),
        } => format!("list >={version}"),
        Phase::List {
            from: ListFrom::Exactly(version),
        } => format!("list ={version}"),
        Phase::Watch { from } => format!("watch after {from}"),
    }
}

/// Formats a decision for the tables: the next request, the wait before it, the reported state.
fn show(next: &Next) -> String {
    let pause = match &next.pause {
        Pause::None => "at once".to_owned(),
        Pause::Minimum => "soon".to_owned(),
        Pause::Backoff { at_least: None } => "after a step".to_owned(),
        Pause::Backoff { at_least: Some(time) } => format!("after a step, at least {time:?}"),
        Pause::Refused => "slowly".to_owned(),
        Pause::OverLimit => "after a minute".to_owned(),
    };
    let report = match &next.report {
        None => "silent".to_owned(),
        Some((_, failure_state)) => format!("{failure_state:?}"),
    };
    format!("{}, {pause}, {report}", show_phase(&next.phase))
}

#[test]
fn the_first_request_depends_on_mode_support_and_what_was_seen() {
    use InitialState::{List, WatchList};
    use WatchListSupport::{Unknown, Unsupported};
    for (mode, support, last, expected) in [
        (WatchList, Unknown, None, "watch-list newest"),
        (WatchList, Unknown, Some("5"), "watch-list >=5"),
        (WatchList, Unsupported, None, "list any"),
        (WatchList, Unsupported, Some("5"), "list >=5"),
        (List, Unknown, None, "list any"),
        (List, Unknown, Some("5"), "list >=5"),
        (List, Unsupported, None, "list any"),
    ] {
        let mut memory = Memory::new(mode, support, Instant::now());
        if let Some(version) = last {
            memory.listed(version.into(), Coverage::Complete);
        }
        let case = format!("{mode:?}, {support:?}, {last:?}");
        assert_eq!(show_phase(&memory.start()), expected, "{case}");
        let verdict_fits = match (mode, support) {
            (List, _) => memory.verdict() == WatchListVerdict::Off,
            (_, Unsupported) => matches!(memory.verdict(), WatchListVerdict::Refused(_)),
            _ => memory.verdict() == WatchListVerdict::Unknown,
        };
        assert!(verdict_fits, "{case}: {:?}", memory.verdict());
    }
}

#[test]
fn lost_continuity_leads_to_the_newest_state_until_one_was_read() {
    for (mode, lost, kept) in [
        (InitialState::List, "list newest", "list >=9"),
        (InitialState::WatchList, "watch-list newest", "watch-list >=9"),
    ] {
        let mut memory = memory(mode, Some("5"));
        memory.continuity = Continuity::Lost;
        assert_eq!(show_phase(&memory.start()), lost);
        memory.listed("9".into(), Coverage::Complete);
        assert_eq!(show_phase(&memory.start()), kept);
    }
}

/// Upstream: rule R10.
#[test]
fn pages_are_requested_where_they_are_useful() {
    let version = || ResourceVersion::new("5");
    let cases = [
        (ListFrom::AnyCached, Some(500), Some(500)),
        (ListFrom::MostRecent, Some(500), Some(500)),
        (ListFrom::NotOlderThan(version()), None, Some(500)),
        (ListFrom::Exactly(version()), None, Some(500)),
    ];
    for (from, where_useful, always) in cases {
        let mut memory = memory(InitialState::List, None);
        assert_eq!(memory.limit(&from, None), where_useful, "{from:?}");
        assert_eq!(memory.limit(&from, Some(7)), Some(7), "{from:?}");
        memory.saw_pages_of_any_cached();
        assert_eq!(memory.limit(&from, None), always, "{from:?}");
        assert_eq!(memory.limit(&from, Some(7)), Some(7), "{from:?}");
    }
}

#[test]
fn versions_seen_only_grow_unless_they_cannot_be_compared() {
    for (last, seen, expected) in [
        (None, "5", "5"),
        (Some("5"), "6", "6"),
        (Some("5"), "5", "5"),
        (Some("5"), "4", "5"),
        (Some("9"), "10", "10"),
        (Some("a"), "b", "b"),
    ] {
        let mut memory = memory(InitialState::List, last);
        memory.observe(&seen.into());
        assert_eq!(memory.last(), Some(&expected.into()), "{last:?}, then {seen}");
    }
}

fn end(reason: EndReason, lived: u64, events: u64) -> WatchEnd {
    WatchEnd {
        reason,
        lived: Duration::from_secs(lived),
        events,
    }
}

#[test]
fn failures_become_the_states_users_see() {
    let error = answer(403);
    let wait = Duration::from_secs(3);
    let state = FailureState::BackingOff.into_state(&error, wait);
    assert!(matches!(state, State::BackingOff { retry_in, .. } if retry_in == wait));
    assert!(matches!(
        FailureState::Stalled.into_state(&error, wait),
        State::Stalled
    ));
    assert!(matches!(
        FailureState::Forbidden.into_state(&error, wait),
        State::Forbidden { .. }
    ));
    assert!(matches!(
        FailureState::NotFound.into_state(&error, wait),
        State::NotFound { .. }
    ));
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}
