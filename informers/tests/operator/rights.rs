//! The roles of `deploy.yaml` grant what the operator requests, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use informer_testing::{ApiServer, Outcome, Verb, WatchList};
use serde_json::Value;

use crate::generated::hosting_example_com::v1::Website;
use crate::reconcile::{CRD, Operator, website};

/// A verb and its resource, as `verb group/resource`.
type Rights = BTreeSet<String>;

fn granted() -> Rights {
    let mut rights = Rights::new();
    for document in include_str!("../../examples/operator/deploy.yaml").split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).expect("it is YAML");
        let list = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items.map(|item| item.as_str().unwrap().to_owned()).collect()
        };
        for rule in object["rules"].as_array().into_iter().flatten() {
            for (group, resource) in list(&rule["apiGroups"]).iter().zip(list(&rule["resources"])) {
                let verbs = list(&rule["verbs"]).into_iter();
                rights.extend(verbs.map(|verb| format!("{verb} {group}/{resource}")));
            }
        }
    }
    rights
}

/// The requests of a whole life of a website.
async fn used(watch_list: WatchList) -> Rights {
    let builder = ApiServer::builder().watch_list(watch_list);
    let operator = Operator::on(builder.crd_yaml(CRD).unwrap().start());
    operator.server.create(&website(1, "site:1")).unwrap();
    for image in ["site:1", "site:2", "site:3"] {
        operator.server.merge(&website(1, image)).unwrap();
        operator.deployed(1, image).await;
        operator.run_pods();
        operator.reported("Available").await;
    }
    operator.server.delete(&website(1, "site:3")).unwrap();
    operator
        .server
        .until(|websites: &[Website]| websites.is_empty())
        .await
        .unwrap();
    // The leader renews its lease.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let mut rights = Rights::new();
    for request in operator.server.requests().iter() {
        let Some(resource) = request.resource.as_ref() else {
            continue;
        };
        let subresource = request.subresource.iter().map(|name| format!("/{name}"));
        let resource = format!("{}/{resource}{}", request.group, subresource.collect::<String>());
        rights.insert(format!("{} {resource}", request.verb.as_str()));
        // Server-side apply of an object that does not exist needs both.
        if (request.verb, request.outcome) == (Verb::Patch, Outcome::Answered(201)) {
            rights.insert(format!("create {resource}"));
        }
    }
    operator.end().await;
    rights
}

#[tokio::test(start_paused = true)]
async fn the_roles_grant_exactly_what_the_operator_requests() {
    let mut rights = used(WatchList::On).await;
    // A server without streaming lists.
    rights.extend(used(WatchList::Off).await);
    assert_eq!(rights, granted());
}
