//! The calls users write, in one program: names that stay stable in every release.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use informer_testing::ApiServer;
use informers::{Deleted, Event, Handlers, IndexDefinition, Lister, Origin, Selector, SharedInformerFactory};
use k8s_openapi::api::core::v1::{Node, Pod};

use crate::support::{pod, quiet, words};

static BY_NODE: IndexDefinition<Pod, String> = IndexDefinition::new("by node", |pod| {
    pod.spec
        .iter()
        .filter_map(|spec| spec.node_name.clone())
        .collect()
});

fn in_web(name: &str, labels: &[(&str, &str)]) -> Pod {
    let mut pod = pod(name, "node-1");
    pod.metadata.namespace = Some("web".to_owned());
    let labels = labels
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    pod.metadata.labels = Some(labels.collect());
    pod
}

#[tokio::test(start_paused = true)]
async fn the_contract_compiles_and_does_what_it_says() -> Result<(), Box<dyn std::error::Error>> {
    let server = ApiServer::start();
    server.create(&in_web("front-0", &[("tier", "frontend"), ("app", "front")]))?;
    server.create(&in_web("back-0", &[("tier", "backend")]))?;
    let client = server.client();

    let factory = SharedInformerFactory::builder(client)
        .resync(Duration::from_secs(600))
        .namespace("web")
        .tweak_list_options(|options| options.labels("tier=frontend"))
        .kind::<Node>(|nodes| nodes.page_size(100))
        .build()?;

    let pods = factory.core().v1().pods();
    let informer = pods.informer();
    let lister = pods.lister();

    let registration = informer.add_handler(|event: Event<Pod>| match event {
        Event::Added { object, origin, .. } => {
            assert!(object.metadata.name.is_some() && matches!(origin, Origin::Initial | Origin::Live));
        }
        Event::Updated { old, new, .. } => assert!(old.metadata.name == new.metadata.name),
        Event::Deleted(deleted) => match deleted {
            Deleted::Observed(_) => {}
            Deleted::Missed { key, last_known, .. } => {
                assert_eq!(Some(key.name()), last_known.metadata.name.as_deref());
            }
        },
    })?;
    informer.add_handler(
        Handlers::<Pod>::new()
            .on_add(|_, _| {})
            .on_update(|_, _| {})
            .on_delete(|_| {}),
    )?;
    informer.add_async_handler(async |_event: Event<Pod>| {})?;
    factory.start();
    factory.wait_for_sync().await?;

    let all: Vec<Arc<Pod>> = lister.list(&Selector::everything());
    let some = lister.pods("web").list(&"app=front".parse::<Selector>()?);
    let one: Option<Arc<Pod>> = lister.pods("web").get("front-0");
    let same = lister.get_key(&"web/front-0".parse()?);
    let on_node = informer.add_index("node", |pod: &Pod| {
        pod.spec
            .iter()
            .filter_map(|s| s.node_name.clone())
            .collect::<Vec<_>>()
    })?;
    let there = on_node.get("node-1");
    let mut events = informer.events();
    assert_eq!((all.len(), some.len(), there.len()), (1, 1, 1));
    assert_eq!(informer.index(&BY_NODE)?.get("node-1").len(), 1);
    assert!(Arc::ptr_eq(&one.unwrap(), &same.unwrap()));
    assert!(matches!(
        events.next().await,
        Some(Event::Added {
            origin: Origin::Initial,
            ..
        })
    ));

    let made: Lister<Pod> = Lister::from_objects([in_web("made", &[])]);
    assert_eq!(made.len(), 1);
    server.update(&in_web("front-0", &[("tier", "frontend")]))?;
    server.delete(&in_web("front-0", &[]))?;
    for expected in ["update front-0", "delete front-0"] {
        assert_eq!(words(&events.next().await.unwrap()), expected);
    }
    quiet(&informer).await;
    // Panics of handlers are caught, so their assertions are checked here.
    for handler in informer.status().handlers {
        assert_eq!((handler.panics, handler.synced), (0, true), "{handler:?}");
    }
    registration.remove().await;
    factory.shutdown().await;
    Ok(())
}
