//! Controllers: which changes lead to a reconcile, and what becomes of its outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::channel::mpsc;
use informer_core::controller::{Action, Controller, ControllerBuilder, Predicate, Request, Run, Stopped};
use informer_core::workqueue::limiter::ExponentialBackoff;
use informer_core::{ObjectKey, SharedInformer};
use informer_testing::{ApiServer, Fault, FaultId, Rule};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, builder_of, informer_of, item, label, server_with, settled, start, unseen};

type Outcome = Result<Action, std::io::Error>;

/// A controller of ConfigMaps at work, with a record of its calls as `key=value`.
pub(crate) struct Work {
    pub(crate) controller: Controller<ConfigMap>,
    calls: Arc<Mutex<Vec<String>>>,
    stop: CancellationToken,
    run: JoinHandle<Stopped>,
}

impl Work {
    /// Starts the informer and the controller; `outcome` decides about each call.
    pub(crate) async fn start<F, R>(builder: ControllerBuilder<ConfigMap>, outcome: R) -> Self
    where
        R: Fn(Arc<Request<ConfigMap>>) -> F + Send + Sync + 'static,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let controller = builder.build().unwrap();
        controller.synced().await.unwrap();
        let (calls, stop) = (Arc::<Mutex<Vec<String>>>::default(), CancellationToken::new());
        let record = calls.clone();
        let reconcile = move |request: Request<ConfigMap>| {
            let call = match request.object() {
                Some(object) => label(&object),
                None => format!("{} deleted", request.key().name()),
            };
            record.lock().unwrap().push(call);
            outcome(Arc::new(request))
        };
        let (running, run) = (controller.clone(), Run::default().stop(stop.clone()));
        let run = tokio::spawn(async move { running.run(reconcile, run).await });
        Self {
            controller,
            calls,
            stop,
            run,
        }
    }

    /// The calls since the last look, when the controller has had time for all of them.
    pub(crate) async fn calls(&self) -> Vec<String> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    pub(crate) async fn stop(self) -> Stopped {
        self.stop.cancel();
        self.run.await.unwrap()
    }
}

/// From now on the cache of the server's only watcher stays as it is, until the fault is removed.
pub(crate) async fn lag(server: &ApiServer) -> FaultId {
    let lag = server.faults().add(Fault::Stale(server.revision()));
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(server.watchers(), 1);
    lag
}

/// A reconciler that changes `a` to `2` whenever `is_due`, reports the write, and requeues every key.
pub(crate) fn writing(
    server: &Arc<ApiServer>,
    informer: &SharedInformer<ConfigMap>,
    is_due: impl Fn(&Request<ConfigMap>) -> bool + Send + Sync + 'static,
) -> impl Fn(Arc<Request<ConfigMap>>) -> std::future::Ready<Outcome> + Send + Sync + 'static {
    let (server, informer) = (server.clone(), informer.clone());
    move |request: Arc<Request<ConfigMap>>| {
        if is_due(&request) {
            let written = server.update(&item("a", "2")).unwrap();
            request.wrote(&informer, &written);
        }
        std::future::ready(Ok(Action::requeue(Duration::from_secs(1))))
    }
}

/// Whether a request shows the initial state of `a`.
pub(crate) fn shows_the_first_state_of_a(request: &Request<ConfigMap>) -> bool {
    request.object().is_some_and(|object| label(&object) == "a=1")
}

async fn done(_: Arc<Request<ConfigMap>>) -> Outcome {
    Ok(Action::await_change())
}

fn failure() -> std::io::Error {
    std::io::Error::other("the disk is full")
}

fn owned_secret(name: &str, owner: &ConfigMap) -> Secret {
    let reference = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: owner.metadata.name.clone().unwrap(),
        uid: owner.metadata.uid.clone().unwrap(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("default".to_owned()),
            owner_references: Some(vec![reference]),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    }
}

async fn started(server: &ApiServer) -> SharedInformer<ConfigMap> {
    let informer = informer_of(server);
    start(&informer).await;
    informer
}

#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_the_initial_state_and_every_change() {
    let server = server_with(&["a", "b"]);
    let informer = started(&server).await;
    let work = Work::start(Controller::new("items", &informer), done).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    server.create(&item("c", "1")).unwrap();
    assert_eq!(work.calls().await, ["c=1"]);
    server.update(&item("a", "2")).unwrap();
    assert_eq!(work.calls().await, ["a=2"]);
    server.delete(&item("b", "1")).unwrap();
    assert_eq!(work.calls().await, ["b deleted"]);
    let status = work.controller.status();
    assert_eq!(
        (status.totals.succeeded, status.running.len()),
        (5, 0),
        "{status:?}"
    );
    assert_eq!(work.stop().await, Stopped::default());
}

#[tokio::test(start_paused = true)]
async fn an_owned_object_reconciles_its_owner_before_and_after_a_move() {
    let server = server_with(&["a", "b"]);
    let (items, secrets) = (
        started(&server).await,
        builder_of(server.client()).build().unwrap(),
    );
    start::<Secret>(&secrets).await;
    let work = Work::start(Controller::new("items", &items).owns(&secrets), done).await;
    work.calls().await;
    let (a, b) = (get(&items, "a"), get(&items, "b"));
    server.create(&owned_secret("s", &a)).unwrap();
    assert_eq!(work.calls().await, ["a=1"]);
    server.update(&owned_secret("s", &b)).unwrap();
    assert_eq!(work.calls().await, ["a=1", "b=1"], "both owners");
    server.delete(&owned_secret("s", &b)).unwrap();
    assert_eq!(work.calls().await, ["b=1"]);
    let mut of_another_kind = owned_secret("other", &a);
    of_another_kind.metadata.owner_references.as_mut().unwrap()[0].kind = "Service".to_owned();
    server.create(&of_another_kind).unwrap();
    let mut of_an_earlier_one = owned_secret("earlier", &a);
    of_an_earlier_one.metadata.owner_references.as_mut().unwrap()[0].uid = "earlier".to_owned();
    server.create(&of_an_earlier_one).unwrap();
    assert_eq!(work.calls().await, [""; 0]);
    work.stop().await;
}

fn get(informer: &SharedInformer<ConfigMap>, name: &str) -> Arc<ConfigMap> {
    informer
        .indexer()
        .get(&ObjectKey::namespaced("default", name))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_mapping_is_asked_for_the_old_and_the_new_state() {
    let server = server_with(&["a", "b"]);
    let items = started(&server).await;
    let secrets: SharedInformer<Secret> = builder_of(server.client()).build().unwrap();
    start(&secrets).await;
    // A secret names items by its labels.
    let named = |secret: &Secret| -> Vec<ObjectKey> {
        let labels = secret.metadata.labels.clone().unwrap_or_default();
        labels
            .into_keys()
            .map(|name| ObjectKey::namespaced("default", name))
            .collect()
    };
    let work = Work::start(Controller::new("items", &items).watches(&secrets, named), done).await;
    work.calls().await;
    let mut secret = Secret::default();
    secret.metadata.name = Some("s".to_owned());
    secret.metadata.namespace = Some("default".to_owned());
    secret.metadata.labels = Some(BTreeMap::from([("a".to_owned(), String::new())]));
    server.create(&secret).unwrap();
    settled(&secrets, &server).await;
    assert_eq!(work.calls().await, ["a=1"]);
    secret.metadata.labels = Some(BTreeMap::from([("b".to_owned(), String::new())]));
    server.update(&secret).unwrap();
    settled(&secrets, &server).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_predicate_drops_changes_it_does_not_pass() {
    let server = server_with(&["a"]);
    let informer = started(&server).await;
    let builder = Controller::new("items", &informer).filter(Predicate::labels_changed());
    let work = Work::start(builder, done).await;
    assert_eq!(work.calls().await, ["a=1"]);
    server.update(&item("a", "2")).unwrap();
    settled(&informer, &server).await;
    assert_eq!(work.calls().await, [""; 0]);
    let mut labelled = item("a", "3");
    labelled.metadata.labels = Some(BTreeMap::from([("tier".to_owned(), "front".to_owned())]));
    server.update(&labelled).unwrap();
    settled(&informer, &server).await;
    assert_eq!(work.calls().await, ["a=3"]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_growing_delays_and_reported() {
    let server = server_with(&["a"]);
    let informer = started(&server).await;
    let reports = Arc::<Mutex<Vec<(u32, Duration)>>>::default();
    let seen = reports.clone();
    let builder = Controller::new("items", &informer)
        .backoff(ExponentialBackoff::new(
            Duration::from_secs(1),
            Duration::from_secs(4),
        ))
        .on_error(move |failed| seen.lock().unwrap().push((failed.attempt, failed.retry_in)));
    let fails = |request: Arc<Request<ConfigMap>>| async move {
        match request.attempt() {
            5 => Ok(Action::await_change()),
            _ => Err(failure()),
        }
    };
    let work = Work::start(builder, fails).await;
    assert_eq!(work.calls().await, ["a=1"]);
    let failing = work.controller.status().failing;
    assert_eq!(failing[0].error, "the disk is full");
    assert_eq!(
        (failing[0].failures, failing[0].retry_in),
        (1, Duration::from_secs(1))
    );
    tokio::time::sleep(Duration::from_secs(1 + 2 + 4 + 4 + 4)).await;
    assert_eq!(work.calls().await.len(), 5);
    let seconds = |delays: &[u64]| -> Vec<(u32, Duration)> {
        (1..)
            .zip(delays.iter().map(|&delay| Duration::from_secs(delay)))
            .collect()
    };
    assert_eq!(*reports.lock().unwrap(), seconds(&[1, 2, 4, 4, 4]));
    assert!(work.controller.status().failing.is_empty());
    tokio::time::sleep(LONG).await;
    assert_eq!(work.calls().await, [""; 0], "the success ended the retries");
    server.update(&item("a", "2")).unwrap();
    work.calls().await;
    assert_eq!(
        reports.lock().unwrap().last(),
        Some(&(1, Duration::from_secs(1))),
        "and reset the delays"
    );
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_time_limit_are_failures_like_others() {
    let server = server_with(&["a", "b"]);
    let informer = started(&server).await;
    let builder = Controller::new("items", &informer).time_limit(Duration::from_secs(10));
    let fails = |request: Arc<Request<ConfigMap>>| async move {
        match (request.attempt(), request.key().name()) {
            (0, "a") => panic!("no luck"),
            (0, _) => std::future::pending().await,
            _ => Ok(Action::await_change()),
        }
    };
    let work = Work::start(builder, fails).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    let failing = work.controller.status().failing;
    assert_eq!(failing[0].error, "the reconciler panicked: no luck");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    let totals = work.controller.status().totals;
    assert_eq!((totals.panicked, totals.timed_out, totals.succeeded), (1, 1, 2));
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_requeue_is_replaced_by_the_outcome_of_the_next_reconcile() {
    let server = server_with(&["a"]);
    let informer = started(&server).await;
    let requeues = |request: Arc<Request<ConfigMap>>| async move {
        match request.object().map(|object| label(&object)).as_deref() {
            Some("a=1") => Ok(Action::requeue(Duration::from_secs(60))),
            _ => Ok(Action::await_change()),
        }
    };
    let work = Work::start(Controller::new("items", &informer), requeues).await;
    assert_eq!(work.calls().await, ["a=1"]);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(work.calls().await, ["a=1"]);
    server.update(&item("a", "2")).unwrap();
    assert_eq!(work.calls().await, ["a=2"]);
    tokio::time::sleep(LONG).await;
    assert_eq!(work.calls().await, [""; 0]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_debounced_key_is_reconciled_once_for_several_changes() {
    let server = server_with(&[]);
    let informer = started(&server).await;
    let builder = Controller::new("items", &informer).debounce(Duration::from_secs(2));
    let work = Work::start(builder, done).await;
    server.create(&item("a", "1")).unwrap();
    for value in ["2", "3", "4"] {
        tokio::time::sleep(Duration::from_millis(600)).await;
        server.update(&item("a", value)).unwrap();
    }
    assert_eq!(work.calls().await, [""; 0]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(work.calls().await, ["a=4"], "two seconds after the first change");
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn streams_and_the_handle_trigger_reconciles() {
    let server = server_with(&["a", "b"]);
    let informer = started(&server).await;
    let (keys, key_stream) = mpsc::unbounded();
    let (all, all_stream) = mpsc::unbounded();
    let builder = Controller::new("items", &informer)
        .reconcile_on(key_stream)
        .reconcile_all_on(all_stream);
    let work = Work::start(builder, done).await;
    work.calls().await;
    keys.unbounded_send(ObjectKey::namespaced("default", "b"))
        .unwrap();
    assert_eq!(work.calls().await, ["b=1"]);
    all.unbounded_send(()).unwrap();
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    work.controller
        .reconcile(ObjectKey::namespaced("default", "none"));
    assert_eq!(work.calls().await, ["none deleted"]);
    work.controller.reconcile_all();
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fresh_change_overtakes_the_initial_state() {
    let names: Vec<String> = (0..100).map(|number| format!("n{number:03}")).collect();
    let server = server_with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (builder, expected) in [
        (Controller::new as fn(&'static str, &_) -> _, 0..8),
        (
            (|name: &'static str, informer: &_| Controller::new(name, informer).first_in_first_out()) as _,
            99..100,
        ),
    ] {
        let informer = started(&server).await;
        let builder: ControllerBuilder<ConfigMap> = builder("items", &informer);
        let slow = |_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Action::await_change())
        };
        let work = Work::start(builder, slow).await;
        work.calls().await;
        server.update(&item("n099", &format!("{expected:?}"))).unwrap();
        tokio::time::sleep(Duration::from_secs(200)).await;
        let calls = work.calls().await;
        let position = calls.iter().position(|call| call.starts_with("n099")).unwrap();
        assert!(expected.contains(&(position + 1)), "at {position}");
        work.stop().await;
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_its_writes_and_its_worker_does_not() {
    let server = Arc::new(server_with(&["a", "b"]));
    let informer = started(&server).await;
    let writes = writing(&server, &informer, shows_the_first_state_of_a);
    let lag = lag(&server).await;
    let work = Work::start(Controller::new("items", &informer), writes).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    let waiting = work.controller.status().waiting;
    assert_eq!((waiting[0].key.name(), waiting[0].writes), ("a", 1));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(work.calls().await, ["b=1"; 3], "the only worker is free");
    server.faults().remove(lag);
    assert_eq!(work.calls().await, ["a=2"]);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_appears_delays_its_key_by_the_deadline() {
    let server = Arc::new(server_with(&["a"]));
    let informer = started(&server).await;
    lag(&server).await;
    let started_at = Instant::now();
    let writes = writing(&server, &informer, move |_| {
        started_at.elapsed() < Duration::from_secs(1)
    });
    let builder = Controller::new("items", &informer).write_deadline(Duration::from_secs(20));
    let work = Work::start(builder, writes).await;
    assert_eq!(work.calls().await, ["a=1"]);
    tokio::time::sleep(Duration::from_secs(19)).await;
    assert_eq!(work.calls().await, [""; 0]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(work.calls().await, ["a=1"]);
    assert_eq!(work.controller.status().totals.unconfirmed_writes, 1);
    work.stop().await;
}

/// The cache never had the child, so no event reports its deletion.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_deleted_before_the_cache_has_it_is_created_again() {
    let server = Arc::new(server_with(&["a"]));
    let items = started(&server).await;
    let secrets: SharedInformer<Secret> = builder_of(server.client()).build().unwrap();
    start(&secrets).await;
    let (writing, children) = (server.clone(), secrets.clone());
    let creates = move |request: Arc<Request<ConfigMap>>| {
        let (server, secrets) = (writing.clone(), children.clone());
        async move {
            let parent = request.object().unwrap();
            if secrets.indexer().owned_by(&*parent).is_empty() {
                let created = server.create(&owned_secret("s", &parent)).unwrap();
                request.wrote(&secrets, &created);
            }
            Ok(Action::await_change())
        }
    };
    let lag = server
        .faults()
        .add(Rule::new(Fault::Stale(server.revision())).resource("secrets"));
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let work = Work::start(Controller::new("items", &items).owns(&secrets), creates).await;
    assert_eq!(work.calls().await, ["a=1"]);
    unseen(&server, || {
        server.delete(&server.objects::<Secret>()[0]).unwrap();
        server.faults().remove(lag);
    });
    tokio::time::sleep(LONG).await;
    assert_eq!(work.calls().await[0], "a=1");
    assert_eq!(server.objects::<Secret>().len(), 1);
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_waited_for_like_a_write() {
    let server = Arc::new(server_with(&["a", "b"]));
    let informer = started(&server).await;
    let (writing, api) = (server.clone(), informer.clone());
    let deletes = move |request: Arc<Request<ConfigMap>>| {
        let (server, informer) = (writing.clone(), api.clone());
        async move {
            let key = ObjectKey::namespaced("default", "b");
            if let Some(b) = informer
                .indexer()
                .get(&key)
                .filter(|_| request.key().name() == "a")
            {
                server.delete(&*b).unwrap();
                request.deleted(&informer, &key, b.metadata.uid.as_deref().unwrap());
            }
            Ok(Action::requeue(Duration::from_secs(1)))
        }
    };
    let lag = lag(&server).await;
    let work = Work::start(Controller::new("items", &informer), deletes).await;
    work.calls().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!work.calls().await.contains(&"a=1".to_owned()));
    server.faults().remove(lag);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(work.calls().await.contains(&"a=1".to_owned()));
    work.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_reports_keys_that_were_left_delayed_and_cancelled() {
    let server = server_with(&["a", "b", "c"]);
    let informer = started(&server).await;
    let outcome = |request: Arc<Request<ConfigMap>>| async move {
        match request.key().name() {
            "a" => Ok(Action::requeue(Duration::from_secs(3600))),
            _ => std::future::pending().await,
        }
    };
    let work = Work::start(Controller::new("items", &informer), outcome).await;
    assert_eq!(work.calls().await, ["a=1", "b=1"]);
    let before = Instant::now();
    let mut stopped = work.stop().await;
    stopped.left.sort();
    let texts = |keys: &[ObjectKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&stopped.left), ["default/a", "default/c"]);
    assert_eq!(texts(&stopped.cancelled), ["default/b"]);
    assert_eq!(before.elapsed().as_secs(), 30, "the grace period");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_controller_leaves_no_handler() {
    let server = server_with(&["a"]);
    let informer = started(&server).await;
    let controller = Controller::new("items", &informer).build().unwrap();
    assert_eq!(informer.status().handlers.len(), 1);
    drop(controller);
    assert_eq!(informer.status().handlers.len(), 0);
    informer.shutdown().await;
    let refused = Controller::new("items", &informer).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "controller \"items\" cannot watch configmaps"
    );
}
