//! Permissions and tokens that are granted and revoked: what an informer reports meanwhile, and its recovery.

use std::time::Duration;

use informer_core::source::SourceError;
use informer_core::{SharedInformer, State};
use informer_it::recorder::Recorder;
use informer_live::{Cluster, ServiceAccount};
use informers::SharedInformerFactory;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount as Account};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::{BOUND, Room, agree, shared, short_waits, until};
use crate::wire::Wire;

/// What a role in a room allows with ConfigMaps.
const READ: [&str; 3] = ["get", "list", "watch"];

/// Gives a subject the right to do these things with the ConfigMaps of a room.
async fn allow(room: &Room, subject: Value, verbs: &[&str]) {
    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [subject],
    });
    let roles: Api<Role> = Api::namespaced(room.client(), &room.name);
    let bindings: Api<RoleBinding> = Api::namespaced(room.client(), &room.name);
    let new = PostParams::default();
    let role: Role = serde_json::from_value(role).unwrap();
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    roles.create(&new, &role).await.unwrap();
    bindings.create(&new, &binding).await.unwrap();
}

async fn take_away(room: &Room) {
    let roles: Api<Role> = Api::namespaced(room.client(), &room.name);
    let bindings: Api<RoleBinding> = Api::namespaced(room.client(), &room.name);
    bindings.delete("reader", &DeleteParams::default()).await.unwrap();
    roles.delete("reader", &DeleteParams::default()).await.unwrap();
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name})
}

fn informer(client: Client, room: &Room) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(client)
        .namespace(&room.name)
        .reflector(|_| short_waits())
        .build()
        .unwrap()
}

fn is_live(state: &State) -> bool {
    matches!(state, State::Live)
}

fn code_of(state: &State) -> Option<u16> {
    match state {
        State::Forbidden { error } | State::NotFound { error } | State::BackingOff { error, .. } => {
            match error {
                SourceError::Status { status } => Some(status.code),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_forbidden(state: &State) -> bool {
    matches!(state, State::Forbidden { .. }) && code_of(state) == Some(403)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_list_is_told_so_and_synced_when_the_right_is_given() {
    let cluster = shared().await;
    let room = Room::new(cluster, "granted").await;
    room.create("a", "1").await;
    let informer = informer(cluster.client_as("granted").unwrap(), &room);
    let (recorder, _) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    until(&informer, "forbidden", |status| is_forbidden(&status.state)).await;
    assert!(!informer.has_synced() && recorder.is_empty());

    allow(&room, user("granted"), &READ).await;
    informer.synced_within(BOUND).await.unwrap();
    agree(&informer, &recorder, &room.items()).await;
    // A list syncs the cache before its watch is open.
    until(&informer, "live", |status| is_live(&status.state)).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_to_list_but_not_to_watch_is_not_enough() {
    let cluster = shared().await;
    let room = Room::new(cluster, "watcher").await;
    room.create("a", "1").await;
    allow(&room, user("watcher"), &["list"]).await;
    let informer = informer(cluster.client_as("watcher").unwrap(), &room);
    informer.start().unwrap();
    until(&informer, "forbidden", |status| is_forbidden(&status.state)).await;
    informer.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_taken_away_leaves_the_cache_and_one_given_again_catches_up() {
    let cluster = shared().await;
    let room = Room::new(cluster, "revoked").await;
    room.create("a", "1").await;
    room.create("b", "1").await;
    allow(&room, user("revoked"), &READ).await;
    let wire = Wire::to(cluster).await;
    let informer = informer(wire.client_as(cluster, "revoked"), &room);
    let (recorder, _) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    informer.synced_within(BOUND).await.unwrap();

    // The server does not end a watch whose permission was revoked; it refuses the next one.
    take_away(&room).await;
    wire.interrupt();
    until(&informer, "forbidden", |status| is_forbidden(&status.state)).await;
    assert_eq!(informer.indexer().len(), 2, "what was known stays");
    assert!(informer.has_synced(), "that it was once is not taken back");

    room.delete("a").await;
    room.create("c", "1").await;
    allow(&room, user("revoked"), &READ).await;
    agree(&informer, &recorder, &room.items()).await;
    until(&informer, "live", |status| is_live(&status.state)).await;
    informer.shutdown().await;
}

async fn account(room: &Room) -> ServiceAccount {
    let accounts: Api<Account> = Api::namespaced(room.client(), &room.name);
    let account: Account = serde_json::from_value(json!({"metadata": {"name": "robot"}})).unwrap();
    let made = accounts.create(&PostParams::default(), &account).await.unwrap();
    ServiceAccount {
        namespace: room.name.clone(),
        name: "robot".to_owned(),
        uid: made.metadata.uid.unwrap(),
    }
}

/// A client with the token in a file, as in a pod: kube reads it again every minute.
fn client_with(wire: &Wire, cluster: &Cluster, token: &std::path::Path) -> Client {
    let mut config = wire.config_as(cluster, informer_live::ADMIN);
    config.auth_info.token = None;
    config.auth_info.token_file = Some(token.display().to_string());
    informer_core::client::from_config(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_is_said_and_a_new_one_catches_up() {
    let cluster = shared().await;
    let room = Room::new(cluster, "expired").await;
    room.create("a", "1").await;
    let account = account(&room).await;
    let subject = json!({"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace});
    allow(&room, subject, &READ).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let short = Duration::from_secs(20);
    std::fs::write(file.path(), cluster.service_account_token(&account, short)).unwrap();
    let wire = Wire::to(cluster).await;
    let informer = informer(client_with(&wire, cluster, file.path()), &room);
    let (recorder, _) = Recorder::of(&informer).unwrap();
    informer.start().unwrap();
    informer.synced_within(BOUND).await.unwrap();

    // The watch continues without a valid token; a new one is refused. The server caches valid tokens for
    // some seconds, so this repeats the request until it is refused.
    tokio::time::sleep(short).await;
    room.update("a", "2").await;
    agree(&informer, &recorder, &room.items()).await;
    crate::support::eventually(async || {
        let state = informer.status().state;
        if is_live(&state) {
            wire.interrupt();
        }
        match code_of(&state) {
            Some(401) if matches!(state, State::BackingOff { .. }) => Ok(()),
            _ => Err(format!("not refused with 401, but {state}")),
        }
    })
    .await;
    let text = informer.status().state.to_string();
    let names = format!("of the token file {} for http", file.path().display());
    assert!(
        text.contains(&names) && text.contains("127.0.0.1") && text.contains("renew it"),
        "{text}"
    );
    assert_eq!(informer.indexer().len(), 1, "what was known stays");

    room.create("b", "1").await;
    let long = Duration::from_secs(3600);
    std::fs::write(file.path(), cluster.service_account_token(&account, long)).unwrap();
    agree(&informer, &recorder, &room.items()).await;
    until(&informer, "live", |status| is_live(&status.state)).await;
    informer.shutdown().await;
}

/// A factory over the ConfigMaps of a room, started.
fn factory(client: Client, room: &Room) -> SharedInformerFactory {
    let factory = SharedInformerFactory::builder(client)
        .namespace(&room.name)
        .build()
        .unwrap();
    factory.core().v1().config_maps().informer();
    factory.start();
    factory
}

/// Returns the error of a wait, which must end.
async fn refusal(factory: &SharedInformerFactory) -> String {
    let refused = tokio::time::timeout(BOUND, factory.wait_for_sync()).await;
    let refused = refused.expect("a state that waiting does not heal ends the wait");
    refused.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_wait_succeeds_after_the_right_was_granted() {
    let cluster = shared().await;
    let room = Room::new(cluster, "late-right").await;
    room.create("a", "1").await;
    let factory = factory(cluster.client_as("late").unwrap(), &room);
    let text = refusal(&factory).await;
    assert!(text.contains("forbidden"), "{text}");
    allow(&room, user("late"), &READ).await;
    let synced = tokio::time::timeout(BOUND, factory.wait_for_sync_within(BOUND)).await;
    synced.unwrap().unwrap();
    assert_eq!(factory.core().v1().config_maps().lister().len(), 1);
    factory.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_with_a_token_that_is_not_accepted_ends_and_says_so() {
    let cluster = shared().await;
    let room = Room::new(cluster, "bad-token").await;
    room.create("a", "1").await;
    let account = account(&room).await;
    let subject = json!({"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace});
    allow(&room, subject, &READ).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let wire = Wire::to(cluster).await;
    let long = Duration::from_secs(3600);
    let mut another = account.clone();
    another.uid = "00000000-0000-0000-0000-000000000000".to_owned();
    // Neither a token at all, nor one of the account that exists. (An expired one is accepted for a while.)
    for bad in [
        "not-a-token".to_owned(),
        cluster.service_account_token(&another, long),
    ] {
        std::fs::write(file.path(), bad).unwrap();
        let factory = factory(client_with(&wire, cluster, file.path()), &room);
        let text = refusal(&factory).await;
        assert!(text.contains("401") || text.contains("nauthorized"), "{text}");
        factory.shutdown().await;
    }
    // One informer, from a token that is not accepted to one that is. kube reads the file every minute.
    let factory = factory(client_with(&wire, cluster, file.path()), &room);
    refusal(&factory).await;
    std::fs::write(file.path(), cluster.service_account_token(&account, long)).unwrap();
    crate::support::eventually(async || {
        let synced = tokio::time::timeout(BOUND, factory.wait_for_sync()).await;
        synced.unwrap().map_err(|error| error.to_string())
    })
    .await;
    factory.shutdown().await;
}

/// Creates the objects of a YAML text, as `kubectl apply -f -` does.
async fn apply(client: &Client, yaml: &str) -> usize {
    let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(yaml).unwrap();
    for object in &objects {
        let types = object.types.clone().unwrap();
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap());
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        api.create(&PostParams::default(), object).await.unwrap();
    }
    objects.len()
}

/// The YAML that a factory prints is enough for it, and without it, it gets nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_roles_of_a_factory_are_enough_for_it() {
    let cluster = shared().await;
    let room = Room::new(cluster, "least").await;
    room.create("a", "1").await;
    let account = account(&room).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let long = Duration::from_secs(3600);
    std::fs::write(file.path(), cluster.service_account_token(&account, long)).unwrap();
    let wire = Wire::to(cluster).await;
    let factory = SharedInformerFactory::builder(client_with(&wire, cluster, file.path()))
        .namespace(&room.name)
        .build()
        .unwrap();
    let maps = factory.core().v1().config_maps();
    let secrets = factory.metadata_for::<k8s_openapi::api::core::v1::Secret>();
    let nodes = factory.core().v1().nodes();
    maps.informer();
    nodes.informer();
    factory.start();
    let text = refusal(&factory).await;
    assert!(
        text.contains("3 of 3 informers") && text.contains("add the rule"),
        "{text}"
    );

    let rights = factory.rights().named(room.name.clone());
    let yaml = rights.bound_to(&account.namespace, &account.name).to_string();
    // A ClusterRole for nodes and a Role for the others, each with its binding.
    assert_eq!(apply(&room.client(), &yaml).await, 4, "{yaml}");
    tokio::time::timeout(BOUND, factory.wait_for_sync_within(BOUND))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((maps.lister().len(), secrets.indexer().len()), (1, 0));
    room.create("b", "1").await;
    crate::support::eventually(async || match maps.lister().len() {
        2 => Ok(()),
        count => Err(format!("{count} objects")),
    })
    .await;
    factory.shutdown().await;
    let delete = DeleteParams::default();
    let bindings: Api<ClusterRoleBinding> = Api::all(room.client());
    bindings.delete(&room.name, &delete).await.unwrap();
    let roles: Api<ClusterRole> = Api::all(room.client());
    roles.delete(&room.name, &delete).await.unwrap();
}
