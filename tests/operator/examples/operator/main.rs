//! Websites, their plans and the deployments that run them, under one factory: `cargo run --example operator -- --help`.
//!
//! Two of the kinds are custom resources, whose informers `informer-gen crd` has written; the third is a built-in one.

#[path = "../../../../informers/examples/shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;
mod story;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt as _;
use informers::{Deleted, Event, Index, IndexDefinition, apps};
use informers_crd_example::generated::hosting_example_com::v1::{PlanLister, Website, WebsiteLister};
use informers_crd_example::generated::prelude::*;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use shared::{Failure, Session, Usage};

#[tokio::main]
async fn main() -> ExitCode {
    let usage =
        Usage::new("Shows every website with its plan and what runs of it, and every change of that.");
    shared::main(usage, story::tell, run).await
}

/// Which websites have a plan, so that a change of the plan is a change of these.
static BY_PLAN: IndexDefinition<Website, String> =
    IndexDefinition::new("plan", |website| vec![website.spec.plan.clone()]);

/// Everything there is to read.
struct Caches {
    websites: WebsiteLister,
    by_plan: Index<Website, String>,
    plans: PlanLister,
    deployments: apps::v1::DeploymentLister,
}

async fn run(session: &mut Session) -> Result<(), Failure> {
    let factory = session
        .factory()
        .kind::<Website>(|websites| websites.index(&BY_PLAN))
        .build()?;
    let hosting = factory.hosting_example_com().v1();
    let (websites, plans) = (hosting.websites(), hosting.plans());
    let deployments = factory.apps().v1().deployments();
    let caches = Caches {
        websites: websites.lister(),
        by_plan: websites.informer().index(&BY_PLAN)?,
        plans: plans.lister(),
        deployments: deployments.lister(),
    };
    // Each event as the websites it is about.
    let mut changes = futures::stream::select_all([
        websites
            .informer()
            .events()
            .map(|event| about_website(&event))
            .boxed(),
        plans
            .informer()
            .events()
            .map(|event| Concerned::Plan(event.object().name_any()))
            .boxed(),
        deployments
            .informer()
            .events()
            .map(|event| about_deployment(&event))
            .boxed(),
    ]);
    factory.start();
    factory.wait_for_sync_within(Duration::from_secs(60)).await?;

    let mut shown = BTreeSet::new();
    while let Some(concerned) = session.or_end(changes.next()).await.flatten() {
        for line in caches.lines(&concerned) {
            // The first list comes as events as well, and a website may be in several of them.
            if shown.insert(line.clone()) {
                session.line(&line)?;
            }
        }
    }
    factory.shutdown().await;
    Ok(())
}

/// What a change is about.
enum Concerned {
    Website { namespace: String, name: String },
    Gone { namespace: String, name: String },
    Plan(String),
}

fn about_website(event: &Event<Website>) -> Concerned {
    let object = event.object();
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    match event {
        Event::Deleted(Deleted::Observed(_) | Deleted::Missed { .. }) => Concerned::Gone { namespace, name },
        _ => Concerned::Website { namespace, name },
    }
}

fn about_deployment(event: &Event<Deployment>) -> Concerned {
    let object = event.object();
    Concerned::Website {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    }
}

impl Caches {
    /// What to show of the websites that a change concerns. The caches have the change already.
    fn lines(&self, concerned: &Concerned) -> Vec<String> {
        match concerned {
            Concerned::Gone { namespace, name } => vec![format!("{namespace}/{name:<10} is gone")],
            Concerned::Plan(name) => self
                .by_plan
                .get(name)
                .iter()
                .map(|website| self.row(website))
                .collect(),
            Concerned::Website { namespace, name } => {
                let website = self.websites.websites(namespace).get(name);
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
