//! Tests of medians and bars.

use super::super::rows;
use super::*;

fn row(name: &str) -> &'static Row {
    rows::all().find(|row| row.name == name).expect("an existing row")
}

fn samples(results: &[(&str, Library, &str, f64)]) -> Samples {
    let mut samples = Samples::default();
    for (name, library, figure, value) in results {
        samples.add(
            row(name),
            *library,
            Figures::from([((*figure).to_owned(), *value)]),
        );
    }
    samples
}

fn check(results: &[(&str, Library, &str, f64)], expected: Option<Verdict>) {
    let (name, _, figure, _) = results[0];
    let figure = row(name).figures.iter().find(|found| found.name == figure);
    let judged = samples(results).judge(row(name), figure.expect("an existing figure"));
    assert_eq!(overall(&judged), expected, "{results:?}");
}

#[test]
fn the_median_is_a_sample_and_the_spread_its_bounds() {
    let summary = Summary::new(vec![5.0, 1.0, 4.0, 9.0, 2.0]).expect("not empty");
    assert_eq!(
        (summary.median, summary.smallest, summary.largest),
        (4.0, 1.0, 9.0)
    );
    assert_eq!(Summary::new(Vec::new()), None);
}

#[test]
fn a_bar_is_a_multiple_of_the_result_of_client_go() {
    let check = |ours, expected| {
        let results = [
            ("sync", Library::Informers, "cpu", ours),
            ("sync", Library::ClientGo, "cpu", 100.0),
        ];
        check(&results, Some(expected));
    };
    check(51.0, Verdict::Short);
    check(50.0, Verdict::Pass);
    check(30.0, Verdict::Aim);
}

#[test]
fn a_larger_number_can_be_the_goal() {
    let check = |ours, expected| {
        let results = [
            ("updates-1000", Library::Informers, "writes_per_second", ours),
            ("updates-1000", Library::ClientGo, "writes_per_second", 100.0),
        ];
        check(&results, Some(expected));
    };
    check(199.0, Verdict::Short);
    check(200.0, Verdict::Pass);
    check(400.0, Verdict::Aim);
}

#[test]
fn no_library_may_be_ahead() {
    let check = |kube, expected| {
        let results = [
            ("sync", Library::Informers, "cpu", 30.0),
            ("sync", Library::ClientGo, "cpu", 100.0),
            ("sync", Library::Kube, "cpu", kube),
        ];
        check(&results, Some(expected));
    };
    check(29.0, Verdict::Short);
    check(31.0, Verdict::Aim);
}

#[test]
fn a_bar_can_be_a_value_or_our_result_in_another_row() {
    let relist = |ours| [("relist", Library::Informers, "peak_over_steady", ours)];
    check(&relist(1.2), Some(Verdict::Short));
    check(&relist(1.1), Some(Verdict::Pass));
    check(&relist(1.0), Some(Verdict::Aim));
    let growth = |ours| {
        [
            ("growth-16", Library::Informers, "get", ours),
            ("growth-1", Library::Informers, "get", 100.0),
        ]
    };
    check(&growth(401.0), Some(Verdict::Short));
    check(&growth(400.0), Some(Verdict::Pass));
}

#[test]
fn without_another_result_or_a_goal_there_is_no_verdict() {
    check(&[("sync", Library::Informers, "cpu", 30.0)], None);
    check(&[("growth-1", Library::Informers, "get", 30.0)], None);
    let results = [
        ("idle", Library::Informers, "first", 30.0),
        ("idle", Library::ClientGo, "first", 20.0),
    ];
    check(&results, None);
}
