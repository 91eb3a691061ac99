//! The story on the embedded server: a pod is scheduled, another is added, a third goes.

use super::shared::{Failure, Stage, pod};

/// Puts pods on two nodes, and then moves them about.
pub(crate) fn tell(
    mut stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let server = stage.server.clone();
    let cart = server.create(&pod::make("shop", "cart-0", "Running", Some("node-1")))?;
    server.create(&pod::make("shop", "front-0", "Running", Some("node-1")))?;
    server.create(&pod::make("payments", "api-0", "Running", Some("node-2")))?;
    let mut waiting = server.create(&pod::make("shop", "front-1", "Pending", None))?;
    Ok(async move {
        stage.until(&["node-2", "payments/api-0"]).await?;

        // The scheduler finds a place for the one that waits.
        waiting.spec.get_or_insert_default().node_name = Some("node-2".to_owned());
        server.update(&waiting)?;
        stage.until(&["node-2", "payments/api-0 shop/front-1"]).await?;

        // A node that nothing was on before.
        server.create(&pod::make("shop", "search-0", "Running", Some("node-3")))?;
        stage.until(&["node-3", "shop/search-0"]).await?;

        server.delete(&cart)?;
        stage.until(&["node-1", "1  shop/front-0"]).await
    })
}
