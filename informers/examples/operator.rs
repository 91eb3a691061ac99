//! An operator that runs each Website by a Deployment and a Service: `cargo run --example operator -- --help`
//!
//! `cargo xtask crd -f examples/operator/crds --out ..` wrote its kinds; `operator/deploy.yaml` deploys it.

#[path = "operator/generated/mod.rs"]
pub(crate) mod generated;

use std::{fmt::Debug, iter::zip, process::ExitCode, sync::Arc, time::Duration};

use generated::hosting_example_com::v1::Website;
use informer_testing::demo::{self, Demo, End, Program, Script};
use informers::controller::{Action, Controller, LeaderElection, Manager, Predicate, Request, terminated};
use informers::{Event, Object, SharedInformer, SharedInformerFactory, client};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::{NamespaceResourceScope as Namespaced, jiff::Timestamp};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::runtime::events::{self, EventType, Recorder};
use kube::runtime::{controller::Action as Done, finalizer};
use kube::{Client, Error, Resource, ResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const OPERATOR: &str = "website-operator";
const FINALIZER: &str = "hosting.example.com/children";
const CRD: &str = include_str!("operator/crds/websites.yaml");

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Runs each website by a Deployment and a Service.");
    program.script(Script::websites(CRD)).run(operate).await
}

async fn operate(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    let mut builder = SharedInformerFactory::builder(client.clone());
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let (factory, screen) = (builder.build()?, demo.screen());
    let websites = factory.informer_for::<Website>();
    websites.add_handler(move |event| match event {
        Event::Deleted(deleted) => screen.removed(&**deleted.last_known()),
        _ => screen.conditions(&**event.object()),
    })?;
    // One replica works, and the others wait with full caches until it ends.
    let manager = manager(&client, factory)?.leader_election(election(client));
    if let Some(listener) = demo.probe_listener().await? {
        tokio::spawn(manager.health().serve_on(listener));
    }
    let stop = async |end: End| tokio::select! { () = terminated() => {}, () = end => {} };
    demo.run_until_end(|end| manager.run_until(stop(end))).await?;
    Ok(())
}

pub(crate) fn election(client: Client) -> LeaderElection {
    let namespace = std::env::var("POD_NAMESPACE").unwrap_or_else(|_| "default".to_owned());
    let is_short = std::env::var("SHORT_LEASE").is_ok(); // for tests
    let [lease, renew, retry] = (if is_short { [6, 4, 1] } else { [15, 10, 2] }).map(Duration::from_secs);
    let election = LeaderElection::new(client, namespace, OPERATOR).lease_duration(lease);
    election.renew_deadline(renew).retry_period(retry)
}

pub(crate) fn manager(client: &Client, factory: SharedInformerFactory) -> demo::Result<Manager> {
    let websites = factory.informer_for::<Website>();
    let (deployments, services) = (factory.informer_for(), factory.informer_for());
    // Our own changes of the status are not news, but that of the finalizer is.
    let finalizers = Predicate::value_changed(|website: &Website| website.metadata.finalizers.clone());
    let controller = Controller::new("website", &websites)
        .filter(Predicate::generation_changed().or(finalizers))
        .owns(&deployments)
        .owns(&services)
        .workers(4)
        .build()?;
    let context = Arc::new(Context {
        client: client.clone(),
        recorder: Recorder::new(client.clone(), OPERATOR.into()),
        websites,
        deployments,
        services,
    });
    Ok(Manager::new(factory).controller(controller, move |request| reconcile(request, context.clone())))
}

struct Context {
    client: Client,
    recorder: Recorder,
    websites: SharedInformer<Website>,
    deployments: SharedInformer<Deployment>,
    services: SharedInformer<Service>,
}

async fn reconcile(
    request: Request<Website>,
    context: Arc<Context>,
) -> Result<Action, finalizer::Error<Error>> {
    let Some(website) = request.object() else {
        return Ok(Action::await_change());
    };
    let site = Site {
        request: &request,
        context: &context,
        website: &website,
    };
    // When it has added the finalizer it returns: that change leads to the next reconcile.
    finalizer::finalizer(&site.api(), FINALIZER, website.clone(), async |step| {
        match step {
            finalizer::Event::Apply(_) => site.apply().await?,
            finalizer::Event::Cleanup(_) => site.clean_up().await?,
        }
        Ok(Done::await_change())
    })
    .await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

struct Site<'a> {
    request: &'a Request<Website>,
    context: &'a Context,
    website: &'a Website,
}

/// A kind of object that websites own.
trait Child: Object<DynamicType = (), Scope = Namespaced> + Clone + Debug + Serialize + DeserializeOwned {}
impl Child for Deployment {}
impl Child for Service {}

impl Site<'_> {
    async fn apply(&self) -> Result<(), Error> {
        let (spec, labels) = (&self.website.spec, json!({ "website": self.website.name_any() }));
        let (replicas, port) = (spec.replicas.unwrap_or(1), spec.port.unwrap_or(8080));
        let ports = json!([{ "port": 80, "protocol": "TCP", "targetPort": port }]);
        let service = json!({ "selector": labels, "ports": ports });
        self.ensure(&self.context.services, service).await?;
        let ports = json!([{ "containerPort": port, "protocol": "TCP" }]);
        let pod = json!({ "containers": [{ "name": "site", "image": spec.image, "ports": ports }] });
        let template = json!({ "metadata": { "labels": labels }, "spec": pod });
        let wanted =
            json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
        let deployment = self.ensure(&self.context.deployments, wanted).await?;
        let status = deployment.status.clone().unwrap_or_default();
        let ready = status.ready_replicas.unwrap_or(0);
        let message = format!("{ready} of {replicas} pods are ready");
        // The numbers count only if they describe the newest spec.
        match status.observed_generation >= deployment.metadata.generation && ready >= replicas {
            true => self.report("True", "Available", &message).await,
            false => self.report("False", "Progressing", &message).await,
        }
    }

    /// Deletes the children first, so that a deleted website is offline.
    async fn clean_up(&self) -> Result<(), Error> {
        self.delete(&self.context.deployments).await?;
        self.delete(&self.context.services).await?;
        let (request, uid) = (self.request, self.website.uid().unwrap_or_default());
        request.deleted(&self.context.websites, request.key(), &uid); // follows, by the finalizer
        self.publish("Removed", "the website is offline").await;
        Ok(())
    }

    /// Writes a child with this spec by server-side apply, unless the cache shows it already.
    async fn ensure<K: Child>(&self, children: &SharedInformer<K>, spec: Value) -> Result<Arc<K>, Error> {
        let params = match children.indexer().owned_by(self.website).pop() {
            Some(child) if is_within(&spec, &json!(*child)["spec"]) => return Ok(child),
            Some(_) => PatchParams::apply(OPERATOR).force(),
            None => PatchParams::apply(OPERATOR), // refused if an object of this name is not ours
        };
        let (name, owners) = (self.website.name_any(), [self.website.controller_owner_ref(&())]);
        let metadata = json!({ "name": name, "ownerReferences": owners });
        let (version, kind) = (K::api_version(&()), K::kind(&()));
        let wanted = json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec });
        let written: K = self.api().patch(&name, &params, &Patch::Apply(wanted)).await?;
        // The website is not reconciled again before the cache shows this.
        self.request.wrote(children, &written);
        self.publish("Applied", &format!("applied the {kind}")).await;
        Ok(Arc::new(written))
    }

    async fn delete<K: Child>(&self, children: &SharedInformer<K>) -> Result<(), Error> {
        let (api, params) = (self.api::<K>(), DeleteParams::background());
        for child in children.indexer().owned_by(self.website) {
            match api.delete(&child.name_any(), &params).await {
                Err(Error::Api(status)) if status.is_not_found() => {}
                outcome => drop(outcome?),
            }
            let uid = child.uid().unwrap_or_default();
            self.request.deleted(children, self.request.key(), &uid);
        }
        Ok(())
    }

    /// Writes the status if it changed, and an event if the website became ready or is no longer ready.
    async fn report(&self, status: &str, reason: &str, message: &str) -> Result<(), Error> {
        let (last, generation) = (json!(self.website.status), self.website.metadata.generation);
        let since = &last["conditions"][0]["lastTransitionTime"];
        let (is_news, since) = match last["conditions"][0]["status"] == status {
            true => (false, since.clone()),
            false => (true, json!(Time(Timestamp::now()))),
        };
        let ready = json!({
            "type": "Ready", "status": status, "reason": reason, "message": message,
            "observedGeneration": generation, "lastTransitionTime": since,
        });
        let wanted = json!({ "observedGeneration": generation, "conditions": [ready] });
        if wanted == last {
            return Ok(());
        }
        let (name, params) = (self.website.name_any(), PatchParams::default());
        let patch = Patch::Merge(json!({ "status": wanted }));
        let written: Website = self.api().patch_status(&name, &params, &patch).await?;
        self.request.wrote(&self.context.websites, &written);
        if is_news {
            self.publish(reason, message).await;
        }
        Ok(())
    }

    /// Events inform people: one that cannot be published is logged and not retried.
    async fn publish(&self, reason: &str, note: &str) {
        let event = events::Event {
            type_: EventType::Normal,
            reason: reason.to_owned(),
            note: Some(note.to_owned()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let (recorder, website) = (&self.context.recorder, self.website.object_ref(&()));
        if let Err(error) = recorder.publish(&event, &website).await {
            tracing::warn!(%error, reason, "did not publish an event");
        }
    }

    fn api<K: Resource<DynamicType = (), Scope = Namespaced>>(&self) -> Api<K> {
        let namespace = self.website.namespace().unwrap_or_default();
        Api::namespaced(self.context.client.clone(), &namespace)
    }
}

/// Whether the actual state has everything that is wanted. What the server added is not compared.
fn is_within(wanted: &Value, actual: &Value) -> bool {
    match (wanted, actual) {
        (Value::Object(fields), _) => fields.iter().all(|(name, value)| is_within(value, &actual[name])),
        (Value::Array(wanted), Value::Array(actual)) => {
            wanted.len() == actual.len() && zip(wanted, actual).all(|(a, b)| is_within(a, b))
        }
        _ => wanted == actual,
    }
}
