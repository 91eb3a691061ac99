//! The factory: one informer per kind, shared by all callers; started, stopped and dropped together.

use std::sync::Arc;
use std::time::Duration;

use informer_testing::{ApiServer, WatchCache};
use informers::error::{AddHandlerError, StartError};
use informers::{
    AuditOptions, Event, HandlerOptions, InitialState, Overflow, Selector, SharedInformer,
    SharedInformerFactory, State,
};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use tokio_util::sync::CancellationToken;

use crate::audit::Errors;
use crate::support::{LONG, Recorder, item, item_in, keys, pod, server_with, settled, tasks};

pub(crate) fn factory_of(server: &ApiServer) -> SharedInformerFactory {
    SharedInformerFactory::new(server.client())
}

/// The number of lists and watches of a resource that the server received.
pub(crate) fn request_counts(server: &ApiServer, plural: &str) -> (usize, usize) {
    let requests = server.requests().of(plural);
    (requests.lists().len(), requests.watches().len())
}

#[tokio::test(start_paused = true)]
async fn two_parts_of_a_program_share_one_list_and_one_watch() {
    let server = ApiServer::start();
    server.create(&pod("a", "node-1")).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .initial_state(InitialState::List)
        .build()
        .unwrap();

    let of_one_part = factory.core().v1().pods();
    let of_another = factory.clone().core().v1().pods();
    let (first, second) = (Recorder::new(), Recorder::new());
    first.add_to(&of_one_part.informer());
    factory.start();
    factory.wait_for_sync().await.unwrap();
    second.add_to(&of_another.informer());
    factory.start();
    factory.wait_for_sync().await.unwrap();
    server.create(&pod("b", "node-1")).unwrap();
    settled(&of_another.informer(), &server).await;

    assert_eq!(request_counts(&server, "pods"), (1, 1));
    assert_eq!(first.take(), ["initial a", "add b"]);
    assert_eq!(second.take(), ["initial a", "add b"]);
    let (one, other) = (of_one_part.lister(), of_another.lister());
    let a = one.pods("default").get("a").unwrap();
    assert!(Arc::ptr_eq(&a, &other.pods("default").get("a").unwrap()));
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn two_namespaces_are_two_watches_and_one_store() {
    let server = ApiServer::start();
    for namespace in ["web", "db", "elsewhere"] {
        server.create(&item_in(namespace, "a", "1")).unwrap();
    }
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces(["web", "db"])
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps();
    let lister = maps.lister();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(keys(&maps.informer()), ["db/a", "web/a"]);
    assert_eq!(request_counts(&server, "configmaps"), (0, 2));
    assert!(lister.config_maps("web").get("a").is_some());
    assert!(lister.config_maps("elsewhere").get("a").is_none());
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_kinds_do_not_mind_the_factorys_namespaces() {
    let server = ApiServer::start();
    server.create(&Node::default_named("node-1")).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .build()
        .unwrap();
    let nodes = factory.core().v1().nodes().lister();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert!(nodes.get("node-1").is_some());
    assert_eq!(
        nodes.require("node-2").unwrap_err().to_string().lines().count(),
        1
    );
    factory.shutdown().await;
}

trait Named {
    fn default_named(name: &str) -> Self;
}

impl Named for Node {
    fn default_named(name: &str) -> Self {
        let mut node = Self::default();
        node.metadata.name = Some(name.to_owned());
        node
    }
}

#[tokio::test(start_paused = true)]
async fn start_starts_only_requested_informers_and_may_be_repeated() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<Pod>(|pods| pods.page_size(10))
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps();
    let _no_informer_yet = factory.core().v1().pods();
    factory.start();
    assert!(factory.informers().is_empty());
    factory.wait_for_sync().await.unwrap();
    assert!(server.requests().is_empty());

    let informer = maps.informer();
    factory.start();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(informer.start(), Err(StartError::AlreadyStarted));
    assert_eq!(
        request_counts(&server, "pods"),
        (0, 0),
        "options alone make no informer"
    );

    let pods = factory.core().v1().pods().informer();
    assert!(matches!(pods.status().state, State::NotStarted));
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert!(pods.has_synced());
    let resources: Vec<String> = factory
        .status()
        .informers
        .into_iter()
        .map(|status| status.resource)
        .collect();
    assert_eq!(resources, ["configmaps", "pods"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_not_started_is_warned_of_once() {
    let log = Errors::listen();
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    factory.core().v1().pods().informer();
    factory.start();
    let maps = factory.core().v1().config_maps().lister();
    let by_hand = factory.core().v1().secrets().informer();
    by_hand.start().unwrap();
    log.warnings();

    factory.wait_for_sync().await.unwrap();
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("configmaps") && warnings[0].contains("call `start` again"),
        "{warnings:?}"
    );
    factory.wait_for_sync().await.unwrap();
    assert_eq!(log.warnings(), [""; 0], "it is said once");

    assert!(maps.list(&Selector::everything()).is_empty());
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("was not started"), "{warnings:?}");
    assert!(maps.is_empty());
    assert_eq!(log.warnings(), [""; 0], "it is said once");

    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(maps.len(), 1);
    assert_eq!(log.warnings(), [""; 0]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_started_by_hand_is_the_factorys_all_the_same() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    informer.start().unwrap();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    factory.shutdown().await;
    assert!(informer.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn options_of_a_kind_extend_those_of_the_factory() {
    // Without its cache the server cuts lists into pages.
    let server = ApiServer::builder().watch_cache(WatchCache::Off).start();
    for number in 0..5 {
        server
            .create(&item_in("web", &format!("map-{number}"), "1"))
            .unwrap();
        server.create(&pod(&format!("pod-{number}"), "node-1")).unwrap();
    }
    let factory = SharedInformerFactory::builder(server.client())
        .namespace("web")
        .page_size(500)
        .initial_state(InitialState::List)
        .handler_defaults(HandlerOptions::default().buffer(7))
        .tweak_list_options(|options| options.parameter("shardSelector", "all"))
        .kind::<ConfigMap>(|maps| {
            maps.page_size(2)
                .transform(|map| map.data = None)
                .label_index("app")
                .handler_defaults(HandlerOptions::default().on_overflow(Overflow::Grow))
        })
        .kind::<Pod>(|pods| pods.all_namespaces().fields("spec.nodeName=node-1"))
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().informer();
    let pods = factory.core().v1().pods().informer();
    factory.start();
    factory.wait_for_sync().await.unwrap();

    let of_maps = server.requests().of("configmaps").lists();
    assert_eq!(of_maps.len(), 3, "five objects in pages of two");
    assert!(
        of_maps
            .iter()
            .all(|request| request.parameter("limit") == Some("2"))
    );
    assert_eq!(maps.indexer().len(), 5);
    assert!(maps.indexer().list().iter().all(|map| map.data.is_none()));
    assert_eq!(maps.status().indexes[0].name, "label app");
    assert_eq!(pods.indexer().len(), 5, "pods of every namespace");
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.parameter("shardSelector") == Some("all"))
    );
    let of_pods = requests.of("pods");
    assert_eq!((of_pods.lists().len(), of_pods.watches().len()), (1, 1));
    assert!(
        of_pods
            .iter()
            .all(|request| request.parameter("fieldSelector") == Some("spec.nodeName=node-1"))
    );
    assert!(
        of_pods
            .lists()
            .iter()
            .all(|request| request.parameter("limit") == Some("500"))
    );
    factory.shutdown().await;
}

/// Upstream: code-generator's TestTransforms, with the more specific transform winning instead of the
/// factory's.
#[tokio::test(start_paused = true)]
async fn a_transform_for_all_kinds_yields_to_one_of_a_kind() {
    let server = server_with(&["a"]);
    server.create(&pod("a", "node-1")).unwrap();
    let factory = SharedInformerFactory::builder(server.client())
        .transform(|object| {
            object.metadata_mut().labels = Some([("seen".to_owned(), "by-all".to_owned())].into());
        })
        .kind::<Pod>(|pods| {
            pods.transform(|pod| {
                pod.metadata.labels = Some([("seen".to_owned(), "by-pods".to_owned())].into());
            })
        })
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().lister();
    let pods = factory.core().v1().pods().lister();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(maps.list(&"seen=by-all".parse().unwrap()).len(), 1);
    assert_eq!(pods.list(&"seen=by-pods".parse().unwrap()).len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn accessors_live_in_structs_and_move_into_tasks() {
    struct Part {
        pods: informers::core::v1::PodInformer,
        lister: informers::core::v1::PodLister,
    }
    let server = ApiServer::start();
    server.create(&pod("a", "node-1")).unwrap();
    let factory = factory_of(&server);
    let pods = factory.core().v1().pods();
    let part = Part {
        lister: pods.lister(),
        pods,
    };
    factory.start();
    let counted = tokio::spawn(async move {
        part.pods.informer().synced().await.unwrap();
        part.lister.list(&Selector::everything()).len()
    });
    assert_eq!(counted.await.unwrap(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_dropped_without_shutdown_leaves_no_task() {
    let server = server_with(&["a"]);
    let before = tasks();
    let factory = factory_of(&server);
    let maps = factory.core().v1().config_maps();
    let (informer, lister) = (maps.informer(), maps.lister());
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert!(tasks() > before);

    drop(factory);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(
        !informer.is_stopped(),
        "the accessor is a handle of the factory too"
    );
    drop(maps);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(informer.is_stopped());
    assert_eq!(tasks(), before);
    assert!(
        lister.config_maps("default").get("a").is_some(),
        "the last state stays"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_to_life_after_a_shutdown() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let before = tasks();
    let early = factory.core().v1().config_maps().informer();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    factory.shutdown().await;
    factory.shutdown().await;
    assert_eq!(tasks(), before);

    let late = factory.core().v1().pods().informer();
    for refused in [
        early.add_handler(|_: Event<ConfigMap>| {}).map(drop),
        late.add_handler(|_: Event<Pod>| {}).map(drop),
    ] {
        assert_eq!(refused.unwrap_err(), AddHandlerError::Stopped);
    }
    factory.start();
    assert_eq!(late.start(), Err(StartError::Stopped));
    assert_eq!(request_counts(&server, "pods"), (0, 0));
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_takes_too_long_names_the_busy_handlers() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let (release, held) = tokio::sync::oneshot::channel::<()>();
    let (entered, inside) = tokio::sync::oneshot::channel();
    let mut once = Some((entered, held));
    let informer = factory.core().v1().config_maps().informer();
    let options = HandlerOptions::default().name("the slow one");
    informer
        .add_async_handler_with(options, move |_: Event<ConfigMap>| {
            let once = once.take();
            async move {
                if let Some((entered, held)) = once {
                    entered.send(()).unwrap();
                    held.await.unwrap();
                }
            }
        })
        .unwrap();
    factory.start();
    inside.await.unwrap();
    let error = factory
        .shutdown_timeout(Duration::from_secs(3))
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with("configmaps: "), "{error}");
    assert!(error.to_string().contains("the slow one"), "{error}");
    release.send(()).unwrap();
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_of_the_programs_stops_every_informer() {
    let server = server_with(&["a"]);
    let token = CancellationToken::new();
    let factory = SharedInformerFactory::builder(server.client())
        .cancel_with(&token)
        .build()
        .unwrap();
    let before = tasks();
    let maps: SharedInformer<ConfigMap> = factory.informer_for();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    token.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tasks(), before);
    assert!(maps.is_stopped());
    assert!(factory.core().v1().pods().informer().is_stopped());
}

#[test]
fn a_runtime_of_the_programs_runs_what_is_started_outside_of_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (server, client) = {
        let _inside = runtime.enter();
        let server = server_with(&["a"]);
        let client = server.client();
        (server, client)
    };
    let factory = SharedInformerFactory::builder(client)
        .runtime(runtime.handle().clone())
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().informer();
    factory.start();
    runtime.block_on(factory.wait_for_sync_within(LONG)).unwrap();
    assert_eq!(keys(&maps), ["default/a"]);
    runtime.block_on(factory.shutdown());
    drop(server);
}

#[test]
fn without_a_runtime_nothing_starts_and_the_wait_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (server, factory) = runtime.block_on(async {
        let server = server_with(&["a"]);
        let factory = factory_of(&server);
        (server, factory)
    });
    let _maps = factory.core().v1().config_maps().informer();
    factory.start();
    let error = runtime.block_on(factory.wait_for_sync()).unwrap_err();
    let expected = "1 of 1 informers not in sync: configmaps: not started: no tokio runtime found";
    assert!(error.to_string().starts_with(expected), "{error}");

    runtime.block_on(async {
        factory.start();
        factory.wait_for_sync().await.unwrap();
        factory.shutdown().await;
    });
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn a_late_write_reaches_a_handler_added_through_the_factory() {
    let server = server_with(&["a"]);
    let factory = factory_of(&server);
    let informer = factory.core().v1().config_maps().informer();
    let received = Recorder::new();
    received.add_to(&informer);
    factory.start();
    factory.wait_for_sync().await.unwrap();
    assert_eq!(
        received.take(),
        ["initial a"],
        "a wait for sync is a wait for the handlers"
    );
    server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(received.take(), ["update a"]);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_audits_every_kind_but_those_that_will_not() {
    let server = server_with(&["a"]);
    let factory = SharedInformerFactory::builder(server.client())
        .audit(AuditOptions::every(Duration::from_secs(60)))
        .kind::<Pod>(|pods| pods.no_audit())
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps().informer();
    let pods = factory.core().v1().pods().informer();
    factory.start();
    factory.wait_for_sync().await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let audit = |status: informers::InformerStatus| status.scopes[0].audit.clone();
    let of_maps = audit(maps.status()).unwrap();
    assert!(of_maps.audits >= 2, "{of_maps:?}");
    assert_eq!(of_maps.mismatches, 0);
    assert!(audit(pods.status()).is_none());
    factory.shutdown().await;
}
