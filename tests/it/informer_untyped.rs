//! An informer without its type answers and acts as the typed handle of the same informer does.

use std::time::Duration;

use futures::StreamExt as _;
use informer_core::selector::Selector;
use informer_core::{
    AnyObject, DynInformer, Event, HandlerOptions, NotSynced, ObjectKey, ResourceVersion, SharedInformer,
    WaitError, WaitForError,
};
use informer_testing::{ApiServer, Fault, Rule};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use crate::support::{LONG, builder_of, informer_of, item, quiet, server_with, version_of};

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn untyped(server: &ApiServer) -> (SharedInformer<ConfigMap>, DynInformer) {
    let typed = informer_of(server);
    let untyped = DynInformer::new(typed.clone());
    (typed, untyped)
}

#[tokio::test(start_paused = true)]
async fn an_untyped_informer_answers_as_the_typed_one() {
    let server = server_with(&[]);
    let (typed, untyped) = untyped(&server);
    assert!(untyped.is_empty() && !untyped.has_synced() && !untyped.is_stopped());
    assert_eq!(untyped.last_sync_resource_version(), None);
    assert!(format!("{untyped:?}").contains("configmaps"), "{untyped:?}");
    assert!(format!("{typed:?}").contains("configmaps"), "{typed:?}");
    untyped.start().unwrap();
    untyped.synced().await.unwrap();
    assert!(untyped.is_empty() && untyped.has_synced());
    let written = server.create(&item("a", "1")).unwrap();
    untyped.wait_for(&written).await.unwrap();
    assert!(!untyped.is_empty());
    assert_eq!((untyped.len(), untyped.keys()), (1, vec![key("default/a")]));
    assert!(untyped.get(&key("default/a")).is_some() && untyped.get(&key("default/b")).is_none());
    assert_eq!(untyped.list(&Selector::everything()).len(), 1);
    assert_eq!(
        untyped.last_sync_resource_version(),
        typed.last_sync_resource_version()
    );
    assert!(untyped.typed::<ConfigMap>().is_some() && untyped.typed::<Pod>().is_none());
    let uid = written.metadata.uid.as_deref().unwrap();
    server.delete(&written).unwrap();
    untyped.wait_for_deletion(&key("default/a"), uid).await.unwrap();
    assert!(untyped.is_empty());
    untyped
        .wait_until_within(&ResourceVersion::new(&server.resource_version()), LONG)
        .await
        .unwrap();
    untyped.shutdown().await;
    assert!(untyped.is_stopped() && typed.is_stopped());
}

/// Each of these returned `Ok` without a wait in a mutant that no test noticed.
#[tokio::test(start_paused = true)]
async fn the_waits_of_an_untyped_informer_wait() {
    let server = server_with(&["a"]);
    let (_typed, untyped) = untyped(&server);
    let short = Duration::from_secs(5);
    let refusal = server.faults().add(Rule::new(Fault::Refuse));
    untyped.start().unwrap();
    let outcome = untyped.synced_within(short).await;
    assert!(matches!(outcome, Err(NotSynced { .. })), "{outcome:?}");
    server.faults().remove(refusal);
    untyped.synced().await.unwrap();

    // From here on the informer receives nothing.
    server.faults().add(Rule::new(Fault::Refuse));
    server.close_watches();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let written = server.update(&item("a", "2")).unwrap();
    let version = version_of(&written);
    let outcome = untyped.wait_until_within(&version, short).await;
    assert!(matches!(outcome, Err(WaitError::Timeout { .. })), "{outcome:?}");
    let outcome = untyped.wait_for_within(&written, short).await;
    assert!(
        matches!(outcome, Err(WaitForError::Timeout { .. })),
        "{outcome:?}"
    );
    let uid = written.metadata.uid.as_deref().unwrap();
    let a = key("default/a");
    let outcome = untyped.wait_for_deletion_within(&a, uid, short).await;
    assert!(
        matches!(outcome, Err(WaitForError::Timeout { .. })),
        "{outcome:?}"
    );
    for waited in [
        tokio::time::timeout(short, untyped.wait_until(&version))
            .await
            .is_err(),
        tokio::time::timeout(short, untyped.wait_for(&written))
            .await
            .is_err(),
        tokio::time::timeout(short, untyped.wait_for_deletion(&a, uid))
            .await
            .is_err(),
    ] {
        assert!(waited, "nothing arrived");
    }
    untyped.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn handlers_and_streams_of_an_untyped_informer_have_the_defaults_of_its_builder() {
    let server = server_with(&["a"]);
    let typed = builder_of::<ConfigMap>(server.client())
        .handler_defaults(HandlerOptions::default().buffer(7).resync(None))
        .resync(Duration::from_secs(60))
        .build()
        .unwrap();
    let untyped = DynInformer::new(typed.clone());
    let by_default = untyped.add_handler(|_: Event<dyn AnyObject>| {}).unwrap();
    assert_eq!(by_default.status().resync, None);
    let options = HandlerOptions::default().name("named");
    let with_options = untyped
        .add_handler_with(options, |_: Event<dyn AnyObject>| {})
        .unwrap();
    assert_eq!(with_options.status().name, "named");
    assert_eq!(with_options.status().resync, Some(Duration::from_secs(60)));
    let mut events = untyped.events();
    untyped.start().unwrap();
    assert!(matches!(events.next().await, Some(Event::Added { .. })));
    quiet(&typed).await;
    untyped.shutdown_timeout(LONG).await.unwrap();
}
