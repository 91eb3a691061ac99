//! A controller whose reconciler and error hook panic and quote the object.

use std::time::Duration;

use informer_core::SharedInformer;
use informer_core::controller::{Action, Controller, Request, Run};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::Secret;
use tokio_util::sync::CancellationToken;

use crate::secret;
use crate::surfaces::Surfaces;

#[tokio::test(start_paused = true)]
async fn reconciles_that_fail_and_panic() {
    let surfaces = Surfaces::begin();
    let server = ApiServer::start();
    for name in ["failing", "panicking"] {
        server.create(&secret(name)).unwrap();
    }
    let informer = SharedInformer::<Secret>::builder(server.client())
        .build()
        .unwrap();
    let texts = surfaces.clone();
    let controller = Controller::new("canary", &informer)
        .on_error(move |failed| {
            texts.debug("failed reconcile", failed);
            texts.error("reconcile error", failed.error);
            panic!("quotes {}", crate::CANARY)
        })
        .build()
        .unwrap();
    informer.start().unwrap();
    controller.synced().await.unwrap();
    let stop = CancellationToken::new();
    let texts = surfaces.clone();
    let reconcile = move |request: Request<Secret>| {
        texts.debug("request", &request);
        async move {
            let object = request.object().unwrap();
            match request.key().name() {
                "failing" => Err::<Action, _>(std::io::Error::other("no luck")),
                _ => panic!("cannot use {object:?}"),
            }
        }
    };
    let running = controller.clone();
    let run = Run::default().stop(stop.clone());
    let task = tokio::spawn(async move { running.run(reconcile, run).await });
    tokio::time::sleep(Duration::from_secs(10)).await;
    surfaces.debug("controller", &controller);
    surfaces.debug("controller status", &controller.status());
    assert!(
        controller.status().failing.len() == 2,
        "{:?}",
        controller.status()
    );
    stop.cancel();
    surfaces.debug("stopped", &task.await.unwrap());
    surfaces.informer(&informer);
    informer.shutdown().await;
    surfaces.check();
}
