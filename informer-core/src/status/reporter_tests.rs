//! What each report changes in the status, and how the states are ordered.

use std::sync::Mutex;
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Id, Metadata, Subscriber, span};

use super::*;
use crate::status::{Counts, Coverage};

fn board() -> (Arc<StatusBoard>, Reporter) {
    let board = Arc::new(StatusBoard::new("pods".to_owned(), &[Scope::All], None));
    let reporter = board.reporter(&Scope::All);
    (board, reporter)
}

fn scope(board: &StatusBoard) -> ScopeStatus {
    board.scopes().remove(0)
}

fn backing_off(reporter: &Reporter) {
    let error = SourceError::Transport("reset".to_owned());
    let retry_in = Duration::from_secs(1);
    reporter.failed(
        &error,
        State::BackingOff {
            error: error.clone(),
            retry_in,
        },
    );
}

fn position(version: &str) -> Position {
    Position {
        version: Some(version.into()),
        coverage: Coverage::Complete,
    }
}

#[tokio::test(start_paused = true)]
async fn only_received_objects_are_contact() {
    let (board, reporter) = board();
    reporter.list_begins();
    let begun = scope(&board);
    assert!(
        matches!(begun.state, State::Listing { received: 0, .. }),
        "{}",
        begun.state
    );
    assert_eq!(begun.last_contact, None, "a request is no contact");
    reporter.listing(1, Some(7));
    let first = scope(&board);
    let expected = State::Listing {
        received: 1,
        expected: Some(7),
    };
    assert_eq!(first.state.to_string(), expected.to_string());
    assert_eq!(first.last_contact, Some(Instant::now()));
}

#[tokio::test(start_paused = true)]
async fn a_failure_stays_visible_until_the_next_list_receives_an_object() {
    let (board, reporter) = board();
    backing_off(&reporter);
    reporter.list_begins();
    assert_eq!(scope(&board).state.name(), "BackingOff");
    reporter.listing(1, None);
    assert_eq!(scope(&board).state.name(), "Listing");
}

#[tokio::test(start_paused = true)]
async fn an_event_makes_a_stalled_scope_live_and_no_other() {
    let (board, reporter) = board();
    backing_off(&reporter);
    reporter.event(EventKind::Modified, &position("5"), Instant::now());
    assert_eq!(scope(&board).state.name(), "BackingOff", "the watch has ended");
    reporter.failed(&SourceError::Transport("silent".to_owned()), State::Stalled);
    reporter.opened();
    assert_eq!(scope(&board).state.name(), "Stalled", "opening proves nothing");
    reporter.event(EventKind::Modified, &position("6"), Instant::now());
    let live = scope(&board);
    assert_eq!((live.state.name(), live.counts.events), ("Live", 2));
    assert_eq!(live.version, Some("6".into()));
}

#[tokio::test(start_paused = true)]
async fn a_complete_list_is_kept_with_its_duration_and_size() {
    let (board, reporter) = board();
    reporter.list_begins();
    tokio::time::advance(Duration::from_secs(3)).await;
    reporter.listing(2, None);
    // Progress of no objects, as for an empty page, is not another beginning.
    reporter.listing(0, None);
    reporter.listing(7, None);
    tokio::time::advance(Duration::from_secs(1)).await;
    reporter.listed(&position("5"), 0);
    let last = scope(&board).last_list.unwrap();
    assert_eq!(
        (last.at, last.took, last.objects),
        (Instant::now(), Duration::from_secs(4), 7)
    );
}

#[tokio::test(start_paused = true)]
async fn events_are_counted_by_type_and_bookmarks_are_not_the_last_event() {
    let (board, reporter) = board();
    let kinds = [
        EventKind::Added,
        EventKind::Modified,
        EventKind::Modified,
        EventKind::Deleted,
        EventKind::Other,
    ];
    for kind in kinds {
        reporter.event(kind, &position("5"), Instant::now());
    }
    let last_event = Some(Instant::now());
    tokio::time::advance(Duration::from_secs(60)).await;
    reporter.event(EventKind::Bookmark, &position("6"), Instant::now());
    let scope = scope(&board);
    let Counts {
        events,
        added,
        modified,
        deleted,
        bookmarks,
        ..
    } = scope.counts;
    assert_eq!((events, added, modified, deleted, bookmarks), (6, 1, 2, 1, 1));
    assert_eq!(
        (scope.last_event, scope.last_contact),
        (last_event, Some(Instant::now()))
    );
}

#[tokio::test(start_paused = true)]
async fn data_ages_since_it_arrived_or_since_the_last_commit_if_some_is_missing() {
    let (board, reporter) = board();
    reporter.listed(&position("5"), 0);
    board.set_committed();
    let aged = |version: Option<&str>| {
        let mut scope = scope(&board);
        scope.set_age(
            version.map(Into::into).as_ref(),
            board.committed(),
            Instant::now(),
        );
        scope.age.map(|age| age.as_secs())
    };
    tokio::time::advance(Duration::from_secs(10)).await;
    reporter.event(EventKind::Bookmark, &position("6"), Instant::now());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(aged(Some("6")), Some(2), "the cache has everything that arrived");
    assert_eq!(aged(Some("5")), Some(12), "the bookmark is not committed");
    assert_eq!(aged(None), None, "nothing was committed");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_failed_transforms_is_kept() {
    let (board, _) = board();
    assert_eq!(board.transform_failures(), 0);
    board.set_transform_failures(3);
    assert_eq!(board.transform_failures(), 3);
}

#[test]
fn the_worst_state_of_several_scopes_is_that_of_the_informer() {
    let error = || SourceError::Transport("reset".to_owned());
    let ordered = [
        State::Live,
        State::Listing {
            received: 0,
            expected: None,
        },
        State::Stalled,
        State::BackingOff {
            error: error(),
            retry_in: Duration::ZERO,
        },
        State::NotFound { error: error() },
        State::Forbidden { error: error() },
        State::NotStarted,
        State::Stopped,
    ];
    for pair in ordered.windows(2) {
        assert!(
            pair[0].severity() < pair[1].severity(),
            "{} and {}",
            pair[0],
            pair[1]
        );
    }
}

/// Collects the text of every log line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        if let Ok(mut lines) = self.0.lock() {
            lines.push(line.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_list_is_logged_once_per_reason() {
    let log = Log::default();
    // With two subscribers tracing does not ask the threads of other tests whether a line is wanted.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let _logging = tracing::subscriber::set_default(log.clone());
    let (board, reporter) = board();
    let refused = |reason: &str| WatchListVerdict::Refused(reason.to_owned());
    for verdict in [
        WatchListVerdict::Unknown,
        WatchListVerdict::Works,
        refused("an old server"),
        refused("an old server"),
        refused("a gate"),
        WatchListVerdict::Off,
    ] {
        reporter.watch_list(verdict.clone());
        assert_eq!(scope(&board).watch_list, verdict);
    }
    let lines = log.0.lock().unwrap();
    let reasons: Vec<bool> = lines.iter().map(|line| line.contains("reason=a gate")).collect();
    assert_eq!(reasons, [false, true], "{lines:?}");
}
