//! The roles of a factory: what they contain, and that they grant exactly what is requested.

use std::collections::BTreeSet;
use std::time::Duration;

use informer_testing::{ApiServer, WatchList};
use informers::SharedInformerFactory;
use informers::controller::{Action, Controller, LeaderElection, Manager, Request};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::api::rbac::v1::PolicyRule;

/// `verb group/resource namespace`, the namespace empty for the whole cluster.
type Rights = BTreeSet<String>;

fn rights_of(rules: &[PolicyRule], namespace: &str) -> Rights {
    let each = rules.iter().flat_map(|rule| {
        let groups = rule.api_groups.iter().flatten();
        groups.flat_map(move |group| {
            let resources = rule.resources.iter().flatten();
            resources.flat_map(move |resource| {
                let verbs = rule.verbs.iter();
                verbs.map(move |verb| format!("{verb} {group}/{resource} {namespace}"))
            })
        })
    });
    each.collect()
}

fn granted(factory: &SharedInformerFactory) -> Rights {
    let rbac = factory.rights();
    let mut rights = Rights::new();
    if let Some(role) = rbac.cluster_role() {
        rights.extend(rights_of(&role.rules.unwrap(), ""));
    }
    for role in rbac.roles() {
        rights.extend(rights_of(&role.rules.unwrap(), &role.metadata.namespace.unwrap()));
    }
    rights
}

/// The rights that the requests so far needed.
fn used(server: &ApiServer) -> Rights {
    let requests = server.requests();
    let rights = requests.iter().filter_map(|request| {
        let resource = request.resource.as_ref()?;
        let namespace = request.namespace.as_deref().unwrap_or_default();
        Some(format!(
            "{} {}/{resource} {namespace}",
            request.verb.as_str(),
            request.group
        ))
    });
    rights.collect()
}

/// Two kinds in two namespaces, one of them in all, one cluster-scoped, one by its metadata, and a lease.
async fn program(server: &ApiServer) -> SharedInformerFactory {
    let factory = SharedInformerFactory::builder(server.client())
        .namespaces(["db", "web"])
        .kind::<Secret>(|secrets| secrets.namespace("web"))
        .build()
        .unwrap();
    factory.informer_for::<Node>();
    factory.informer_for::<Secret>();
    factory.metadata_for::<Deployment>();
    let maps = factory.informer_for::<ConfigMap>();
    let controller = Controller::new("maps", &maps).build().unwrap();
    let reconcile = |_: Request<ConfigMap>| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let election = LeaderElection::new(server.client(), "web", "maps");
    let stop = tokio::time::sleep(Duration::from_secs(60));
    Manager::new(factory.clone())
        .controller(controller, reconcile)
        .leader_election(election)
        .run_until(stop)
        .await
        .unwrap();
    factory
}

#[tokio::test(start_paused = true)]
async fn the_roles_grant_exactly_what_is_requested() {
    let mut requested = Rights::new();
    let mut roles = Rights::new();
    for watch_list in [WatchList::On, WatchList::Off] {
        let server = ApiServer::builder().watch_list(watch_list).start();
        let namespace =
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}});
        drop(server.create(&namespace));
        server.clear_requests();
        let factory = program(&server).await;
        requested.extend(used(&server));
        roles = granted(&factory);
    }
    assert_eq!(roles, requested);
}

#[tokio::test(start_paused = true)]
async fn the_roles_are_printed_as_yaml() {
    let server = ApiServer::start();
    let factory = program(&server).await;
    let expected = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "maps"
rules:
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["list", "watch"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: "maps"
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: "maps"
subjects:
- kind: ServiceAccount
  namespace: "web"
  name: "robot"
---
"#;
    let text = factory
        .rights()
        .named("maps")
        .bound_to("web", "robot")
        .to_string();
    assert!(text.starts_with(expected), "{text}");
    let role = r#"kind: Role
metadata:
  name: "maps"
  namespace: "web"
rules:
- apiGroups: [""]
  resources: ["configmaps", "secrets"]
  verbs: ["list", "watch"]
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["list", "watch"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: ["maps"]
  verbs: ["get", "update"]
"#;
    assert!(text.contains(role), "{text}");
    let unbound = factory.rbac().to_string();
    assert_eq!(unbound, factory.rights().to_string());
    assert!(
        !unbound.contains("Binding") && unbound.contains("name: \"informers\""),
        "{unbound}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_was_not_requested_needs_no_right() {
    let server = ApiServer::start();
    let factory = SharedInformerFactory::builder(server.client())
        .kind::<Secret>(|secrets| secrets.namespace("web"))
        .build()
        .unwrap();
    assert_eq!(factory.rights().to_string(), "");
    // What is read in the whole cluster needs no Role besides.
    factory.informer_for::<ConfigMap>();
    assert_eq!(
        granted(&factory),
        Rights::from(["list /configmaps ".to_owned(), "watch /configmaps ".to_owned()])
    );
    assert!(factory.rights().roles().is_empty());
}
