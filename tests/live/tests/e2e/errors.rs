//! The texts of `docs/operating/states.md` as a real server causes them.

use informer_core::{SharedInformer, State, client};
use informer_live::ADMIN;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::core::{ApiResource, DynamicObject};

use crate::support::{Room, shared, short_waits, until};

/// The text of an informer's state as soon as it is as wanted.
async fn text(informer: SharedInformer<impl informer_core::Object>, is_wanted: fn(&State) -> bool) -> String {
    informer.start().unwrap();
    until(&informer, "refused", |status| is_wanted(&status.state)).await;
    let text = informer.status().state.to_string();
    informer.shutdown().await;
    text
}

fn maps(client: Client, room: &Room) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(client)
        .namespace(&room.name)
        .reflector(|_| short_waits())
        .build()
        .unwrap()
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_verb_resource_namespace_and_rule() {
    let cluster = shared().await;
    let room = Room::new(cluster, "refused").await;
    let client = cluster.client_as("nobody").unwrap();
    let text = text(maps(client, &room), |state| {
        matches!(state, State::Forbidden { .. })
    })
    .await;
    let namespace = format!(" configmaps in namespace {};", room.name);
    let role = format!("to a Role in {} that is bound to it", room.name);
    contains_all(
        &text,
        &[
            "forbidden, trying again slowly: the server answered 403 ",
            "this account may not ",
            &namespace,
            r#"add the rule {apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}"#,
            &role,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_group_version_or_resource_is_named() {
    let cluster = shared().await;
    let state = async |group: &str, version: &str, plural: &str| {
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: format!("{group}/{version}"),
            kind: String::new(),
            plural: plural.to_owned(),
        };
        let informer = SharedInformer::<DynamicObject>::builder_with(cluster.client(), resource)
            .reflector(|_| short_waits())
            .build()
            .unwrap();
        text(informer, |state| matches!(state, State::NotFound { .. })).await
    };
    let begin = "not found, trying again slowly: the server answered 404";
    contains_all(
        &state("absent.example.com", "v1", "widgets").await,
        &[
            begin,
            "the server has no API group absent.example.com; install its CustomResourceDefinitions",
        ],
    );
    contains_all(
        &state("apps", "v7", "deployments").await,
        &[
            begin,
            "the API group apps has no version v7; it serves v1: use one of these",
        ],
    );
    contains_all(
        &state("apps", "v1", "widgets").await,
        &[
            begin,
            "the API group apps has no resource widgets in v1; install the CustomResourceDefinition \
             widgets.apps",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_fail_name_the_server_and_what_to_correct() {
    let cluster = shared().await;
    let room = Room::new(cluster, "trust").await;
    let authority = cluster.url().authority().unwrap().to_string();
    let fails = |state: &State| matches!(state, State::BackingOff { .. });
    let begin = format!("cannot connect to the server: {authority}");

    // The authority of another cluster.
    let mut config = cluster.config_as(ADMIN).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    config.root_cert = Some(vec![params.self_signed(&key).unwrap().der().to_vec()]);
    let foreign = text(maps(client::from_config(config).unwrap(), &room), fails).await;
    contains_all(
        &foreign,
        &[
            &begin,
            "the server's certificate is not signed by the certificate authority",
        ],
    );

    // A name that the certificate does not have.
    let mut config = cluster.config_as(ADMIN).unwrap();
    config.tls_server_name = Some("elsewhere.example.com".to_owned());
    let renamed = text(maps(client::from_config(config).unwrap(), &room), fails).await;
    contains_all(
        &renamed,
        &[
            &begin,
            "the server's certificate is for another name; correct `server` or `tls-server-name`",
        ],
    );
}
