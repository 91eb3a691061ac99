//! The committer between a queue and a store: what becomes of states that could not be used in full.

use std::pin::Pin;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::delta::{
    DeltaFifo, DeltaSender, Deltas, InitialSync, QueueOptions, ReplaceAll, ResyncTicket, Rewind,
};
use crate::handler::{Deleted, Event, HandlerOptions};
use crate::processor::{EventStream, Served};
use crate::resource_version::ResourceVersion;
use crate::source::Undecodable;
use crate::store::{self, Indexer};

/// One item of a list. Names, versions and UIDs are written `name@version/uid`.
#[derive(Clone, Copy)]
enum Item {
    /// It can be decoded.
    Good(&'static str),
    /// Its metadata can be read, the rest cannot.
    Bad(&'static str),
    /// Not even its name can be read.
    Unreadable,
}
use Item::{Bad, Good, Unreadable};

fn meta(item: &str) -> ObjectMeta {
    let (name, rest) = item.split_once('@').expect("an item is name@version/uid");
    let (version, uid) = rest.split_once('/').expect("an item is name@version/uid");
    ObjectMeta {
        name: Some(name.to_owned()),
        resource_version: Some(version.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectMeta::default()
    }
}

fn undecodable(item: &str) -> Undecodable {
    let meta = meta(item);
    Undecodable {
        key: crate::key::ObjectKey::of(&meta),
        version: ResourceVersion::of(&meta),
        uid: meta.uid,
        reason: "no number".to_owned(),
    }
}

struct Setup {
    sender: DeltaSender<ConfigMap>,
    committer: Pin<Box<dyn Future<Output = ()>>>,
    indexer: Indexer<ConfigMap>,
    events: EventStream<ConfigMap>,
}

impl Setup {
    fn new() -> Self {
        let (mut senders, receiver) = DeltaFifo::channel([Scope::All], QueueOptions::default(), None);
        let (writer, indexer) = store::new();
        let processor = Arc::new(Processor::new("configmaps", None));
        let listener = processor.add(
            "events".to_owned(),
            &HandlerOptions::default(),
            Served::ByReader,
            || indexer.snapshot(),
        );
        let wiring = Wiring {
            processor,
            board: Arc::new(StatusBoard::new("configmaps".to_owned(), &[Scope::All], None)),
            synced: Latch::new(),
            commits: Arc::new(Notify::new()),
            offload: Offload::Inline,
        };
        let committer = Committer::new(receiver, writer, &[Scope::All], wiring);
        Self {
            sender: senders.pop().expect("one scope has one sender"),
            committer: Box::pin(committer.run()),
            indexer,
            events: EventStream::new(listener.expect("the processor runs")),
        }
    }

    /// Commits a list and returns the events it caused.
    fn list(&mut self, version: &str, rewind: Rewind, items: &[Item]) -> Vec<String> {
        let sent = async {
            let mut list = self.sender.begin_replace();
            for item in items {
                match item {
                    Good(item) => {
                        let metadata = meta(item);
                        list.upsert(Arc::new(ConfigMap {
                            metadata,
                            ..ConfigMap::default()
                        }))
                        .await;
                    }
                    Bad(item) => list.undecodable(&undecodable(item)).await,
                    Unreadable => {
                        let nameless = Undecodable {
                            key: None,
                            ..undecodable("a@1/one")
                        };
                        list.undecodable(&nameless).await;
                    }
                }
            }
            let list = list.finish_with(ResourceVersion::new(version), rewind).await;
            self.sender.replace_all(list).await
        };
        sent.now_or_never()
            .expect("nothing waits without a transform")
            .expect("the queue is open");
        let ended = self.committer.as_mut().now_or_never();
        assert!(ended.is_none(), "the queue is open");
        std::iter::from_fn(|| self.events.next().now_or_never().flatten())
            .map(|event| words(&event))
            .collect()
    }

    /// The store as `name@version/uid`, stale keys marked.
    fn stored(&self) -> Vec<String> {
        let snapshot = self.indexer.snapshot();
        let stale = |key: &crate::key::ObjectKey| {
            if snapshot.stale().contains(key) {
                " stale"
            } else {
                ""
            }
        };
        let objects = snapshot
            .iter()
            .map(|(key, object)| format!("{}{}", label(&object), stale(&key.to_key())));
        objects.collect()
    }
}

fn label(object: &ConfigMap) -> String {
    let meta = &object.metadata;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    format!(
        "{}@{}/{}",
        text(&meta.name),
        text(&meta.resource_version),
        text(&meta.uid)
    )
}

fn words(event: &Event<ConfigMap>) -> String {
    match event {
        Event::Added { object, .. } => format!("add {}", label(object)),
        Event::Updated { old, new, .. } => format!("update {} to {}", label(old), label(new)),
        Event::Deleted(Deleted::Observed(object)) => format!("delete {}", label(object)),
        Event::Deleted(Deleted::Missed { last_known, .. }) => format!("missed {}", label(last_known)),
    }
}

/// Commits the first list, then a second one, and checks the events of the second and the store after it.
fn check(first: (&str, &[Item]), second: (&str, Rewind, &[Item]), events: &[&str], stored: &[&str]) {
    let mut setup = Setup::new();
    setup.list(first.0, Rewind::No, first.1);
    let found = setup.list(second.0, second.1, second.2);
    assert_eq!(
        (found, setup.stored()),
        (
            events.iter().map(ToString::to_string).collect(),
            stored.iter().map(ToString::to_string).collect()
        )
    );
}

#[test]
fn an_unusable_state_of_another_object_deletes_the_one_in_the_cache() {
    let second = ("9", Rewind::No, &[Bad("a@8/two")][..]);
    check(("5", &[Good("a@5/one")]), second, &["missed a@5/one"], &[]);
    let second = ("9", Rewind::No, &[Bad("a@8/one")][..]);
    check(("5", &[Good("a@5/one")]), second, &[], &["a@5/one stale"]);
}

/// An initial stream may show an object as it was before the cache's. That is the past of the cached object.
#[test]
fn an_older_unusable_state_of_another_object_deletes_nothing() {
    let second = ("9", Rewind::No, &[Bad("a@3/two")][..]);
    check(("5", &[Good("a@5/one")]), second, &[], &["a@5/one stale"]);
}

#[test]
fn after_a_rewind_an_older_unusable_state_deletes_another_object() {
    let second = ("4", Rewind::Yes, &[Bad("a@3/two")][..]);
    check(("5", &[Good("a@5/one")]), second, &["missed a@5/one"], &[]);
}

/// The object in the cache is newer than its list: it was kept through a rewind, so it has no past to show.
#[test]
fn an_older_unusable_state_deletes_what_a_rewind_left_over() {
    let second = ("9", Rewind::No, &[Bad("a@3/two")][..]);
    check(("4", &[Good("a@5/one")]), second, &["missed a@5/one"], &[]);
}

#[test]
fn a_list_that_was_read_in_full_is_taken_as_it_is() {
    let second = ("9", Rewind::No, &[Good("a@3/one")][..]);
    check(
        ("5", &[Good("a@5/one")]),
        second,
        &["update a@5/one to a@3/one"],
        &["a@3/one"],
    );
}

/// The change that led to the newer state may be the one that could not be read.
#[test]
fn a_list_with_an_unreadable_item_brings_back_no_older_state() {
    let second = ("9", Rewind::No, &[Good("a@3/one"), Unreadable][..]);
    check(("5", &[Good("a@5/one")]), second, &[], &["a@5/one"]);
    let second = ("9", Rewind::No, &[Good("a@7/one"), Unreadable][..]);
    let update = "update a@5/one to a@7/one";
    check(("5", &[Good("a@5/one")]), second, &[update], &["a@7/one"]);
    // Left over from before a rewind: any state of the server's present history may replace it.
    let second = ("9", Rewind::No, &[Good("a@3/one"), Unreadable][..]);
    let update = "update a@5/one to a@3/one";
    check(("4", &[Good("a@5/one")]), second, &[update], &["a@3/one"]);
    // After a rewind older states are right.
    let second = ("4", Rewind::Yes, &[Good("a@3/one"), Unreadable][..]);
    let update = "update a@5/one to a@3/one";
    check(("5", &[Good("a@5/one")]), second, &[update], &["a@3/one"]);
}

#[test]
fn a_list_with_an_unreadable_item_deletes_only_what_was_recreated() {
    let first = ("5", &[Good("a@5/one"), Good("b@5/two"), Good("c@5/three")][..]);
    let second = (
        "9",
        Rewind::No,
        &[Bad("a@8/other"), Good("b@5/two"), Unreadable][..],
    );
    check(first, second, &["missed a@5/one"], &["b@5/two", "c@5/three"]);
}

/// What a committer works with, with `stored` objects in its store.
fn core(offload: Offload, stored: usize) -> Core<ConfigMap> {
    let (mut writer, _) = store::new();
    let mut commit = writer.begin();
    for number in 0..stored {
        let object = Arc::new(ConfigMap::default());
        commit.upsert(crate::key::ObjectKey::cluster(number.to_string()), object);
    }
    commit.publish();
    let wiring = Wiring {
        processor: Arc::new(Processor::new("configmaps", None)),
        board: Arc::new(StatusBoard::new("configmaps".to_owned(), &[Scope::All], None)),
        synced: Latch::new(),
        commits: Arc::new(Notify::new()),
        offload,
    };
    Core { writer, wiring }
}

/// A batch of each form: changes of some objects, a list of as many, and a resync.
fn batches(objects: usize) -> [Batch<ConfigMap>; 3] {
    let key = |number: usize| crate::key::ObjectKey::cluster(number.to_string());
    let deltas = (0..objects).map(|number| Deltas {
        key: key(number),
        changes: Vec::new(),
    });
    let items = (0..objects).map(|number| (key(number), Arc::new(ConfigMap::default()).into()));
    let state = ReplaceAll {
        scope: Scope::All,
        version: ResourceVersion::new("1"),
        items: items.collect(),
        unusable: Vec::new(),
        unreadable: 0,
        provenance: crate::delta::Provenance::Server,
        rewind: Rewind::No,
    };
    [
        Batch::Changes {
            deltas: deltas.collect(),
            versions: Vec::new(),
        },
        Batch::ReplaceAll {
            state,
            initial: InitialSync::Relist,
        },
        Batch::SyncAll(ResyncTicket::new(vec![1])),
    ]
}

/// A long commit on an async worker would delay every other task of that worker.
#[test]
fn large_batches_and_user_code_run_off_the_async_worker() {
    use Offload::{BlockingPool, Inline};
    for (stored, objects, expected) in [
        (0, 1, [Inline, Inline, Inline]),
        (0, LARGE, [Inline, Inline, Inline]),
        (0, LARGE + 1, [BlockingPool, BlockingPool, Inline]),
        // A list and a resync touch what is stored, too.
        (LARGE, 1, [Inline, Inline, Inline]),
        (LARGE + 1, 1, [Inline, BlockingPool, BlockingPool]),
    ] {
        let core = core(BlockingPool, stored);
        assert_eq!(
            batches(objects).each_ref().map(|batch| core.runs(batch)),
            expected,
            "{stored} {objects}"
        );
    }
    let with_index = core(BlockingPool, 0);
    with_index
        .writer
        .indexer()
        .add_index("none", |_: &ConfigMap| [0_u8; 0])
        .unwrap();
    assert_eq!(
        batches(1).each_ref().map(|batch| with_index.runs(batch)),
        [BlockingPool; 3]
    );
    let inline = core(Inline, LARGE + 1);
    assert_eq!(
        batches(LARGE + 1).each_ref().map(|batch| inline.runs(batch)),
        [Inline; 3]
    );
}
