//! The example operator as several processes: leaders that are killed or stopped, and a restarted server.
//!
//! Each process is the service account of `deploy.yaml` and has its roles, no others.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use informer_live::{Cluster, ServiceAccount};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ServiceAccount as Account;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::support::{BOUND, Program, eventually, options};

const CRD: &str = include_str!("../../../../informers/examples/operator/crds/websites.yaml");
const DEPLOY: &str = include_str!("../../../../informers/examples/operator/deploy.yaml");

/// The namespace and the service account in `deploy.yaml`.
const OPERATOR: &str = "website-operator";

/// Waits until something is found.
async fn found<T>(mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut found = None;
    eventually(async || {
        found = Some(look().await?);
        Ok(())
    })
    .await;
    found.expect("the wait is over")
}

/// What starts a process of the operator.
struct Start {
    program: PathBuf,
    /// Where the kubeconfig and the logs are.
    folder: PathBuf,
}

impl Start {
    fn kubeconfig(&self) -> PathBuf {
        self.folder.join("operator.kubeconfig")
    }

    fn replica(&self, name: &str) -> Replica {
        let log = self.folder.join(format!("operator-{name}.log"));
        let process = Command::new(&self.program)
            .env("KUBECONFIG", self.kubeconfig())
            .env("POD_NAME", name)
            .env("POD_NAMESPACE", OPERATOR)
            .env("SHORT_LEASE", "yes")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::options().create(true).append(true).open(&log).unwrap())
            .kill_on_drop(true)
            .spawn();
        Replica {
            name: name.to_owned(),
            process: process.unwrap(),
            log,
        }
    }
}

/// A process of the operator.
struct Replica {
    name: String,
    process: Child,
    log: PathBuf,
}

impl Replica {
    /// The end of its log, for the message of a failed test.
    fn last_lines(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        format!("\nthe log of replica {}:\n{last}", self.name)
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }
}

/// A cluster with one website, and replicas of the operator.
struct Setup {
    cluster: Cluster,
    start: Start,
    replicas: Vec<Replica>,
}

impl Setup {
    async fn start(replicas: &[&str]) -> Self {
        let program = tokio::task::spawn_blocking(|| Program::Operator.path())
            .await
            .unwrap();
        let cluster = Cluster::start(options()).await.unwrap();
        let definition: CustomResourceDefinition = serde_saphyr::from_str(CRD).unwrap();
        let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
        definitions
            .create(&PostParams::default(), &definition)
            .await
            .unwrap();
        let mut setup = Self {
            start: Start {
                program,
                folder: cluster.folder().to_owned(),
            },
            replicas: Vec::new(),
            cluster,
        };
        found(async || setup.create_website().await.map_err(|error| error.to_string())).await;
        setup.deploy().await;
        setup.write_kubeconfig().await;
        setup.replicas = replicas.iter().map(|name| setup.start.replica(name)).collect();
        setup
    }

    /// Creates everything in `deploy.yaml` except the Deployment, whose pods are the processes of this test.
    async fn deploy(&self) {
        let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(DEPLOY).unwrap();
        for object in objects {
            let types = object.types.clone().unwrap();
            if types.kind == "Deployment" {
                continue;
            }
            let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap());
            let client = self.cluster.client();
            let api: Api<DynamicObject> = match object.namespace() {
                Some(namespace) => Api::namespaced_with(client, &namespace, &resource),
                None => Api::all_with(client, &resource),
            };
            api.create(&PostParams::default(), &object).await.unwrap();
        }
    }

    /// Writes a kubeconfig with a token of the operator's service account.
    async fn write_kubeconfig(&self) {
        let accounts: Api<Account> = Api::namespaced(self.cluster.client(), OPERATOR);
        let account = ServiceAccount {
            namespace: OPERATOR.to_owned(),
            name: OPERATOR.to_owned(),
            uid: accounts.get(OPERATOR).await.unwrap().uid().unwrap(),
        };
        let token = self
            .cluster
            .service_account_token(&account, Duration::from_secs(3_600));
        let admin = std::fs::read_to_string(self.cluster.kubeconfig().unwrap()).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&admin).unwrap();
        config["users"][0]["user"] = json!({ "token": token });
        std::fs::write(self.start.kubeconfig(), config.to_string()).unwrap();
    }

    fn websites(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("hosting.example.com", "v1", "Website");
        Api::namespaced_with(self.cluster.client(), "default", &ApiResource::from_gvk(&kind))
    }

    async fn create_website(&self) -> Result<DynamicObject, kube::Error> {
        let website = json!({
            "apiVersion": "hosting.example.com/v1", "kind": "Website",
            "metadata": { "namespace": "default", "name": "front" },
            "spec": { "plan": "small", "image": "site:1", "replicas": 2, "port": 8080 },
        });
        let website = serde_json::from_value(website).unwrap();
        self.websites().create(&PostParams::default(), &website).await
    }

    async fn change_image(&self, image: &str) {
        let patch = Patch::Merge(json!({ "spec": { "image": image } }));
        // The server may have just been restarted.
        found(async || {
            let changed = self
                .websites()
                .patch("front", &PatchParams::default(), &patch)
                .await;
            changed.map_err(|error| error.to_string())
        })
        .await;
    }

    /// Waits until the Deployment has this image.
    async fn deployed(&self, image: &str) -> Deployment {
        found(async || self.deployment(image).await).await
    }

    /// The Deployment, if it has this image.
    async fn deployment(&self, image: &str) -> Result<Deployment, String> {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client(), "default");
        let deployment = deployments
            .get("front")
            .await
            .map_err(|error| error.to_string())?;
        let value = json!(deployment);
        let found = &value["spec"]["template"]["spec"]["containers"][0]["image"];
        if found == image {
            return Ok(deployment);
        }
        let logs: Vec<String> = self.replicas.iter().map(Replica::last_lines).collect();
        Err(format!("the image is {found}{}", logs.concat()))
    }

    /// Starts the replicas that ended, as a kubelet does.
    fn restart_ended(&mut self) {
        for replica in &mut self.replicas {
            if replica.process.try_wait().unwrap().is_some() {
                *replica = self.start.replica(&replica.name);
            }
        }
    }

    async fn holder(&self) -> Result<String, String> {
        let leases: Api<Lease> = Api::namespaced(self.cluster.client(), OPERATOR);
        let lease = leases.get(OPERATOR).await.map_err(|error| error.to_string())?;
        let holder = json!(lease)["spec"]["holderIdentity"].as_str().map(str::to_owned);
        holder
            .filter(|holder| !holder.is_empty())
            .ok_or_else(|| "nobody leads".to_owned())
    }

    /// Waits for a leader, and takes it out of the replicas.
    async fn take_leader(&mut self) -> Replica {
        let holder = found(async || self.holder().await).await;
        let leader = self
            .replicas
            .iter()
            .position(|replica| holder.starts_with(&format!("{}_", replica.name)));
        self.replicas
            .swap_remove(leader.expect("the holder is one of them"))
    }

    /// Waits until one of the remaining replicas leads.
    async fn has_other_leader(&self) {
        found(async || {
            let holder = self.holder().await?;
            let mut names = self.replicas.iter().map(|replica| format!("{}_", replica.name));
            match names.any(|name| holder.starts_with(&name)) {
                true => Ok(()),
                false => Err(format!("{holder} leads")),
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_continues_after_the_leader_was_killed() {
    let mut setup = Setup::start(&["a", "b", "c"]).await;
    setup.deployed("site:1").await;
    for image in ["site:2", "site:3"] {
        let mut leader = setup.take_leader().await;
        leader.process.kill().await.unwrap();
        setup.change_image(image).await;
        setup.deployed(image).await;
        setup.has_other_leader().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_leader_is_replaced_and_ends_when_it_continues() {
    let mut setup = Setup::start(&["a", "b"]).await;
    setup.deployed("site:1").await;
    let mut stopped = setup.take_leader().await;
    stopped.signal(Signal::STOP);
    setup.has_other_leader().await;
    setup.change_image("site:2").await;
    let deployment = setup.deployed("site:2").await;

    stopped.signal(Signal::CONT);
    let status = tokio::time::timeout(BOUND, stopped.process.wait()).await;
    let log = std::fs::read_to_string(&stopped.log).unwrap();
    assert_eq!(status.expect("it ends").unwrap().code(), Some(1), "{log}");
    assert!(log.contains("the leadership was lost"), "{log}");
    // It wrote nothing: neither the child, nor the lease.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = setup.deployed("site:2").await;
    assert_eq!(after.resource_version(), deployment.resource_version());
    setup.has_other_leader().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_converges_after_the_server_was_restarted() {
    let mut setup = Setup::start(&["a", "b"]).await;
    setup.deployed("site:1").await;
    setup.cluster.restart_apiserver().await.unwrap();
    setup.change_image("site:2").await;
    // A leader ends if it cannot renew its lease in time; with the short lease of this test both may.
    found(async || {
        setup.restart_ended();
        setup.deployment("site:2").await
    })
    .await;
}
