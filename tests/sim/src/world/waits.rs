//! Waits that are repeated, and waits on informers that never run.

use std::future::Future;
use std::time::Duration;

use informer_core::registry::{Registry, WaitLimits};
use informer_core::{ResourceVersion, SharedInformer};
use informer_testing::{Fault, Rule};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::GroupVersionResource;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::World;
use crate::plan::Cancelled;
use crate::verdict::report;
use crate::wire;

/// A wait that takes longer than this never ends.
const NEVER: Duration = Duration::from_secs(300);

impl World<'_> {
    /// A wait for the sync of a refused informer ends with the refusal, after the grace period. So does the
    /// next one: it counts from its own call. Once the right is granted, a wait succeeds.
    pub(super) async fn refused_waits(&mut self) {
        let rule = self.strike(Rule::new(Fault::Forbidden));
        let registry = Registry::new();
        let resource = GroupVersionResource::gvr("", "v1", "configmaps");
        let added = registry.get_or_make(&resource, || Ok::<_, ()>(self.plain_informer()));
        let limits = WaitLimits::default();
        registry.start();
        for call in 1..=3 {
            let begun = Instant::now();
            let outcome = timeout(NEVER, registry.wait_for_sync(limits)).await;
            let wrong = match outcome {
                Err(_) => format!("does not end within {NEVER:?}"),
                Ok(Ok(())) => "succeeds".to_owned(),
                Ok(Err(_)) if begun.elapsed() < limits.refused => {
                    format!("ends after {:?}, before the grace period", begun.elapsed())
                }
                Ok(Err(_)) => continue,
            };
            report("I9", || {
                format!("call {call} of `wait_for_sync` on a refused informer {wrong}")
            });
        }
        self.server.faults().remove(rule);
        let outcome = registry.wait_for_sync(WaitLimits::within(NEVER)).await;
        if let Err(error) = outcome {
            report("I9", || {
                format!("a wait after the right was granted ends with: {error}")
            });
        }
        drop(added);
        registry.shutdown().await;
    }

    /// An informer whose token is cancelled before or right after its start makes no request, and every wait
    /// on it ends.
    pub(super) async fn cancelled_start(&mut self, cancelled: Cancelled) {
        let traffic = std::sync::Arc::default();
        let client = wire::client(
            &self.server,
            <_>::default(),
            std::sync::Arc::clone(&traffic),
            false,
        );
        let token = CancellationToken::new();
        if cancelled == Cancelled::BeforeBuild {
            token.cancel();
        }
        let informer: SharedInformer<ConfigMap> = wire::plain_builder(client, self.plan.seed)
            .cancel_with(&token)
            .build()
            .expect("the options are valid");
        let registration = informer.add_handler(|_| {});
        if cancelled == Cancelled::BeforeStart {
            token.cancel();
        }
        // An informer that has stopped may refuse to start.
        let _ = informer.start();
        token.cancel();
        let version = ResourceVersion::new(&(self.server.revision() + 1_000).to_string());
        ends("wait_until", cancelled, informer.wait_until(&version)).await;
        ends("synced", cancelled, informer.synced()).await;
        if let Some(written) = self.put(crate::plan::Write {
            place: 0,
            value: 1,
            kind: crate::plan::WriteKind::Put,
        }) {
            ends("wait_for", cancelled, informer.wait_for(&written)).await;
        }
        if let Ok(registration) = &registration {
            ends("Registration::synced", cancelled, registration.synced()).await;
        }
        informer.shutdown().await;
        let requests = wire::requests(&traffic);
        if requests > 0 {
            report("I9", || {
                format!("an informer cancelled {cancelled:?} made {requests} requests")
            });
        }
    }
}

async fn ends<T>(what: &str, cancelled: Cancelled, wait: impl Future<Output = T>) {
    if timeout(NEVER, wait).await.is_err() {
        report("I13", || {
            format!("`{what}` of an informer cancelled {cancelled:?} does not end")
        });
    }
}
