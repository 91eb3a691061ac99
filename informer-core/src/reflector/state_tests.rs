//! Every decision of the reflector as a table: what happened, and what is asked next.

use super::*;
use crate::source::ServerStatus;
use crate::status::State;

/// A memory that has seen this version, if any.
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

/// A phase on one line, as the tables have it.
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

/// A decision on one line: the next request, the wait before it, the state meanwhile.
fn show(next: &Next) -> String {
    let pause = match &next.pause {
        Pause::None => "at once".to_owned(),
        Pause::Minimum => "soon".to_owned(),
        Pause::Backoff { at_least: None } => "after a step".to_owned(),
        Pause::Backoff { at_least: Some(time) } => format!("after a step, at least {time:?}"),
        Pause::Refused => "slowly".to_owned(),
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

/// Fails one list, asked for as the memory would ask, and shows what comes next.
fn check_list_failure(mode: InitialState, last: Option<&str>, failure: ListFailure, expected: &str) {
    let mut memory = memory(mode, last);
    let phase = memory.start();
    let case = format!("{}: {failure:?}", show_phase(&phase));
    assert_eq!(
        show(&memory.after_list_failure(&phase, failure)),
        expected,
        "{case}"
    );
}

#[test]
fn after_a_failed_list() {
    let check = |last, error, expected| {
        check_list_failure(InitialState::List, last, ListFailure::Failed(error), expected);
    };
    check(None, answer(403), "list any, slowly, Forbidden");
    check(None, answer(404), "list any, slowly, NotFound");
    check(Some("5"), answer(403), "list >=5, slowly, Forbidden");
    check(None, answer(410), "list newest, at once, silent");
    check(Some("5"), answer(410), "list newest, at once, silent");
    check(Some("5"), too_large(), "list newest, at once, silent");
    check(Some("5"), connect(), "list >=5, after a step, BackingOff");
    check(
        Some("5"),
        retry_after(7),
        "list >=5, after a step, at least 7s, BackingOff",
    );
    check(None, answer(500), "list any, after a step, BackingOff");
    check(None, answer(401), "list any, after a step, BackingOff");
    check(None, answer(422), "list any, after a step, BackingOff");
    check(None, transport(), "list any, after a step, BackingOff");
}

#[test]
fn after_a_failed_watch_list() {
    let check = |last, error, expected| {
        check_list_failure(
            InitialState::WatchList,
            last,
            ListFailure::Failed(error),
            expected,
        );
    };
    check(None, answer(403), "watch-list newest, slowly, Forbidden");
    check(None, answer(404), "watch-list newest, slowly, NotFound");
    check(None, answer(410), "watch-list newest, after a step, BackingOff");
    check(Some("5"), answer(410), "watch-list newest, at once, silent");
    check(Some("5"), too_large(), "watch-list newest, at once, silent");
    check(Some("5"), connect(), "watch-list >=5, after a step, BackingOff");
    check(
        None,
        retry_after(7),
        "watch-list newest, after a step, at least 7s, BackingOff",
    );
    check(None, answer(422), "list any, at once, silent");
    check(None, answer(400), "list any, at once, silent");
    check(None, answer(405), "list any, at once, silent");
    check(None, answer(406), "list any, at once, silent");
    check(None, answer(501), "list any, at once, silent");
    check(Some("5"), answer(422), "list >=5, at once, silent");
    check(None, answer(500), "list any, after a step, BackingOff");
    check(None, answer(401), "list any, after a step, BackingOff");
    check(None, answer(408), "list any, after a step, BackingOff");
    check(Some("5"), transport(), "list >=5, after a step, BackingOff");
}

#[test]
fn after_a_list_of_the_newest_state_expired_there_is_a_wait() {
    for mode in [InitialState::List, InitialState::WatchList] {
        for error in [answer(410), too_large()] {
            let mut memory = memory(mode, Some("5"));
            memory.continuity = Continuity::Lost;
            let phase = memory.start();
            let next = memory.after_list_failure(&phase, ListFailure::Failed(error));
            assert_eq!(next.phase, phase);
            assert_eq!(next.pause, Pause::Backoff { at_least: None });
        }
    }
}

#[test]
fn an_older_state_is_followed_by_the_newest_after_a_wait() {
    for (mode, expected) in [
        (InitialState::List, "list newest, after a step, BackingOff"),
        (
            InitialState::WatchList,
            "watch-list newest, after a step, BackingOff",
        ),
    ] {
        check_list_failure(mode, Some("5"), ListFailure::Older(transport()), expected);
    }
}

#[test]
fn a_silent_watch_list_is_refused() {
    let mut memory = memory(InitialState::WatchList, Some("5"));
    let phase = memory.start();
    let next = memory.after_list_failure(&phase, ListFailure::Silent(transport()));
    assert_eq!(show(&next), "list >=5, at once, BackingOff");
    assert_eq!(show_phase(&memory.start()), "list >=5");
    assert!(matches!(memory.verdict(), WatchListVerdict::Refused(_)));
}

#[test]
fn a_second_unfinished_watch_list_is_refused() {
    let mut memory = memory(InitialState::WatchList, None);
    let phase = memory.start();
    let next = memory.after_list_failure(&phase, ListFailure::Unfinished);
    assert_eq!(show(&next), "watch-list newest, after a step, BackingOff");
    let next = memory.after_list_failure(&phase, ListFailure::Unfinished);
    assert_eq!(show(&next), "list any, at once, BackingOff");
    assert_eq!(show_phase(&memory.start()), "list any");
}

#[test]
fn a_watch_list_that_worked_restarts_the_count_of_unfinished_ones() {
    let mut memory = memory(InitialState::WatchList, None);
    let phase = memory.start();
    memory.after_list_failure(&phase, ListFailure::Unfinished);
    memory.streamed("5".into(), Coverage::Complete);
    assert_eq!(memory.verdict(), WatchListVerdict::Works);
    let next = memory.after_list_failure(&phase, ListFailure::Unfinished);
    assert_eq!(show(&next), "watch-list >=5, after a step, BackingOff");
    let next = memory.after_list_failure(&phase, ListFailure::Unfinished);
    assert_eq!(show(&next), "list >=5, after a step, BackingOff");
    assert_eq!(memory.verdict(), WatchListVerdict::Works);
}

fn end(reason: EndReason, lived: u64, events: u64) -> WatchEnd {
    WatchEnd {
        reason,
        lived: Duration::from_secs(lived),
        events,
    }
}

/// Ends one watch after version 5, with version 8 seen meanwhile, and shows what comes next.
fn check_watch_end(end: WatchEnd, expected: &str) {
    let mut memory = memory(InitialState::List, Some("5"));
    memory.observe(&"8".into());
    let case = format!("{end:?}");
    assert_eq!(show(&memory.after_watch("5".into(), end)), expected, "{case}");
}

#[test]
fn after_a_watch() {
    use EndReason::{Closed, Doubted, Failed, Overdue, UnreadableDelete};
    let check = check_watch_end;
    let overdue = |silent| Overdue {
        silent_for: Duration::from_secs(silent),
    };
    check(end(Closed, 300, 4), "watch after 8, soon, silent");
    check(end(Closed, 1, 0), "watch after 8, soon, silent");
    check(end(Closed, 0, 0), "watch after 8, after a step, BackingOff");
    check(end(Closed, 0, 4), "watch after 8, after a step, BackingOff");
    check(end(overdue(600), 600, 0), "watch after 8, after a step, Stalled");
    check(end(overdue(200), 600, 4), "watch after 8, after a step, Stalled");
    check(end(overdue(179), 600, 4), "watch after 8, soon, silent");
    check(end(UnreadableDelete, 60, 1), "list >=8, after a step, BackingOff");
    check(end(Doubted, 60, 1), "list newest, at once, silent");
    check(end(Failed(answer(403)), 0, 0), "list >=8, slowly, Forbidden");
    check(end(Failed(answer(404)), 0, 0), "list >=8, slowly, NotFound");
    check(
        end(Failed(answer(410)), 0, 0),
        "list >=8, after a step, BackingOff",
    );
    check(
        end(Failed(reason(500, "StorageReadError")), 9, 1),
        "list >=8, after a step, BackingOff",
    );
    check(
        end(Failed(too_large()), 0, 0),
        "list newest, after a step, BackingOff",
    );
    check(
        end(Failed(connect()), 0, 0),
        "watch after 8, after a step, BackingOff",
    );
    check(
        end(Failed(retry_after(7)), 60, 0),
        "watch after 8, after a step, at least 7s, BackingOff",
    );
    check(
        end(Failed(answer(500)), 0, 0),
        "watch after 8, after a step, BackingOff",
    );
    check(end(Failed(transport()), 60, 3), "watch after 8, soon, silent");
    check(
        end(Failed(transport()), 60, 0),
        "watch after 8, after a step, BackingOff",
    );
    check(
        end(Failed(transport()), 0, 3),
        "watch after 8, after a step, BackingOff",
    );
    check(
        end(Failed(answer(500)), 60, 3),
        "watch after 8, after a step, BackingOff",
    );
    check(
        end(Failed(answer(401)), 0, 0),
        "watch after 8, after a step, BackingOff",
    );
}

#[test]
fn a_watch_without_anything_seen_resumes_where_it_began() {
    let mut memory = memory(InitialState::List, None);
    let next = memory.after_watch("5".into(), end(EndReason::Closed, 300, 0));
    assert_eq!(show_phase(&next.phase), "watch after 5");
}

/// Plays watches that are closed after these seconds with these numbers of events, and shows the last request.
fn after_quiet(watches: &[(u64, u64)]) -> String {
    let mut memory = memory(InitialState::List, Some("5"));
    let mut last = String::new();
    for (lived, events) in watches {
        let next = memory.after_watch("5".into(), end(EndReason::Closed, *lived, *events));
        last = show_phase(&next.phase);
    }
    last
}

#[test]
fn two_whole_watches_without_anything_put_the_version_in_doubt() {
    assert_eq!(after_quiet(&[(300, 0)]), "watch after 5");
    assert_eq!(after_quiet(&[(300, 0), (300, 0)]), "probe 5");
    assert_eq!(after_quiet(&[(300, 0), (300, 0), (300, 0)]), "watch after 5");
    assert_eq!(after_quiet(&[(300, 0), (300, 1), (300, 0)]), "watch after 5");
    assert_eq!(after_quiet(&[(300, 0), (60, 0)]), "watch after 5");
    assert_eq!(after_quiet(&[(300, 0), (60, 0), (180, 0)]), "probe 5");
}

#[test]
fn a_server_that_is_behind_the_watched_version_is_read_from_its_newest_state() {
    for (newest, expected) in [
        (Ok(Some("4")), "list newest"),
        (Ok(Some("5")), "watch after 5"),
        (Ok(Some("6")), "watch after 5"),
        (Ok(Some("opaque")), "watch after 5"),
        (Ok(None), "watch after 5"),
        (Err(retry_after(7)), "watch after 5"),
    ] {
        let mut memory = memory(InitialState::List, Some("5"));
        let found = newest.map(|version| version.map(ResourceVersion::new));
        let next = memory.after_probe("5".into(), found);
        assert_eq!(show_phase(&next.phase), expected);
    }
}

#[test]
fn a_probe_that_fails_waits_as_long_as_the_server_says() {
    let mut memory = memory(InitialState::List, Some("5"));
    let next = memory.after_probe("5".into(), Err(retry_after(7)));
    assert_eq!(
        next.pause,
        Pause::Backoff {
            at_least: Some(Duration::from_secs(7))
        }
    );
    assert!(next.report.is_some());
}

/// Fails watches with these numbers of events and of seconds, and shows which of them led to a list.
fn relists(mode: InitialState, ends: &[(u64, u64)], reason: impl Fn() -> EndReason) -> Vec<usize> {
    let mut memory = memory(mode, Some("5"));
    let mut relists = Vec::new();
    for (index, (events, lived)) in ends.iter().enumerate() {
        let next = memory.after_watch("5".into(), end(reason(), *lived, *events));
        if !matches!(next.phase, Phase::Watch { .. }) {
            relists.push(index);
        }
    }
    relists
}

/// Upstream: TestRetryWithDeadline. There failures are retried for a time; here they are counted.
#[test]
fn every_fifth_failure_in_a_row_reads_everything_again() {
    let failed = || EndReason::Failed(answer(500));
    assert_eq!(relists(InitialState::List, &[(0, 0); 11], failed), [4, 9]);
    assert_eq!(relists(InitialState::WatchList, &[(0, 0); 5], failed), [4]);
    assert_eq!(
        relists(InitialState::List, &[(0, 0); 5], || EndReason::Closed),
        [4]
    );
    let with_an_event = [
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
        (1, 0),
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
    ];
    assert_eq!(relists(InitialState::List, &with_an_event, failed), [8]);
    // Silent watches count as failures do.
    let overdue = || EndReason::Overdue {
        silent_for: Duration::from_secs(400),
    };
    assert_eq!(relists(InitialState::List, &[(0, 400); 11], overdue), [4, 9]);
    // A server that nobody can reach, or that asks for fewer requests, is not helped by a list.
    assert!(relists(InitialState::List, &[(0, 0); 20], || EndReason::Failed(connect())).is_empty());
    assert!(
        relists(InitialState::List, &[(0, 0); 20], || EndReason::Failed(
            retry_after(1)
        ))
        .is_empty()
    );
}

#[test]
fn a_close_in_good_order_restarts_the_count_of_failures() {
    let mut memory = memory(InitialState::List, Some("5"));
    for _ in 0..3 {
        for _ in 0..4 {
            let next = memory.after_watch("5".into(), end(EndReason::Failed(transport()), 0, 0));
            assert_eq!(show_phase(&next.phase), "watch after 5");
        }
        memory.after_watch("5".into(), end(EndReason::Closed, 300, 0));
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

#[test]
fn a_silent_watch_list_that_has_worked_before_is_no_verdict() {
    let mut memory = memory(InitialState::WatchList, Some("5"));
    memory.streamed("5".into(), Coverage::Complete);
    let phase = Phase::WatchList {
        from: WatchListFrom::NotOlderThan("5".into()),
    };
    let next = memory.after_list_failure(&phase, ListFailure::Silent(transport()));
    let expected = Phase::List {
        from: ListFrom::NotOlderThan("5".into()),
    };
    assert_eq!(next.phase, expected, "this once by LIST");
    assert!(matches!(next.pause, Pause::Backoff { .. }));
    assert_eq!(memory.verdict(), WatchListVerdict::Works);
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

#[test]
fn only_data_and_a_way_to_go_on_prove_health() {
    use EndReason::{Closed, Failed, Overdue, UnreadableDelete, WentBack};
    let overdue = |silent| Overdue {
        silent_for: seconds(silent),
    };
    for (end, expected) in [
        (end(Closed, 60, 1), Health::Proven),
        (end(Closed, 0, 1), Health::For(seconds(0))),
        (end(Closed, 60, 0), Health::For(seconds(60))),
        (end(Failed(transport()), 60, 1), Health::Proven),
        (end(Failed(transport()), 60, 0), Health::For(seconds(60))),
        (end(Failed(answer(500)), 60, 1), Health::Proven),
        (end(Failed(retry_after(1)), 60, 1), Health::Proven),
        (end(Failed(answer(410)), 60, 1), Health::For(seconds(60))),
        (end(Failed(answer(403)), 60, 1), Health::For(seconds(60))),
        (end(Failed(too_large()), 60, 1), Health::For(seconds(60))),
        (end(UnreadableDelete, 60, 1), Health::For(seconds(60))),
        (end(WentBack, 60, 1), Health::For(seconds(60))),
        (end(overdue(20), 600, 1), Health::Proven),
        (end(overdue(200), 600, 1), Health::For(seconds(400))),
        (end(overdue(600), 600, 0), Health::For(seconds(0))),
    ] {
        assert_eq!(end.health(), expected, "{end:?}");
    }
}

fn no_answer(after: u64) -> SourceError {
    SourceError::Deadline {
        what: "the answer to a request",
        after: seconds(after),
    }
}

#[test]
fn each_late_answer_is_given_twice_the_time_up_to_ten_minutes() {
    let mut memory = memory(InitialState::List, None);
    assert_eq!(memory.answer_within(), None);
    for (after, granted) in [
        (30, 60),
        (60, 120),
        (120, 240),
        (400, 600),
        (600, 600),
        (900, 900),
    ] {
        let phase = memory.start();
        let next = memory.after_list_failure(&phase, ListFailure::Failed(no_answer(after)));
        assert_eq!(show(&next), "list any, after a step, BackingOff");
        assert_eq!(memory.answer_within(), Some(seconds(granted)), "after {after} s");
    }
    memory.listed("5".into(), Coverage::Complete);
    assert_eq!(memory.answer_within(), None);
    memory.after_watch("5".into(), WatchEnd::unopened(no_answer(30)));
    assert_eq!(memory.answer_within(), Some(seconds(60)));
    memory.answered();
    assert_eq!(memory.answer_within(), None);
    // Other silences have their own limits.
    let idle = SourceError::Deadline {
        what: "the next part of a list",
        after: seconds(60),
    };
    memory.after_list_failure(&ANY, ListFailure::Failed(idle));
    assert_eq!(memory.answer_within(), None);
}

const ANY: Phase = Phase::List {
    from: ListFrom::AnyCached,
};

#[test]
fn a_version_that_is_refused_three_times_is_given_up() {
    for code in [400, 414, 422, 431] {
        let mut memory = memory(InitialState::List, Some("5"));
        for expected in [
            "watch after 5, after a step, BackingOff",
            "watch after 5, after a step, BackingOff",
            "list newest, after a step, BackingOff",
        ] {
            let next = memory.after_watch("5".into(), WatchEnd::unopened(answer(code)));
            assert_eq!(show(&next), expected, "{code}");
        }
        memory.listed("6".into(), Coverage::Complete);
        for expected in ["list >=6", "list >=6", "list newest"] {
            let phase = memory.start();
            let next = memory.after_list_failure(&phase, ListFailure::Failed(answer(code)));
            assert_eq!(show_phase(&next.phase), expected, "{code}");
        }
    }
}

#[test]
fn data_in_between_restarts_the_count_of_refused_versions() {
    let mut memory = memory(InitialState::List, Some("5"));
    for _ in 0..3 {
        for _ in 0..2 {
            let next = memory.after_watch("5".into(), WatchEnd::unopened(answer(400)));
            assert_eq!(show_phase(&next.phase), "watch after 5");
        }
        memory.after_watch("5".into(), end(EndReason::Closed, 60, 1));
    }
}

#[test]
fn only_a_list_that_works_turns_an_unclear_refusal_into_a_verdict() {
    for code in [400, 405, 406, 422, 501] {
        let mut memory = memory(InitialState::WatchList, None);
        let phase = memory.start();
        let next = memory.after_list_failure(&phase, ListFailure::Failed(answer(code)));
        assert_eq!(show(&next), "list any, at once, silent", "{code}");
        assert_eq!(memory.verdict(), WatchListVerdict::Unknown, "{code}");
        let again = memory.after_list_failure(&next.phase, ListFailure::Failed(answer(code)));
        assert_eq!(
            show(&again),
            "watch-list newest, after a step, BackingOff",
            "{code}: it was not the stream"
        );
        let next = memory.after_list_failure(&again.phase, ListFailure::Failed(answer(code)));
        assert_eq!(show_phase(&next.phase), "list any", "{code}");
        memory.listed("5".into(), Coverage::Complete);
        assert!(
            matches!(memory.verdict(), WatchListVerdict::Refused(_)),
            "{code}: it was the stream"
        );
    }
}

#[test]
fn a_refusal_that_names_the_parameters_is_a_verdict_at_once() {
    for message in [
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        "resourceVersionMatch is forbidden for watch",
    ] {
        let mut memory = memory(InitialState::WatchList, Some("5"));
        let error = SourceError::Status {
            status: ServerStatus {
                code: 422,
                message: message.to_owned(),
                ..ServerStatus::default()
            },
        };
        let phase = memory.start();
        let next = memory.after_list_failure(&phase, ListFailure::Failed(error));
        assert_eq!(show(&next), "list >=5, at once, silent");
        assert!(matches!(memory.verdict(), WatchListVerdict::Refused(_)));
        assert_eq!(show_phase(&memory.start()), "list >=5");
        memory.advance(Instant::now() + seconds(31 * 60));
        assert_eq!(
            show_phase(&memory.start()),
            "watch-list >=5",
            "the verdict expires"
        );
    }
}
