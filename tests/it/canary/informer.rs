//! A whole informer, with handlers, transforms and index functions that panic and quote what they received.

use std::time::Duration;

use futures::StreamExt as _;
use informer_core::source::ManagedFields;
use informer_core::{AuditOptions, Event, InitialState, ObjectKey, SharedInformer, Storage, client};
use informer_testing::{ApiServer, Fault, Rule, Verb};
use k8s_openapi::api::core::v1::Secret;

use crate::secret;
use crate::surfaces::Surfaces;

const LONG: Duration = Duration::from_secs(600);

/// User code that fails in the worst way: the panic quotes the whole object.
fn fail(object: &Secret) -> ! {
    panic!("cannot use {object:?}")
}

#[tokio::test(start_paused = true)]
async fn user_code_that_quotes_objects_in_panics() {
    for storage in [Storage::Decoded, Storage::packed()] {
        let surfaces = Surfaces::begin();
        let server = ApiServer::start();
        for name in ["good", "denied", "explosive"] {
            server.create(&secret(name)).unwrap();
        }
        let informer = SharedInformer::<Secret>::builder(server.client())
            .storage(storage)
            .managed_fields(ManagedFields::Keep)
            .try_transform(|object: &mut Secret| match object.metadata.name.as_deref() {
                Some("denied") => Err("it is denied".to_owned()),
                Some("explosive") => fail(object),
                _ => Ok(()),
            })
            .build()
            .unwrap();
        let index = informer
            .add_index("contents", |object: &Secret| -> Vec<String> { fail(object) })
            .unwrap();
        let texts = surfaces.clone();
        let handler = informer
            .add_handler(move |event: Event<Secret>| {
                texts.debug("event", &event);
                fail(event.object())
            })
            .unwrap();
        let later = informer
            .add_async_handler(|event: Event<Secret>| async move {
                tokio::task::yield_now().await;
                fail(event.object())
            })
            .unwrap();
        let mut stream = informer.events();
        informer.start().unwrap();
        informer.synced_within(LONG).await.unwrap();
        surfaces.debug("event of a stream", &stream.next().await);
        let mut changed = secret("good");
        changed["metadata"]["labels"] = serde_json::json!({"step": "2"});
        server.update(&changed).unwrap();
        server.delete(&secret("good")).unwrap();
        let last = server.create(&secret("late")).unwrap();
        let last: Secret = serde_json::from_value(last).unwrap();
        informer.wait_for_within(&last, LONG).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let key: ObjectKey = "default/denied".parse().unwrap();
        assert!(handler.status().panics > 0 && later.status().panics > 0);
        assert!(
            informer.status().transform_failures >= 2,
            "{:?}",
            informer.status()
        );
        assert!(informer.status().indexes[0].failures > 0);
        surfaces.debug("index", &index);
        surfaces.debug("registration", &handler.status());
        let missing = informer
            .wait_for_deletion_within(&"default/late".parse().unwrap(), "?", LONG)
            .await;
        surfaces.debug("wait", &missing);
        let denied = secret("denied");
        let mut denied: Secret = serde_json::from_value(denied).unwrap();
        denied.metadata.resource_version = Some("1".to_owned());
        let never = informer.wait_for_within(&denied, LONG).await;
        surfaces.debug("wait for an unusable object", &never);
        assert!(informer.indexer().get(&key).is_none());
        surfaces.informer(&informer);
        informer.shutdown().await;
        surfaces.informer(&informer);
        surfaces.check();
    }
}

#[tokio::test(start_paused = true)]
async fn an_audit_that_finds_a_difference() {
    let surfaces = Surfaces::begin();
    let server = ApiServer::start();
    server.create(&secret("a")).unwrap();
    server
        .faults()
        .add(Rule::new(Fault::DropEvents { after: 0, count: 1 }).on(Verb::Watch));
    let texts = surfaces.clone();
    let options = AuditOptions::every(Duration::from_secs(60)).on_audit(move |report| {
        texts.debug("audit", report);
        panic!("quotes {}", crate::CANARY)
    });
    let informer = SharedInformer::<Secret>::builder(server.client())
        .initial_state(InitialState::List)
        .audit(options)
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(LONG).await.unwrap();
    server.create(&secret("b")).unwrap();
    server.create(&secret("c")).unwrap();
    let audit = || informer.status().scopes.remove(0).audit.unwrap();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        if audit().mismatches > 0 {
            break;
        }
    }
    assert!(audit().mismatches > 0, "{:?}", audit());
    surfaces.informer(&informer);
    informer.shutdown().await;
    surfaces.check();
}

/// The client of this library, over a socket: its layers and hyper's log as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_over_a_socket() {
    let surfaces = Surfaces::begin();
    let server = ApiServer::builder().start_http().await.unwrap();
    server.create(&secret("a")).unwrap();
    let config = kube::Config::new(server.url().unwrap().parse().unwrap());
    let informer = SharedInformer::<Secret>::builder(client::from_config(config).unwrap())
        .build()
        .unwrap();
    informer.start().unwrap();
    informer.synced_within(Duration::from_secs(60)).await.unwrap();
    let last: Secret = serde_json::from_value(server.create(&secret("b")).unwrap()).unwrap();
    informer
        .wait_for_within(&last, Duration::from_secs(60))
        .await
        .unwrap();
    surfaces.informer(&informer);
    informer.shutdown().await;
    surfaces.check();
}
