//! Settings that follow a ConfigMap, with the last good ones kept: `cargo run --example config_reload -- --help`.

mod settings;
#[path = "../shared/lib.rs"]
#[allow(dead_code, reason = "each example uses its part of what all share")]
mod shared;
mod story;

use std::process::ExitCode;
use std::time::Duration;

use informers::Event;
use k8s_openapi::api::core::v1::ConfigMap;
use settings::Loaded;
use shared::{Failure, Session, Usage};
use tokio::sync::watch;

/// The name of the ConfigMap.
const NAME: &str = "shop-settings";

#[tokio::main]
async fn main() -> ExitCode {
    let usage =
        Usage::new("Follows the ConfigMap `shop-settings` of the namespace `shop`, or of the one given.");
    shared::main(usage, story::tell, run).await
}

async fn run(session: &mut Session) -> Result<(), Failure> {
    let namespace = match session.options.namespaces.as_slice() {
        [] => "shop".to_owned(),
        [one] => one.clone(),
        _ => return Err("the settings are in one namespace: write --namespace once".into()),
    };
    let factory = session
        .factory()
        // One object is all the server is asked for, and all there is in memory.
        .kind::<ConfigMap>(|maps| maps.namespace(namespace).fields(format!("metadata.name={NAME}")))
        .build()?;

    // Whoever uses the settings holds a receiver: `borrow` is the newest good state, whole.
    let (sender, mut settings) = watch::channel(Loaded::default());
    factory
        .core()
        .v1()
        .config_maps()
        .informer()
        .add_handler(move |event: Event<ConfigMap>| {
            sender.send_modify(|loaded| match &event {
                Event::Deleted(_) => loaded.reject("the ConfigMap was deleted"),
                _ => loaded.take(event.object()),
            });
        })?;
    factory.start();
    factory.wait_for_sync_within(Duration::from_secs(60)).await?;

    loop {
        // Taken out at once: while the value is borrowed, the handler cannot write a new one.
        let loaded = settings.borrow_and_update().to_string();
        session.line(&loaded)?;
        match session.or_end(settings.changed()).await {
            Some(changed) => changed?,
            None => break,
        }
    }
    factory.shutdown().await;
    Ok(())
}
