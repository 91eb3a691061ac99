//! The judge and the comparer on small histories written by hand.

use crate::differential::{Differences, Gaps, Reason, Side, compare, judge};
use crate::oracle::{Delivered, EventVerb, History, Presence, Revision};
use crate::proxy::Asked;

/// One name, written as `1a 2a 3a- 4b`: version and object, and a minus where it is deleted.
fn history(text: &str) -> History {
    let mut history = History::default();
    for word in text.split_whitespace() {
        let (word, presence) = match word.strip_suffix('-') {
            Some(word) => (word, Presence::Gone),
            None => (word, Presence::There),
        };
        let (rv, uid) = word.split_at(word.len() - 1);
        history.push(
            "ns/x",
            Revision {
                rv: rv.parse().unwrap(),
                uid: uid.to_owned(),
                presence,
            },
        );
    }
    history
}

/// Events, written as `+1a` (`i1a` if initial), `=2a`, `-3a` (`?2a` if missed).
fn events(text: &str) -> Vec<Delivered> {
    let event = |word: &str| {
        let (sign, rest) = word.split_at(1);
        let (rv, uid) = rest.split_at(rest.len() - 1);
        let verb = match sign {
            "+" | "i" => EventVerb::Add,
            "=" => EventVerb::Update,
            _ => EventVerb::Delete,
        };
        Delivered {
            verb,
            key: "ns/x".to_owned(),
            rv: rv.to_owned(),
            uid: uid.to_owned(),
            initial: sign == "i",
            missed: sign == "?",
        }
    };
    text.split_whitespace().map(event).collect()
}

fn check_refused(happened: &str, delivered: &str, why: &str) {
    let error = judge(&history(happened), &events(delivered)).unwrap_err();
    assert!(error.contains(why), "{delivered} of {happened}: {error}");
}

/// Both sides made the same requests.
fn differences(happened: &str, ours: &str, theirs: &str, asked: &[Asked]) -> Result<Differences, String> {
    let history = history(happened);
    let ours = judge(&history, &events(ours))?;
    let theirs = judge(&history, &events(theirs))?;
    let gaps = Gaps::between(asked);
    let side = |account| Side { account, gaps: &gaps };
    compare(&history, &side(&ours), &side(&theirs))
}

fn check(happened: &str, ours: &str, theirs: &str, reasons: &[(Reason, u64)]) {
    let found = differences(happened, ours, theirs, &[Asked::State]).unwrap();
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        reasons,
        "{ours} | {theirs}"
    );
}

#[test]
fn what_never_happened_or_is_told_wrongly_is_no_account() {
    check_refused("1a 2a", "+1a =3a", "never had");
    check_refused("1a 2a", "+1b =2b", "never had");
    check_refused("1a 2a", "=2a", "never added");
    check_refused("1a 2a 3a", "+2a =1a =3a", "backwards");
    check_refused("1a 2a- 3b", "+1a -2a +1a", "backwards");
    check_refused("1a 2a", "+1a", "ends as");
    check_refused("1a 2a-", "+1a", "ends as");
    check_refused("1a 2a", "+1a ?1a", "never deleted");
    check_refused("1a 2a 3a-", "+2a ?1a", "not the last one delivered");
}

#[test]
fn the_same_story_has_no_differences() {
    check("1a 2a 3a- 4b", "+1a =2a -3a +4b", "+1a =2a -3a +4b", &[]);
    check("1a 2a 3a- 4b", "i2a ?2a +4b", "i2a ?2a +4b", &[]);
}

#[test]
fn every_difference_has_its_reason() {
    check("1a 2a 3a", "+1a =2a =3a", "+1a =3a", &[(Reason::Coalesced, 1)]);
    check(
        "1a 2a",
        "i2a",
        "+1a =2a",
        &[
            (Reason::BeforeInitial, 1),
            (Reason::InitialOrLive, 1),
            (Reason::AddOrUpdate, 1),
        ],
    );
    check(
        "1a 2a-",
        "+1a -2a",
        "+1a ?1a",
        &[(Reason::TombstoneOrObserved, 1)],
    );
    check(
        "1a 2a- 3b 4b- 5c",
        "+1a -2a +3b -4b +5c",
        "+1a -2a +5c",
        &[(Reason::LifeUnseen, 2)],
    );
    check(
        "1a 2a- 3b",
        "+1a ?1a +3b",
        "+1a =3b",
        &[(Reason::RecreationAsUpdate, 1)],
    );
    check("1a 2a", "+1a =2a", "+1a =1a =2a =2a", &[(Reason::Repeated, 2)]);
    check("1a 2a-", "+1a -2a", "+1a -2a -2a", &[(Reason::DeletedTwice, 1)]);
}

#[test]
fn a_gap_without_a_relist_has_no_reason() {
    assert!(
        differences(
            "1a 2a 3a",
            "+1a =2a =3a",
            "+1a =3a",
            &[Asked::State, Asked::Since(1)]
        )
        .is_err()
    );
}

#[test]
fn what_client_go_may_do_ours_may_not() {
    for (happened, ours, theirs) in [
        ("1a 2a- 3b", "+1a =3b", "+1a -2a +3b"),
        ("1a 2a", "+1a =1a =2a", "+1a =2a"),
        ("1a 2a-", "+1a -2a -2a", "+1a -2a"),
    ] {
        assert!(
            differences(happened, ours, theirs, &[Asked::State]).is_err(),
            "{ours}"
        );
    }
}
