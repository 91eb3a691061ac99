//! Tests of the checks on an election's options.

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Checks options that differ from the defaults by `change`; `expected` is the error's text, or nothing.
fn check(expected: &str, change: impl FnOnce(&mut Options)) {
    let mut options = Options::new("me".into());
    change(&mut options);
    let result = options.check("default", "lock");
    assert_eq!(
        result.err().map(|error| error.to_string()).unwrap_or_default(),
        expected
    );
}

/// Upstream: TestLeaderElectionConfigValidation.
#[test]
fn options_that_cannot_work_are_refused() {
    check("", |_| {});
    check("", |options| options.lease_duration = seconds(12));
    check(
        "`lease_duration` (11s) of a leader election must exceed `renew_deadline` (10s) times `clock_drift` \
         (1.1)",
        |options| options.lease_duration = seconds(11),
    );
    check("", |options| {
        options.lease_duration = seconds(11);
        options.clock_drift = 1.0;
    });
    check(
        "`renew_deadline` (10s) of a leader election must exceed `retry_period` (9s) times 1.2",
        |options| options.retry_period = seconds(9),
    );
    check(
        "`retry_period` of a leader election is 999ms; use at least 1 s",
        |options| {
            options.retry_period = Duration::from_millis(999);
        },
    );
    check(
        "`lease_duration` of a leader election is 0ns; use at least 1 s",
        |options| {
            options.lease_duration = Duration::ZERO;
        },
    );
    check("the identity of a leader election is empty", |options| {
        options.identity.clear();
    });
    check(
        "`lease_duration` of a leader election is 2147483648s; use at most 2147483647 s",
        |options| options.lease_duration = seconds(1 << 31),
    );
    for ratio in [0.9, f64::NAN, f64::INFINITY, -1.0, 10.5] {
        check(
            &format!("`clock_drift` of a leader election is {ratio}; use a ratio from 1 to 10"),
            |options| options.clock_drift = ratio,
        );
    }
}

#[test]
fn names_are_required() {
    let options = Options::new("me".into());
    let text = |namespace, name| options.check(namespace, name).map_err(|error| error.to_string());
    assert_eq!(
        text("", "lock"),
        Err("the namespace of a leader election is empty".into())
    );
    assert_eq!(
        text("default", ""),
        Err("the name of a leader election is empty".into())
    );
}

#[test]
fn the_lease_is_written_in_whole_seconds_and_never_shorter() {
    let mut options = Options::new("me".into());
    assert_eq!(options.lease_seconds(), 15);
    options.lease_duration = Duration::from_millis(15_001);
    assert_eq!(options.lease_seconds(), 16);
}
