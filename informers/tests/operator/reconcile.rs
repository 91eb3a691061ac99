//! The reconciler of the operator: converges, heals, reports, cleans up, and survives faults.

use std::time::Duration;

use informer_testing::{ApiServer, Profile};
use informers::SharedInformerFactory;
use informers::controller::{Finished, ManagerError};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::generated::hosting_example_com::v1::Website;
use crate::operator::{election, manager};

/// How long a reconciler may take to converge under faults. It has a token bucket and backoff.
const LONG: Duration = Duration::from_secs(600);

pub(crate) const CRD: &str = include_str!("../../examples/operator/crds/websites.yaml");

/// An operator at work on an embedded server.
pub(crate) struct Operator {
    pub(crate) server: ApiServer,
    stop: oneshot::Sender<()>,
    run: JoinHandle<Result<Finished, ManagerError>>,
}

impl Operator {
    fn start() -> Self {
        Self::on(ApiServer::builder().crd_yaml(CRD).unwrap().start())
    }

    pub(crate) fn on(server: ApiServer) -> Self {
        let client = server.client();
        let factory = SharedInformerFactory::new(client.clone());
        let manager = manager(&client, factory)
            .unwrap()
            .leader_election(election(client));
        let (stop, stopped) = oneshot::channel();
        let run = manager.run_until(async { drop(stopped.await) });
        Self {
            server,
            stop,
            run: tokio::spawn(run),
        }
    }

    pub(crate) async fn end(self) {
        self.stop.send(()).unwrap();
        let finished = self.run.await.unwrap().unwrap();
        assert!(
            finished
                .controllers
                .iter()
                .all(|(_, stopped)| stopped.running.is_empty())
        );
    }

    /// Waits for a Deployment with this number of replicas and this image.
    pub(crate) async fn deployed(&self, replicas: i32, image: &str) -> Deployment {
        let is_wanted = |found: &[Deployment]| {
            let spec = &json!(found)[0]["spec"];
            spec["replicas"] == replicas && spec["template"]["spec"]["containers"][0]["image"] == image
        };
        self.server.until_within(LONG, is_wanted).await.unwrap().remove(0)
    }

    /// Does what the controller of Deployments does: all pods of the newest spec are ready.
    pub(crate) fn run_pods(&self) {
        for deployment in self.server.objects::<Deployment>() {
            let replicas = json!(deployment)["spec"]["replicas"].clone();
            let status =
                json!({ "observedGeneration": deployment.metadata.generation, "readyReplicas": replicas });
            let fields = json!({ "status": status, "metadata": { "namespace": "shop", "name": "front" } });
            self.server
                .merge(&typed("apps/v1", "Deployment", fields))
                .unwrap();
        }
    }

    /// Waits until the status describes the newest spec with this reason.
    pub(crate) async fn reported(&self, reason: &str) -> Website {
        let is_wanted = |found: &[Website]| {
            found.first().is_some_and(|website| {
                let status = website.status.as_ref();
                let condition = status.and_then(|status| status.conditions.as_ref()?.first());
                let generation = website.metadata.generation;
                condition
                    .is_some_and(|ready| ready.reason == reason && ready.observed_generation == generation)
                    && status.and_then(|status| status.observed_generation) == generation
            })
        };
        self.server.until_within(LONG, is_wanted).await.unwrap().remove(0)
    }
}

fn typed(version: &str, kind: &str, mut fields: Value) -> Value {
    fields["apiVersion"] = version.into();
    fields["kind"] = kind.into();
    fields
}

pub(crate) fn website(replicas: i32, image: &str) -> Value {
    let spec = json!({ "plan": "small", "image": image, "replicas": replicas, "port": 8080 });
    let metadata = json!({ "namespace": "shop", "name": "front" });
    typed(
        "hosting.example.com/v1",
        "Website",
        json!({ "metadata": metadata, "spec": spec }),
    )
}

fn reasons(server: &ApiServer) -> Vec<String> {
    let events = server.objects::<Event>();
    let mut reasons: Vec<String> = events.into_iter().filter_map(|event| event.reason).collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

#[tokio::test(start_paused = true)]
async fn a_website_gets_its_children_its_status_and_events() {
    let operator = Operator::start();
    operator.server.create(&website(2, "site:1")).unwrap();
    let deployment = operator.deployed(2, "site:1").await;
    let before = operator.reported("Progressing").await;
    let owner = deployment.owner_references().first().unwrap();
    assert_eq!(
        (Some(&owner.uid), owner.controller),
        (before.metadata.uid.as_ref(), Some(true))
    );
    let services = operator.server.objects::<Service>();
    assert_eq!(services[0].owner_references(), deployment.owner_references());
    assert_eq!(before.finalizers(), ["hosting.example.com/children"]);

    operator.run_pods();
    let after = operator.reported("Available").await;
    let condition = &after.status.unwrap().conditions.unwrap()[0];
    assert_eq!(condition.type_, "Ready");
    assert_eq!(condition.status, "True");
    assert_eq!(condition.message, "2 of 2 pods are ready");
    let regarding = |event: &Event| event.regarding.clone().unwrap_or_default().uid == before.metadata.uid;
    operator
        .server
        .until(|events: &[Event]| {
            events
                .iter()
                .any(|event| event.reason.as_deref() == Some("Available"))
        })
        .await
        .unwrap();
    assert!(operator.server.objects::<Event>().iter().all(regarding));
    assert_eq!(reasons(&operator.server), ["Applied", "Available", "Progressing"]);
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_changes() {
    let operator = Operator::start();
    operator.server.create(&website(1, "site:1")).unwrap();
    operator.deployed(1, "site:1").await;
    operator.run_pods();
    operator.reported("Available").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    operator.server.clear_requests();
    // Longer than the time after which it looks again.
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let requests = operator.server.requests().into_iter();
    let others =
        requests.filter(|request| request.resource.as_deref() != Some("leases") && !request.is_watch());
    assert_eq!(
        others.map(|request| request.path).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_and_changed_children_are_restored() {
    let operator = Operator::start();
    operator.server.create(&website(2, "site:1")).unwrap();
    let deployment = operator.deployed(2, "site:1").await;
    operator.reported("Progressing").await;
    operator.server.delete(&deployment).unwrap();
    let again = operator.deployed(2, "site:1").await;
    assert_ne!(again.uid(), deployment.uid());

    let target = json!({ "metadata": { "namespace": "shop", "name": "front" }, "spec": { "replicas": 7 } });
    operator
        .server
        .merge(&typed("apps/v1", "Deployment", target))
        .unwrap();
    operator.deployed(2, "site:1").await;
    operator
        .server
        .delete(&operator.server.objects::<Service>()[0])
        .unwrap();
    operator
        .server
        .until(|services: &[Service]| services.len() == 1)
        .await
        .unwrap();
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_spec_reaches_the_children_and_the_status() {
    let operator = Operator::start();
    operator.server.create(&website(1, "site:1")).unwrap();
    operator.deployed(1, "site:1").await;
    operator.run_pods();
    operator.reported("Available").await;
    operator.server.merge(&website(3, "site:2")).unwrap();
    operator.deployed(3, "site:2").await;
    operator.reported("Progressing").await;
    operator.run_pods();
    operator.reported("Available").await;
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_website_takes_its_children_with_it() {
    let operator = Operator::start();
    operator.server.create(&website(1, "site:1")).unwrap();
    operator.deployed(1, "site:1").await;
    operator.reported("Progressing").await;
    operator.server.delete(&website(1, "site:1")).unwrap();
    operator
        .server
        .until(|websites: &[Website]| websites.is_empty())
        .await
        .unwrap();
    // The finalizer is removed last.
    assert!(operator.server.objects::<Deployment>().is_empty());
    assert!(operator.server.objects::<Service>().is_empty());
    assert!(reasons(&operator.server).contains(&"Removed".to_owned()));
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_belongs_to_something_else_is_left_alone() {
    let operator = Operator::start();
    let container = json!({ "name": "site", "image": "other:1" });
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [container] } });
    let spec = json!({ "replicas": 5, "selector": { "matchLabels": { "a": "b" } }, "template": template });
    let metadata = json!({ "namespace": "shop", "name": "front" });
    let other = typed(
        "apps/v1",
        "Deployment",
        json!({ "metadata": metadata, "spec": spec }),
    );
    let other: Deployment = serde_json::from_value(other).unwrap();
    operator.server.create(&website(1, "site:1")).unwrap();
    let api = kube::Api::<Deployment>::namespaced(operator.server.client(), "shop");
    api.create(&kube::api::PostParams::default(), &other)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let stored = &operator.server.objects::<Deployment>()[0];
    assert_eq!(json!(stored)["spec"]["replicas"], 5);
    assert_eq!(stored.owner_references(), []);
    operator.end().await;
}

/// One life of a website under random faults.
async fn check_under_faults(seed: u64) {
    let operator = Operator::start();
    operator.server.faults().random(seed, Profile::mild());
    operator.server.create(&website(1, "site:1")).unwrap();
    let deployment = operator.deployed(1, "site:1").await;
    operator.run_pods();
    operator.reported("Available").await;
    operator.server.merge(&website(4, "site:2")).unwrap();
    operator.deployed(4, "site:2").await;
    operator.server.delete(&deployment).unwrap();
    operator.deployed(4, "site:2").await;
    operator.run_pods();
    operator.reported("Available").await;
    operator.server.delete(&website(4, "site:2")).unwrap();
    let is_gone = |websites: &[Website]| websites.is_empty();
    operator.server.until_within(LONG, is_gone).await.unwrap();
    assert!(operator.server.objects::<Deployment>().is_empty(), "seed {seed}");
    assert!(operator.server.objects::<Service>().is_empty(), "seed {seed}");
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_operator_converges_under_random_faults() {
    for seed in 0..20 {
        check_under_faults(seed).await;
    }
}
