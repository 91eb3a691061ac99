//! Every option of the builders takes effect: set for one informer, for a factory, and for one kind of a
//! factory.
//!
//! The table is compared with the builders' sources, so an option without a row fails the test.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use informer_core::delta::QueueOptions;
use informer_core::source::protobuf::DecodeProtobuf;
use informer_core::source::{Encoding, KubeSourceOptions, ManagedFields};
use informer_core::store::IndexDefinition;
use informer_core::{
    AnyObject, AuditOptions, HandlerOptions, InitialState, Offload, ReflectorConfig, RequestBudget,
    RequestBudgetOptions, SharedInformer, SharedInformerBuilder, Storage,
};
use informer_testing::{ApiServer, Fault, Rule};
use informers::{SharedInformerFactory, SharedInformerFactoryBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use tokio::runtime::{Handle, Runtime};
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, Recorder, item, item_in, keys, settled, value};

type InformerBuilder = SharedInformerBuilder<ConfigMap>;
type Edit<B> = Box<dyn Fn(B) -> B + Send + Sync>;
type FactoryBuilder = SharedInformerFactoryBuilder;
type Effect = Box<dyn Fn(Made) -> BoxFuture<'static, bool>>;

/// An informer that was built with or without an option, not started.
struct Made {
    server: ApiServer,
    informer: SharedInformer<ConfigMap>,
}

impl Made {
    async fn synced(&self) {
        self.informer.start().unwrap();
        self.informer.synced_within(LONG).await.unwrap();
    }

    /// Starts the informer and returns whether it has failed after a time.
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

    /// Without hot objects, nobody but the reader holds a packed object.
    async fn holds_packed(self) -> bool {
        self.synced().await;
        let object = self.informer.indexer().get(&"default/a".parse().unwrap());
        Arc::strong_count(&object.unwrap()) == 1
    }

    async fn has_index(self, name: &str) -> bool {
        let indexes = self.informer.status().indexes;
        indexes.iter().any(|index| index.name.contains(name))
    }

    async fn refuses_large_objects(self) -> bool {
        self.server.create(&item("large", &"x".repeat(5_000))).unwrap();
        self.synced().await;
        !self.informer.status().stale.is_empty()
    }

    /// Whether the informer waits while another one reads.
    async fn waits_for_its_turn(self) -> bool {
        let hung = ApiServer::start();
        hung.faults().add(Rule::new(Fault::Hang));
        let budget = BUDGET.lock().unwrap().clone().unwrap_or_default();
        let other = SharedInformer::<ConfigMap>::builder(hung.client()).request_budget(&budget);
        let other = other.build().unwrap();
        other.start().unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.informer.start().unwrap();
        let waits = self.informer.synced_within(Duration::from_secs(5)).await.is_err();
        other.shutdown().await;
        waits
    }

    async fn fails_over_the_limit(self) -> bool {
        self.fails_within(5).await
    }

    async fn lists_one_by_one(self) -> bool {
        self.synced().await;
        let requests = self.server.requests();
        let lists = requests.lists();
        lists
            .iter()
            .all(|request| request.parameter("limit") == Some("1"))
    }

    async fn fails_when_the_server_hangs(self) -> bool {
        self.server.faults().add(Rule::new(Fault::Hang));
        self.fails_within(10).await
    }

    async fn keeps_managed_fields(self) -> bool {
        self.synced().await;
        let object = self.informer.indexer().get(&"default/a".parse().unwrap());
        object.unwrap().metadata.managed_fields.is_some()
    }

    /// Returns the `Accept` of every request.
    async fn accepted(self) -> Vec<String> {
        self.synced().await;
        let requests = self.server.requests();
        requests.iter().map(|request| request.accept.clone()).collect()
    }

    async fn requests_protobuf(self) -> bool {
        let accepted = self.accepted().await;
        accepted
            .iter()
            .all(|accept| accept == "application/vnd.kubernetes.protobuf,application/json")
    }

    async fn requests_json(self) -> bool {
        self.accepted()
            .await
            .iter()
            .all(|accept| accept == "application/json")
    }

    async fn resyncs(self) -> bool {
        let received = Recorder::new();
        received.add_to(&self.informer);
        self.synced().await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        received.take().iter().any(|event| event.starts_with("resync"))
    }

    async fn names_its_handler(self) -> bool {
        Recorder::new().add_to(&self.informer);
        self.informer.status().handlers[0].name == "of-the-builder"
    }

    async fn counts_errors(self) -> bool {
        ERRORS.store(0, Ordering::Relaxed);
        self.server.faults().add(Rule::new(Fault::Forbidden));
        self.fails_within(5).await;
        ERRORS.load(Ordering::Relaxed) > 0
    }

    fn is_audited(&self) -> bool {
        self.informer.status().scopes[0].audit.is_some()
    }

    async fn runs_on_the_idle_runtime(self) -> bool {
        let before = idle().metrics().num_alive_tasks();
        self.informer.start().unwrap();
        idle().metrics().num_alive_tasks() > before
    }

    async fn stops_with_the_token(self) -> bool {
        TOKEN.lock().unwrap().cancel();
        self.informer.is_stopped()
    }
}

/// One option: how it is set, and how its effect is observed.
struct Row {
    name: &'static str,
    informer: Arc<Steps<InformerBuilder>>,
    /// `None` for options that need the kind.
    factory: Option<Steps<FactoryBuilder>>,
    effect: Effect,
}

/// How an option is set on one builder.
struct Steps<B> {
    /// Set first, with or without the option under test.
    before: Edit<B>,
    option: Edit<B>,
}

impl<B> Steps<B> {
    fn apply(&self, builder: B) -> B {
        (self.option)((self.before)(builder))
    }
}

/// The steps `builder.before(..).option(..)`, for either builder.
macro_rules! steps {
    ($option:ident($($argument:expr),*) $(after $before:ident($($given:expr),*))?) => {
        Steps {
            before: Box::new(|builder| builder$(.$before($($given),*))?),
            option: Box::new(|builder| builder.$option($($argument),*)),
        }
    };
}

/// A row of the table: the option, what is set before it, and a function that returns whether it took effect.
macro_rules! row {
    ($option:ident $arguments:tt $(after $before:ident $given:tt)? => $effect:expr) => {
        Row {
            factory: Some(steps!($option $arguments $(after $before $given)?)),
            ..row!(informer only: $option $arguments $(after $before $given)? => $effect)
        }
    };
    (informer only: $option:ident $arguments:tt $(after $before:ident $given:tt)? => $effect:expr) => {
        Row {
            name: stringify!($option),
            informer: Arc::new(steps!($option $arguments $(after $before $given)?)),
            factory: None,
            effect: Box::new(|made: Made| ($effect)(made).boxed()),
        }
    };
}

impl Row {
    /// Checks that the option takes effect wherever it can be set, and that the effect needs it.
    async fn check(&self) -> Vec<String> {
        let name = self.name;
        let mut wrong = Vec::new();
        if self.by_informer(|builder| (self.informer.before)(builder)).await {
            wrong.push(format!("{name}: the effect is the same without the option"));
        }
        if !self.by_informer(|builder| self.informer.apply(builder)).await {
            wrong.push(format!("{name} of an informer has no effect"));
        }
        let steps = self.informer.clone();
        let of_a_kind = |builder: FactoryBuilder| builder.kind(move |kind| steps.apply(kind));
        if !self.by_factory(of_a_kind).await {
            wrong.push(format!("{name} of a kind has no effect"));
        }
        if let Some(steps) = &self.factory
            && !self.by_factory(|builder| steps.apply(builder)).await
        {
            wrong.push(format!("{name} of a factory has no effect"));
        }
        wrong
    }

    async fn by_informer(&self, edit: impl FnOnce(InformerBuilder) -> InformerBuilder) -> bool {
        let server = filled();
        let informer = edit(SharedInformer::builder(server.client())).build().unwrap();
        self.effect_of(server, informer).await
    }

    async fn by_factory(&self, edit: impl FnOnce(FactoryBuilder) -> FactoryBuilder) -> bool {
        let server = filled();
        let factory = edit(SharedInformerFactory::builder(server.client()))
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

static BUDGET: Mutex<Option<RequestBudget>> = Mutex::new(None);

fn one_at_a_time() -> RequestBudget {
    let mut options = RequestBudgetOptions::default();
    options.concurrent_reads = 1;
    BUDGET.lock().unwrap().insert(RequestBudget::new(options)).clone()
}

fn emptied(object: &mut dyn AnyObject) {
    if let Some(object) = object.downcast_mut::<ConfigMap>() {
        object.data = None;
    }
}

fn decoder() -> DecodeProtobuf<ConfigMap> {
    informer_protobuf::decoder().expect("ConfigMap is a built-in kind")
}

/// A runtime that never polls its tasks.
fn idle() -> &'static Runtime {
    static IDLE: OnceLock<Runtime> = OnceLock::new();
    IDLE.get_or_init(|| tokio::runtime::Builder::new_current_thread().build().unwrap())
}

/// Errors that the `on_watch_error` of the current row has received.
static ERRORS: AtomicUsize = AtomicUsize::new(0);

/// The token of the current row. Each informer gets a fresh one: a cancelled token stays cancelled.
static TOKEN: LazyLock<Mutex<CancellationToken>> = LazyLock::new(Mutex::default);

fn fresh_token() -> CancellationToken {
    let mut token = TOKEN.lock().unwrap();
    *token = CancellationToken::new();
    token.clone()
}

fn by_list(mut config: ReflectorConfig) -> ReflectorConfig {
    config.initial = InitialState::List;
    config
}

fn small_objects(mut options: KubeSourceOptions) -> KubeSourceOptions {
    options.max_object_bytes = 1_000;
    options
}

#[rustfmt::skip]
fn table() -> Vec<Row> {
    vec![
        row!(all_namespaces() after namespace("web") => |made: Made| made.sees(&["default/a", "web/b"])),
        row!(namespace("web") => |made: Made| made.sees(&["web/b"])),
        row!(namespaces(["web", "db"]) => |made: Made| made.sees(&["web/b"])),
        row!(no_namespaces() => |made: Made| made.sees(&[])),
        row!(labels("tier=front") => |made: Made| made.sees(&["default/a"])),
        row!(fields("metadata.name=a") => |made: Made| made.sees(&["default/a"])),
        row!(tweak_list_options(|options| options.labels("tier")) => |made: Made| made.sees(&["default/a"])),
        row!(page_size(1) after initial_state(InitialState::List) => Made::lists_one_by_one),
        row!(initial_state(InitialState::List) => Made::lists),
        row!(reflector(by_list) => Made::lists),
        row!(answer_deadline(Duration::from_secs(2)) => Made::fails_when_the_server_hangs),
        row!(max_object_bytes(1_000) => Made::refuses_large_objects),
        row!(max_objects(1) => Made::fails_over_the_limit),
        row!(max_bytes(1) => Made::fails_over_the_limit),
        row!(source_options(small_objects) => Made::refuses_large_objects),
        row!(managed_fields(ManagedFields::Keep) => Made::keeps_managed_fields),
        row!(informer only: protobuf(decoder()) => Made::requests_protobuf),
        Row {
            factory: Some(steps!(encoding(Encoding::Json))),
            ..row!(informer only: encoding(Encoding::Json) after protobuf(decoder()) => Made::requests_json)
        },
        row!(queue(QueueOptions::default().batch(1)) => commits_each_change_alone),
        row!(offload(Offload::Inline) => commits_on_this_thread),
        row!(transform(|object| { emptied(object); }) => |made: Made| made.has_values("")),
        row!(try_transform(|object| { emptied(object); Ok(()) }) => |made: Made| made.has_values("")),
        row!(informer only: storage(Storage::Packed { hot_objects: 0 }) => Made::holds_packed),
        row!(informer only: index(&BY_VALUE) => |made: Made| made.has_index("by-value")),
        row!(informer only: label_index("tier") => |made: Made| made.has_index("tier")),
        row!(resync(Duration::from_secs(1)) => Made::resyncs),
        row!(handler_defaults(HandlerOptions::default().name("of-the-builder")) => Made::names_its_handler),
        row!(on_watch_error(|_, _| { ERRORS.fetch_add(1, Ordering::Relaxed); }) => Made::counts_errors),
        row!(audit(AuditOptions::default()) => |made: Made| async move { made.is_audited() }),
        row!(no_audit() after audit(AuditOptions::default()) =>
            |made: Made| async move { !made.is_audited() }),
        row!(request_budget(&one_at_a_time()) => Made::waits_for_its_turn),
        row!(no_request_budget() after request_budget(&one_at_a_time()) =>
            |made: Made| async move { !made.waits_for_its_turn().await }),
        row!(runtime(Handle::clone(idle().handle())) => Made::runs_on_the_idle_runtime),
        row!(cancel_with(&fresh_token()) => Made::stops_with_the_token),
    ]
}

/// Makes three changes at once and returns whether the cache is published between them, as seen by an index
/// function.
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

/// Lists enough objects that the commit runs on another thread by default.
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

#[tokio::test(start_paused = true)]
async fn every_option_has_its_effect_wherever_it_is_set() {
    let mut wrong = Vec::new();
    for row in table() {
        wrong.extend(row.check().await);
    }
    assert_eq!(wrong, [""; 0]);
}

/// The names of the methods in a source file that return the builder.
fn options_in(source: &str) -> BTreeSet<String> {
    source
        .split(" pub fn ")
        .skip(1)
        .filter(|method| method.split('{').next().unwrap_or_default().contains("-> Self"))
        .map(|method| method[..method.find(['(', '<']).expect("a method has parameters")].to_owned())
        .filter(|name| !name.starts_with("__"))
        .collect()
}

#[test]
fn every_option_has_a_row() {
    let shared = options_in(include_str!("../../informer-core/src/informer/options.rs"));
    let informer = options_in(include_str!("../../informer-core/src/informer/builder.rs"));
    let factory = options_in(include_str!("../../informers/src/factory/builder.rs"));
    let names = |is_in: fn(&Row) -> bool| -> BTreeSet<String> {
        let rows = table().into_iter().filter(is_in);
        rows.map(|row| row.name.to_owned()).collect()
    };
    assert_eq!(names(|row| row.factory.is_some()), shared);
    // What `warm_start` does needs two informers: the module `warm_start` has its tests.
    let mut of_informer = names(|row| row.factory.is_none());
    of_informer.insert("warm_start".to_owned());
    assert_eq!(of_informer, informer);
    // `kind` is how the rows set options of one kind; the limits of waits are tested in `factory_gives_up`,
    // that of all caches in `total_bytes`.
    let others = [
        "give_up_refused_after",
        "give_up_unreachable_after",
        "kind",
        "kind_with",
        "max_total_bytes",
    ];
    assert_eq!(factory, others.map(str::to_owned).into());
}

/// `source_options` keeps the selectors, and `reflector` keeps the page size and the initial state.
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
    assert_eq!(keys(&maps), ["default/a"], "the selector of the factory applies");
    let requests = server.requests();
    let lists = requests.lists();
    assert_eq!(lists.len(), 1, "the initial state is read by LIST");
    let limits: Vec<_> = lists.iter().map(|request| request.parameter("limit")).collect();
    assert_eq!(limits, [Some("1")]);
    factory.shutdown().await;
}
