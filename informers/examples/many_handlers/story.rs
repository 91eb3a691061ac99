//! The story on the embedded server: pods come, change and go, and then nothing happens but resyncs.

use super::shared::{Failure, Stage, pod};

/// Puts pods there, and then changes them.
pub(crate) fn tell(
    mut stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let server = stage.server.clone();
    let mut pods = Vec::new();
    for number in 0..5 {
        let pod = pod::make("shop", &format!("front-{number}"), "Running", Some("node-1"));
        pods.push(server.create(&pod)?);
    }
    Ok(async move {
        stage.until(&["added", "front-4"]).await?;

        server.create(&pod::make("shop", "cart-0", "Pending", None))?;
        stage.until(&["added", "cart-0"]).await?;

        server.update(&pod::make("shop", "cart-0", "Running", Some("node-2")))?;
        stage.until(&["updated", "cart-0"]).await?;

        server.delete(&pods[0])?;
        stage.until(&["deleted", "front-0"]).await?;

        // Long enough for every handler that wants to hear everything again.
        for _ in 0..3 {
            stage.until(&["told again", "front-4"]).await?;
        }
        Ok(())
    })
}
