//! The processor without an informer: which listeners are kept, what they receive, and which locks are
//! held.

use std::sync::mpsc;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;

use super::distribution::PORTION;
use super::*;
use crate::handler::{Event, Origin, Overflow, UpdateCause};
use crate::key::ObjectKey;
use crate::store::{self, Indexer, IndexerWriter};

/// Far longer than any test here takes: reached only by a deadlock, which must fail and not hang.
const LIMIT: Duration = Duration::from_secs(60);

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    Arc::new(object)
}

fn added(name: &str) -> Event<ConfigMap> {
    Event::added(object(name), Origin::Live)
}

/// A store with its processor, as a committer has them.
struct Fixture {
    processor: Processor<ConfigMap>,
    writer: IndexerWriter<ConfigMap>,
    indexer: Indexer<ConfigMap>,
}

impl Fixture {
    fn new(check_period: Option<Duration>) -> Self {
        let (writer, indexer) = store::new();
        Self {
            processor: Processor::new("configmaps", check_period),
            writer,
            indexer,
        }
    }

    fn add(&self, options: &HandlerOptions, served: Served) -> Arc<Listener<ConfigMap>> {
        let snapshot = || self.indexer.snapshot();
        self.processor
            .add_or_ended("it".to_owned(), options, served, snapshot)
    }

    fn handler(&self) -> Arc<Listener<ConfigMap>> {
        self.add(&HandlerOptions::default(), Served::ByTask)
    }

    fn stream(&self) -> EventStream<ConfigMap> {
        EventStream::new(self.add(&HandlerOptions::default(), Served::ByReader))
    }

    /// Commits additions, and returns the distribution of their events.
    fn publish(&mut self, names: &[String]) -> Distribution<'_, ConfigMap> {
        let mut commit = self.writer.begin();
        for name in names {
            commit.upsert(ObjectKey::cluster(name.as_str()), object(name));
        }
        let publication = self.processor.publication();
        commit.publish();
        let mut distribution = publication.distribute();
        for name in names {
            distribution.deliver(Audience::All, added(name).into());
        }
        distribution
    }

    fn commit(&mut self, name: &str) {
        drop(self.publish(&[name.to_owned()]));
    }
}

/// The events that wait for a handler, as `+name` from the snapshot and `name` from commits.
fn received(listener: &Listener<ConfigMap>) -> Vec<String> {
    std::iter::from_fn(|| listener.take())
        .map(|event| {
            let sign = match event {
                Event::Added {
                    origin: Origin::Initial,
                    ..
                } => "+",
                _ => "",
            };
            format!(
                "{sign}{}",
                event.key().expect("every object here has a name").name()
            )
        })
        .collect()
}

#[test]
fn streams_dropped_after_an_event_are_swept() {
    let mut fixture = Fixture::new(None);
    fixture.commit("a");
    for _ in 0..100 {
        let mut stream = fixture.stream();
        let event = stream.next().now_or_never().flatten();
        assert!(event.is_some(), "a stream starts with the snapshot");
    }
    assert!(fixture.processor.kept() <= 1, "adding sweeps removed listeners");
    assert_eq!(fixture.processor.busy(), Vec::<String>::new());
    fixture.commit("b");
    assert_eq!(fixture.processor.kept(), 0, "a commit sweeps removed listeners");
}

#[test]
fn a_reader_between_two_polls_is_not_busy() {
    let mut fixture = Fixture::new(None);
    fixture.commit("a");
    let mut stream = fixture.stream();
    assert!(stream.next().now_or_never().flatten().is_some());
    assert_eq!(fixture.processor.busy(), Vec::<String>::new());
    assert_eq!(stream.registration().status().busy_for, None);
}

#[test]
fn removed_handlers_are_swept_without_a_commit() {
    let fixture = Fixture::new(Some(Duration::from_secs(10)));
    for _ in 0..100 {
        let listener = fixture.handler();
        let _serving = listener.serve();
        drop(Registration::new(listener.clone()).remove());
    }
    assert!(fixture.processor.kept() <= 1, "{}", fixture.processor.kept());
    let due = fixture.processor.due(Instant::now() + Duration::from_secs(60));
    assert_eq!(due, None, "removed handlers have no resyncs");
}

#[test]
fn a_removed_handler_inside_its_last_call_is_kept_until_it_returns() {
    let mut fixture = Fixture::new(None);
    fixture.commit("a");
    let listener = fixture.handler();
    let serving = listener.serve();
    assert!(listener.take().is_some());
    drop(Registration::new(listener.clone()).remove());
    fixture.commit("b");
    assert_eq!(fixture.processor.busy(), ["it"]);
    listener.returned(None);
    fixture.commit("c");
    assert_eq!(fixture.processor.kept(), 0);
    drop(serving);
}

/// A removal inside the handler itself cannot wait for its end; one inside another handler can.
#[test]
fn a_removal_inside_a_handler_waits_for_other_handlers_only() {
    let fixture = Fixture::new(None);
    let (one, other) = (fixture.handler(), fixture.handler());
    let (_serving, other_serving) = (one.serve(), other.serve());
    let mut removal = one.inside(|| Registration::new(other.clone()).remove());
    assert!(
        (&mut removal).now_or_never().is_none(),
        "the other one still runs"
    );
    drop(other_serving);
    assert!(removal.now_or_never().is_some());
    let removal = one.inside(|| Registration::new(one.clone()).remove());
    assert!(removal.now_or_never().is_some());
}

/// A runtime that shuts down drops the tasks of handlers at any await.
#[test]
fn a_task_dropped_inside_a_call_is_no_longer_busy() {
    let mut fixture = Fixture::new(None);
    fixture.commit("a");
    let listener = fixture.handler();
    let serving = listener.serve();
    assert!(listener.take().is_some());
    assert_eq!(fixture.processor.busy(), ["it"]);
    drop(serving);
    assert_eq!(fixture.processor.busy(), Vec::<String>::new());
    drop(Registration::new(listener).remove());
    fixture.commit("b");
    assert_eq!(fixture.processor.kept(), 0);
}

#[test]
fn only_active_listeners_are_visited() {
    let mut fixture = Fixture::new(None);
    let disconnect = HandlerOptions::default()
        .buffer(1)
        .on_overflow(Overflow::Disconnect);
    let slow = fixture.add(&disconnect, Served::ByTask);
    let _active = fixture.handler();
    assert_eq!(fixture.publish(&["a".to_owned(), "b".to_owned()]).recipients(), 2);
    assert_eq!(
        slow.status().state,
        HandlerState::Ended(HandlerEnded::Disconnected)
    );
    assert_eq!(fixture.publish(&["c".to_owned()]).recipients(), 1);
    assert_eq!(
        fixture.processor.kept(),
        2,
        "a disconnected handler is kept until it is removed"
    );
}

#[test]
fn status_and_new_handlers_do_not_wait_for_a_distribution() {
    let (done, outcome) = mpsc::channel();
    // On its own thread, so that a deadlock fails this test instead of hanging it.
    std::thread::spawn(move || {
        let mut fixture = Fixture::new(None);
        let early = fixture.handler();
        let mut commit = fixture.writer.begin();
        commit.upsert(ObjectKey::cluster("a"), object("a"));
        let publication = fixture.processor.publication();
        commit.publish();
        let mut distribution = publication.distribute();
        distribution.deliver(Audience::All, added("a").into());
        let seen = fixture.processor.status().len();
        let late = fixture.handler();
        distribution.deliver(Audience::All, added("b").into());
        drop(distribution);
        let _ = done.send((seen, received(&early), received(&late)));
    });
    let (seen, early, late) = outcome
        .recv_timeout(LIMIT)
        .expect("status or add waited for the distribution");
    assert_eq!(seen, 1);
    assert_eq!(early, ["a", "b"]);
    assert_eq!(
        late,
        ["+a"],
        "the commit is in its snapshot, so it does not receive its events"
    );
}

#[test]
fn a_handler_added_while_the_initial_state_is_delivered_syncs() {
    let mut fixture = Fixture::new(None);
    let early = fixture.handler();
    let mut commit = fixture.writer.begin();
    commit.upsert(ObjectKey::cluster("a"), object("a"));
    let mut publication = fixture.processor.publication();
    commit.publish();
    publication.complete_initial_state();
    let mut distribution = publication.distribute();
    let late = fixture.handler();
    distribution.deliver(Audience::All, added("a").into());
    assert_eq!(received(&late), ["+a"]);
    assert!(Registration::new(late).has_synced());
    assert_eq!(received(&early), Vec::<String>::new());
    assert!(
        !Registration::new(early.clone()).has_synced(),
        "its events are not delivered yet"
    );
    drop(distribution);
    assert_eq!(received(&early), ["a"]);
    assert!(Registration::new(early).has_synced());
}

#[test]
fn a_commit_of_several_portions_arrives_whole_and_in_order() {
    let names: Vec<String> = (0..3 * PORTION + 1).map(|number| number.to_string()).collect();
    let mut fixture = Fixture::new(None);
    let listener = fixture.handler();
    drop(fixture.publish(&names));
    assert_eq!(received(&listener), names);
}

#[test]
fn a_handler_that_overflows_within_a_portion_receives_nothing_more() {
    let mut fixture = Fixture::new(None);
    let options = HandlerOptions::default()
        .buffer(2)
        .on_overflow(Overflow::Disconnect);
    let listener = fixture.add(&options, Served::ByTask);
    let mut changes = fixture.processor.sync_changes();
    changes.mark_unchanged();
    drop(fixture.publish(&["a", "b", "c", "d"].map(str::to_owned)));
    let status = listener.status();
    assert_eq!(
        (status.state, status.depth),
        (HandlerState::Ended(HandlerEnded::Disconnected), 0)
    );
    assert!(changes.has_changed().unwrap(), "a wait for its sync is notified");
}

/// An unchanged object of a relist, and a resync that is due.
#[test]
fn resyncs_reach_the_handlers_that_requested_them() {
    let mut fixture = Fixture::new(Some(Duration::from_secs(10)));
    let never = HandlerOptions::default().resync(None);
    let (resynced, never) = (fixture.handler(), fixture.add(&never, Served::ByTask));
    let event = Event::updated(object("a"), object("a"), UpdateCause::Resync);
    let publication = fixture.processor.publication();
    fixture.writer.begin().publish();
    publication
        .distribute()
        .deliver(Audience::Resyncing, event.clone().into());
    assert_eq!((received(&resynced).len(), received(&never).len()), (1, 0));

    let ticket = fixture
        .processor
        .due(Instant::now() + Duration::from_secs(10))
        .unwrap();
    assert_eq!(ticket, ResyncTicket::new(vec![resynced.id()]));
    fixture
        .processor
        .resync(&ticket)
        .deliver(Audience::All, event.into());
    assert_eq!((received(&resynced).len(), received(&never).len()), (1, 0));
}

#[test]
fn a_registration_shows_the_resync_period_in_force() {
    let fixture = Fixture::new(Some(Duration::from_secs(60)));
    let period = |listener: &Arc<Listener<ConfigMap>>| Registration::new(listener.clone()).status().resync;
    let inherits = fixture.handler();
    assert_eq!(period(&inherits), Some(Duration::from_secs(60)));
    fixture.processor.freeze_resync();
    let often = HandlerOptions::default().resync(Some(Duration::from_secs(5)));
    let often = fixture.add(&often, Served::ByTask);
    assert_eq!(
        period(&often),
        Some(Duration::from_secs(60)),
        "raised to the check period"
    );
    let never = HandlerOptions::default().resync(None);
    assert_eq!(period(&fixture.add(&never, Served::ByTask)), None);
}

/// A reader may never poll again, so no wait may depend on it.
#[test]
fn waits_for_a_stream_that_ended_return_while_its_reader_holds_it() {
    let mut fixture = Fixture::new(None);
    fixture.commit("a");
    let disconnect = HandlerOptions::default()
        .buffer(1)
        .on_overflow(Overflow::Disconnect);
    type End = fn(&mut Fixture, &Registration);
    let ends: [(End, HandlerEnded); 3] = [
        (|_, stream| drop(stream.remove()), HandlerEnded::Removed),
        (
            |fixture, _| drop(fixture.publish(&["b", "c"].map(str::to_owned))),
            HandlerEnded::Disconnected,
        ),
        (|fixture, _| fixture.processor.stop(), HandlerEnded::Stopped),
    ];
    for (end, expected) in ends {
        let stream = EventStream::new(fixture.add(&disconnect, Served::ByReader));
        let registration = stream.registration().clone();
        assert_eq!(registration.synced().now_or_never(), None);
        end(&mut fixture, &registration);
        assert_eq!(registration.synced().now_or_never(), Some(Err(expected)));
        assert!(registration.remove().now_or_never().is_some(), "{expected:?}");
    }
}
