//! Decisions after watches and probes.

use super::*;

/// Ends a watch from version 5 that has delivered version 8, and checks what follows.
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

/// Closes watches after these seconds and numbers of events, and formats the request that follows the last.
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

/// Ends watches with these numbers of events and seconds, and returns which of them led to a list.
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
    // A server that is unreachable or overloaded is not helped by a list.
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
