//! Decisions after lists and watch-lists.

use super::*;

/// Fails the list that the memory would request, and checks what follows.
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
    assert_eq!(next.phase, expected, "one LIST");
    assert!(matches!(next.pause, Pause::Backoff { .. }));
    assert_eq!(memory.verdict(), WatchListVerdict::Works);
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
    // Other deadlines do not change the limit.
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
            "{code}: the list failed too"
        );
        let next = memory.after_list_failure(&again.phase, ListFailure::Failed(answer(code)));
        assert_eq!(show_phase(&next.phase), "list any", "{code}");
        memory.listed("5".into(), Coverage::Complete);
        assert!(
            matches!(memory.verdict(), WatchListVerdict::Refused(_)),
            "{code}: the list succeeded"
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
