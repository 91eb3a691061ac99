//! Websites, their plans and their deployments, under one factory: `cargo run --example operator -- --help`.
//!
//! Two of the kinds are custom resources, whose informers `informer-gen crd` has written; the third is a
//! built-in one: `cargo xtask crd -f informers/examples/operator/crds --out
//! informers/examples/operator/generated`

#[path = "operator/generated/mod.rs"]
mod generated;

use std::collections::BTreeSet;
use std::process::ExitCode;

use futures::StreamExt as _;
use futures::stream::select_all;
use generated::hosting_example_com::v1::{PlanLister, Website, WebsiteLister};
use generated::prelude::*;
use informer_testing::demo::{self, Demo, Program, Script};
use informers::{Event, Index, IndexDefinition, ObjectKey, SharedInformerFactory, apps, client};
use kube::ResourceExt as _;

#[tokio::main]
async fn main() -> ExitCode {
    let program = Program::new("Shows every website with its plan and its ready pods, and every change.");
    let plans = include_str!("operator/crds/plans.yaml");
    let websites = include_str!("operator/crds/websites.yaml");
    program
        .script(Script::websites([plans, websites]))
        .run(follow_websites)
        .await
}

/// Which websites have a plan: a change of the plan affects these.
static BY_PLAN: IndexDefinition<Website, String> =
    IndexDefinition::new("plan", |website| vec![website.spec.plan.clone()]);

/// The caches to read from.
struct Caches {
    websites: WebsiteLister,
    by_plan: Index<Website, String>,
    plans: PlanLister,
    deployments: apps::v1::DeploymentLister,
}

async fn follow_websites(demo: &mut Demo) -> demo::Result {
    // The cluster of your kubeconfig, or an embedded server on which something happens.
    let client = demo.connect(client::try_default()).await?;
    let mut builder = SharedInformerFactory::builder(client).kind::<Website>(|sites| sites.index(&BY_PLAN));
    if let Some(namespaces) = demo.namespaces() {
        builder = builder.namespaces(namespaces);
    }
    let factory = builder.build()?;
    let hosting = factory.hosting_example_com().v1();
    let (websites, plans) = (hosting.websites(), hosting.plans());
    let deployments = factory.apps().v1().deployments();
    let caches = Caches {
        websites: websites.lister(),
        by_plan: websites.informer().index(&BY_PLAN)?,
        plans: plans.lister(),
        deployments: deployments.lister(),
    };
    // Each event as the websites it affects. A deployment has the name of its website.
    let websites = websites
        .informer()
        .events()
        .map(|event| affected_by_website(&event));
    let plans = plans
        .informer()
        .events()
        .map(|event| Affected::HavePlan(event.object().name_any()));
    let deployments = deployments
        .informer()
        .events()
        .map(|event| Affected::One(event.key()));
    let mut changes = select_all([websites.boxed(), plans.boxed(), deployments.boxed()]);

    factory.start();
    let mut progress = factory.progress();
    let synced = factory.wait_for_sync_within(demo.timeout());
    demo.wait(synced, async || progress.next().await).await?;

    let mut shown = BTreeSet::new();
    while let Some(affected) = demo.or_end(changes.next()).await.flatten() {
        for line in caches.lines(&affected) {
            // The initial state arrives as events of three kinds, and a website may be in several of them.
            if shown.insert(line.clone()) {
                demo.line(line);
            }
        }
    }
    factory.shutdown().await;
    Ok(())
}

/// The websites that a change affects.
enum Affected {
    One(Option<ObjectKey>),
    Deleted(Option<ObjectKey>),
    HavePlan(String),
}

fn affected_by_website(event: &Event<Website>) -> Affected {
    match event {
        Event::Deleted(deleted) => Affected::Deleted(deleted.key()),
        _ => Affected::One(event.key()),
    }
}

impl Caches {
    /// What to show of the websites that a change affects. The caches have the change already.
    fn lines(&self, affected: &Affected) -> Vec<String> {
        match affected {
            Affected::Deleted(key) => key
                .iter()
                .map(|key| format!("{:<15} deleted", key.to_string()))
                .collect(),
            Affected::HavePlan(name) => self
                .by_plan
                .get(name)
                .iter()
                .map(|website| self.row(website))
                .collect(),
            Affected::One(key) => {
                let website = key.as_ref().and_then(|key| self.websites.get_key(key));
                website.iter().map(|website| self.row(website)).collect()
            }
        }
    }

    fn row(&self, website: &Website) -> String {
        let (namespace, name) = (website.namespace().unwrap_or_default(), website.name_any());
        let deployment = self.deployments.deployments(&namespace).get(&name);
        let status = deployment
            .as_ref()
            .and_then(|deployment| deployment.status.as_ref());
        let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
        let wanted = website.spec.replicas.unwrap_or(1);
        let plan = &website.spec.plan;
        let limit = match self.plans.get(plan) {
            None => format!("no plan {plan}"),
            Some(found) if wanted > found.spec.max_replicas => {
                format!("{plan} allows only {}", found.spec.max_replicas)
            }
            Some(_) => format!("within {plan}"),
        };
        format!("{namespace}/{name:<10} {ready} of {wanted} ready, {limit}")
    }
}
