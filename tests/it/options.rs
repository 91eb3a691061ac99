//! Every option of the builders has its effect: set for one informer, for a factory, and for one kind of a
//! factory.
//!
//! The tables are compared with the builders' sources, so an option without a row fails the test.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use informer_core::delta::QueueOptions;
use informer_core::{
    AnyObject, AuditOptions, HandlerOptions, IndexDefinition, InitialState, ManagedFields, Offload,
    SharedInformer, SharedInformerBuilder,
};
use informer_testing::{ApiServer, Fault, Rule};
use informers::{SharedInformerFactory, SharedInformerFactoryBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use tokio::runtime::{Handle, Runtime};
use tokio_util::sync::CancellationToken;

use crate::support::{Heard, LONG, item, item_in, keys, settled, value};

type InformerBuilder = SharedInformerBuilder<ConfigMap>;
type Edit<B> = Arc<dyn Fn(B) -> B + Send + Sync>;
type Effect = Box<dyn Fn(Made) -> BoxFuture<'static, bool>>;

/// An informer that was made with or without an option, not started.
struct Made {
    server: ApiServer,
    informer: SharedInformer<ConfigMap>,
}

impl Made {
    async fn synced(&self) {
        self.informer.start().unwrap();
        self.informer.synced_within(LONG).await.unwrap();
    }

    /// Starts it, and says whether it has failed after a time.
    async fn fails_within(&self, seconds: u64) -> bool {
        self.informer.start().unwrap();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.informer.status().scopes[0].counts.errors > 0
    }

    async fn sees(self, expected: &[&str]) -> bool {
        self.synced().await;
        keys(&self.informer) == expected
    }

    async fn has_values(self, expected: &str) -> bool {
        self.synced().await;
        let objects = self.informer.indexer().list();
        objects.iter().all(|object| value(object) == expected)
    }

    async fn lists(self) -> bool {
        self.synced().await;
        !self.server.requests().lists().is_empty()
    }

    async fn has_index(self, name: &str) -> bool {
        let indexes = self.informer.status().indexes;
        indexes.iter().any(|index| index.name.contains(name))
    }

    async fn refuses_large_objects(self) -> bool {
        self.server.create(&item("large", &"x".repeat(5_000))).unwrap();
        self.fails_within(5).await
    }
}

/// One option: how it is set, and how to see whether it was.
struct Row {
    name: &'static str,
    /// What is set before it, with or without the option.
    before: Edit<InformerBuilder>,
    informer: Option<Edit<InformerBuilder>>,
    factory: Option<Edit<SharedInformerFactoryBuilder>>,
    effect: Effect,
}

impl Row {
    fn new<F>(name: &'static str, effect: impl Fn(Made) -> F + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        Self {
            name,
            before: Arc::new(|builder| builder),
            informer: None,
            factory: None,
            effect: Box::new(move |made| effect(made).boxed()),
        }
    }

    fn before(mut self, edit: impl Fn(InformerBuilder) -> InformerBuilder + Send + Sync + 'static) -> Self {
        self.before = Arc::new(edit);
        self
    }

    fn informer(mut self, edit: impl Fn(InformerBuilder) -> InformerBuilder + Send + Sync + 'static) -> Self {
        self.informer = Some(Arc::new(edit));
        self
    }

    fn factory(
        mut self,
        edit: impl Fn(SharedInformerFactoryBuilder) -> SharedInformerFactoryBuilder + Send + Sync + 'static,
    ) -> Self {
        self.factory = Some(Arc::new(edit));
        self
    }

    /// The option has its effect wherever it can be set, and without it there is none. Returns what is wrong.
    async fn check(&self) -> Vec<String> {
        let name = self.name;
        let mut wrong = Vec::new();
        if self.by_informer(None).await {
            wrong.push(format!("{name}: the effect is the same without the option"));
        }
        if let Some(edit) = &self.informer {
            if !self.by_informer(Some(edit)).await {
                wrong.push(format!("{name} of an informer has no effect"));
            }
            if !self.by_kind(edit).await {
                wrong.push(format!("{name} of a kind has no effect"));
            }
        }
        if let Some(edit) = &self.factory
            && !self.by_factory(edit).await
        {
            wrong.push(format!("{name} of a factory has no effect"));
        }
        wrong
    }

    async fn by_informer(&self, edit: Option<&Edit<InformerBuilder>>) -> bool {
        let server = filled();
        let builder = (self.before)(SharedInformer::builder(server.client()));
        let builder = match edit {
            Some(edit) => edit(builder),
            None => builder,
        };
        let informer = builder.build().unwrap();
        self.effect_of(server, informer).await
    }

    async fn by_kind(&self, edit: &Edit<InformerBuilder>) -> bool {
        let server = filled();
        let (before, edit) = (self.before.clone(), edit.clone());
        let factory = SharedInformerFactory::builder(server.client())
            .kind::<ConfigMap>(move |kind| edit(before(kind)))
            .build()
            .unwrap();
        self.effect_of(server, factory.informer_for()).await
    }

    async fn by_factory(&self, edit: &Edit<SharedInformerFactoryBuilder>) -> bool {
        let server = filled();
        let before = self.before.clone();
        let factory = edit(SharedInformerFactory::builder(server.client()))
            .kind::<ConfigMap>(move |kind| before(kind))
            .build()
            .unwrap();
        self.effect_of(server, factory.informer_for()).await
    }

    async fn effect_of(&self, server: ApiServer, informer: SharedInformer<ConfigMap>) -> bool {
        let stopping = informer.clone();
        let outcome = (self.effect)(Made { server, informer }).await;
        stopping.stop();
        outcome
    }
}

/// `default/a` with a label and managed fields, and `web/b`.
fn filled() -> ApiServer {
    let server = ApiServer::start();
    let mut first = item("a", "1");
    first.metadata.labels = Some([("tier".to_owned(), "front".to_owned())].into());
    first.metadata.managed_fields = Some(vec![ManagedFieldsEntry {
        manager: Some("test".into()),
        operation: Some("Update".into()),
        api_version: Some("v1".into()),
        fields_type: Some("FieldsV1".into()),
        ..ManagedFieldsEntry::default()
    }]);
    server.create(&first).unwrap();
    server.create(&item_in("web", "b", "1")).unwrap();
    server
}

static BY_VALUE: IndexDefinition<ConfigMap, String> =
    IndexDefinition::new("by-value", |object| vec![value(object).to_owned()]);

fn emptied(object: &mut dyn AnyObject) {
    if let Some(object) = object.downcast_mut::<ConfigMap>() {
        object.data = None;
    }
}

/// A runtime that runs nothing: what is spawned on it stays where it is.
fn idle() -> &'static Runtime {
    static IDLE: OnceLock<Runtime> = OnceLock::new();
    IDLE.get_or_init(|| tokio::runtime::Builder::new_current_thread().build().unwrap())
}

fn what_is_covered() -> Vec<Row> {
    vec![
        Row::new("all_namespaces", |made| made.sees(&["default/a", "web/b"]))
            .before(|builder| builder.namespace("web"))
            .informer(InformerBuilder::all_namespaces),
        Row::new("namespace", |made| made.sees(&["web/b"]))
            .informer(|builder| builder.namespace("web"))
            .factory(|builder| builder.namespace("web")),
        Row::new("namespaces", |made| made.sees(&["web/b"]))
            .informer(|builder| builder.namespaces(["web", "db"]))
            .factory(|builder| builder.namespaces(["web", "db"])),
        Row::new("labels", |made| made.sees(&["default/a"])).informer(|builder| builder.labels("tier=front")),
        Row::new("fields", |made| made.sees(&["default/a"]))
            .informer(|builder| builder.fields("metadata.name=a")),
        Row::new("tweak_list_options", |made| made.sees(&["default/a"]))
            .informer(|builder| builder.tweak_list_options(|options| options.labels("tier")))
            .factory(|builder| builder.tweak_list_options(|options| options.labels("tier"))),
    ]
}

fn how_it_is_read() -> Vec<Row> {
    let one_per_page = |made: Made| async move {
        made.synced().await;
        let requests = made.server.requests();
        let lists = requests.lists();
        lists
            .iter()
            .all(|request| request.parameter("limit") == Some("1"))
    };
    let quick = Duration::from_secs(2);
    vec![
        Row::new("page_size", one_per_page)
            .before(|builder| builder.initial_state(InitialState::List))
            .informer(|builder| builder.page_size(1))
            .factory(|builder| builder.page_size(1)),
        Row::new("initial_state", Made::lists)
            .informer(|builder| builder.initial_state(InitialState::List))
            .factory(|builder| builder.initial_state(InitialState::List)),
        Row::new("reflector", Made::lists)
            .informer(|builder| {
                builder.reflector(|mut config| {
                    config.initial = InitialState::List;
                    config
                })
            })
            .factory(|builder| {
                builder.reflector(|mut config| {
                    config.initial = InitialState::List;
                    config
                })
            }),
        Row::new("answer_deadline", |made| async move {
            made.server.faults().add(Rule::new(Fault::Hang));
            made.fails_within(10).await
        })
        .informer(move |builder| builder.answer_deadline(quick))
        .factory(move |builder| builder.answer_deadline(quick)),
        Row::new("max_object_bytes", Made::refuses_large_objects)
            .informer(|builder| builder.max_object_bytes(1_000))
            .factory(|builder| builder.max_object_bytes(1_000)),
        Row::new("source_options", Made::refuses_large_objects).informer(|builder| {
            builder.source_options(|mut options| {
                options.max_object_bytes = 1_000;
                options
            })
        }),
        Row::new("managed_fields", |made| async move {
            made.synced().await;
            let object = made
                .informer
                .indexer()
                .get(&"default/a".parse().unwrap())
                .unwrap();
            object.metadata.managed_fields.is_some()
        })
        .informer(|builder| builder.managed_fields(ManagedFields::Keep))
        .factory(|builder| builder.managed_fields(ManagedFields::Keep)),
        Row::new("queue", commits_each_change_alone)
            .informer(|builder| builder.queue(QueueOptions::default().batch(1)))
            .factory(|builder| builder.queue(QueueOptions::default().batch(1))),
        Row::new("offload", commits_on_this_thread)
            .informer(|builder| builder.offload(Offload::Inline))
            .factory(|builder| builder.offload(Offload::Inline)),
    ]
}

/// Three changes at once: whether the cache is published between them. An index function sees what was
/// published.
async fn commits_each_change_alone(made: Made) -> bool {
    made.synced().await;
    let (seen, indexer) = (Arc::new(Mutex::new(BTreeSet::new())), made.informer.indexer());
    let sizes = seen.clone();
    made.informer
        .add_index("published", move |_: &ConfigMap| {
            sizes.lock().unwrap().insert(indexer.len());
            None::<String>
        })
        .unwrap();
    seen.lock().unwrap().clear();
    for name in ["c", "d", "e"] {
        made.server.create(&item(name, "1")).unwrap();
    }
    settled(&made.informer, &made.server).await;
    let seen = seen.lock().unwrap();
    *seen == BTreeSet::from([2, 3, 4])
}

/// A list that is large enough to be committed elsewhere by default.
async fn commits_on_this_thread(made: Made) -> bool {
    for number in 0..1_100 {
        made.server.create(&item(&format!("item-{number}"), "1")).unwrap();
    }
    let threads: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let seen = threads.clone();
    made.informer
        .add_index("thread", move |_: &ConfigMap| {
            seen.lock().unwrap().push(std::thread::current().id());
            None::<String>
        })
        .unwrap();
    made.synced().await;
    let here = std::thread::current().id();
    let threads = threads.lock().unwrap();
    threads.len() >= 1_100 && threads.iter().all(|thread| *thread == here)
}

fn what_is_kept() -> Vec<Row> {
    vec![
        Row::new("transform", |made| made.has_values(""))
            .informer(|builder| builder.transform(|object| object.data = None))
            .factory(|builder| builder.transform(emptied)),
        Row::new("try_transform", |made| made.has_values(""))
            .informer(|builder| {
                builder.try_transform(|object| {
                    object.data = None;
                    Ok(())
                })
            })
            .factory(|builder| {
                builder.try_transform(|object| {
                    emptied(object);
                    Ok(())
                })
            }),
        Row::new("transform_any", |made| made.has_values("")).informer(|builder| {
            builder.transform_any(Arc::new(|object| {
                emptied(object);
                Ok(())
            }))
        }),
        Row::new("index", |made| made.has_index("by-value")).informer(|builder| builder.index(&BY_VALUE)),
        Row::new("label_index", |made| made.has_index("tier"))
            .informer(|builder| builder.label_index("tier")),
    ]
}

fn what_is_done_about_it() -> Vec<Row> {
    let errors = Arc::new(AtomicUsize::new(0));
    let count = |errors: &Arc<AtomicUsize>| {
        let errors = errors.clone();
        move |_: &_, _: &_| {
            errors.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (for_informer, for_factory) = (errors.clone(), errors.clone());
    let token = Arc::new(Mutex::new(CancellationToken::new()));
    // Each informer gets a fresh token: one that was cancelled stays so.
    let fresh = |token: &Arc<Mutex<CancellationToken>>| {
        let mut token = token.lock().unwrap();
        *token = CancellationToken::new();
        token.clone()
    };
    let (token_of_informer, token_of_factory) = (token.clone(), token.clone());
    let second = Duration::from_secs(1);
    vec![
        Row::new("resync", |made| async move {
            let heard = Heard::new();
            heard.add_to(&made.informer);
            made.synced().await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            heard.take().iter().any(|event| event.starts_with("resync"))
        })
        .informer(move |builder| builder.resync(second))
        .factory(move |builder| builder.resync(second)),
        Row::new("handler_defaults", |made| async move {
            Heard::new().add_to(&made.informer);
            made.informer.status().handlers[0].name == "of-the-builder"
        })
        .informer(|builder| builder.handler_defaults(HandlerOptions::default().name("of-the-builder")))
        .factory(|builder| builder.handler_defaults(HandlerOptions::default().name("of-the-builder"))),
        Row::new("on_watch_error", move |made| {
            let errors = errors.clone();
            async move {
                errors.store(0, Ordering::Relaxed);
                made.server.faults().add(Rule::new(Fault::Forbidden));
                made.fails_within(5).await;
                errors.load(Ordering::Relaxed) > 0
            }
        })
        .informer(move |builder| builder.on_watch_error(count(&for_informer)))
        .factory(move |builder| builder.on_watch_error(count(&for_factory))),
        Row::new("audit", |made| async move { is_audited(&made) })
            .informer(|builder| builder.audit(AuditOptions::default()))
            .factory(|builder| builder.audit(AuditOptions::default())),
        Row::new("no_audit", |made| async move { !is_audited(&made) })
            .before(|builder| builder.audit(AuditOptions::default()))
            .informer(InformerBuilder::no_audit),
        Row::new("runtime", |made| async move {
            let before = idle().metrics().num_alive_tasks();
            made.informer.start().unwrap();
            idle().metrics().num_alive_tasks() > before
        })
        .informer(|builder| builder.runtime(Handle::clone(idle().handle())))
        .factory(|builder| builder.runtime(Handle::clone(idle().handle()))),
        Row::new("cancel_with", move |made| {
            let token = token.lock().unwrap().clone();
            async move {
                token.cancel();
                made.informer.is_stopped()
            }
        })
        .informer(move |builder| builder.cancel_with(&fresh(&token_of_informer)))
        .factory(move |builder| builder.cancel_with(&fresh(&token_of_factory))),
    ]
}

fn is_audited(made: &Made) -> bool {
    made.informer.status().scopes[0].audit.is_some()
}

fn table() -> Vec<Row> {
    let mut rows = what_is_covered();
    rows.extend(how_it_is_read());
    rows.extend(what_is_kept());
    rows.extend(what_is_done_about_it());
    rows
}

#[tokio::test(start_paused = true)]
async fn every_option_has_its_effect_wherever_it_is_set() {
    let mut wrong = Vec::new();
    for row in table() {
        wrong.extend(row.check().await);
    }
    assert_eq!(wrong, [""; 0]);
}

/// The methods of a builder that return the builder, in its source.
fn options_in(source: &str, builder: &str) -> BTreeSet<String> {
    let begin = source
        .lines()
        .position(|line| line.starts_with("impl") && line.ends_with(&format!("{builder} {{")))
        .expect("the builder has an impl");
    let lines: Vec<&str> = source
        .lines()
        .skip(begin)
        .take_while(|line| *line != "}")
        .collect();
    let text = lines.join("\n");
    text.split("\n    pub fn ")
        .skip(1)
        .filter(|method| method.split('{').next().unwrap_or_default().contains("-> Self"))
        .map(|method| {
            let end = method.find(['(', '<']).expect("a method has parameters");
            method[..end].to_owned()
        })
        .collect()
}

#[test]
fn every_option_has_a_row() {
    let names = |is_in: fn(&Row) -> bool, beside: &[&str]| -> BTreeSet<String> {
        let rows = table().into_iter().filter(is_in).map(|row| row.name.to_owned());
        rows.chain(beside.iter().map(|name| (*name).to_owned())).collect()
    };
    assert_eq!(
        names(|row| row.informer.is_some(), &[]),
        options_in(
            include_str!("../../informer-core/src/informer/builder.rs"),
            "SharedInformerBuilder<K>"
        )
    );
    // `kind` is how every option of an informer is set above; the limits of waits are in `factory_gives_up`.
    let beside = [
        "kind",
        "kind_with",
        "give_up_refused_after",
        "give_up_unreachable_after",
    ];
    assert_eq!(
        names(|row| row.factory.is_some(), &beside),
        options_in(
            include_str!("../../informers/src/factory/builder.rs"),
            "SharedInformerFactoryBuilder"
        )
    );
}

/// What an edit leaves alone stays: selectors under `source_options`, page size and way of reading under
/// `reflector`.
#[tokio::test(start_paused = true)]
async fn an_edit_drops_nothing_that_was_set_before() {
    let server = filled();
    let factory = SharedInformerFactory::builder(server.client())
        .tweak_list_options(|options| options.labels("tier=front"))
        .page_size(1)
        .initial_state(InitialState::List)
        .reflector(|mut config| {
            config.seed = Some(1);
            config
        })
        .max_object_bytes(100_000)
        .kind::<ConfigMap>(|maps| {
            maps.source_options(|mut options| {
                assert_eq!(options.max_object_bytes, 100_000);
                options.answer_deadline = Duration::from_secs(5);
                options
            })
            .reflector(|mut config| {
                assert_eq!(config.seed, Some(1));
                config.refused_delay = Duration::from_secs(1);
                config
            })
        })
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().informer();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(keys(&maps), ["default/a"], "the factory's selector holds");
    let requests = server.requests();
    let lists = requests.lists();
    assert_eq!(lists.len(), 1, "it is read by LIST");
    let limits: Vec<_> = lists.iter().map(|request| request.parameter("limit")).collect();
    assert_eq!(limits, [Some("1")]);
    factory.shutdown().await;
}
