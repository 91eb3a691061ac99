//! The story on the embedded server: good settings, better ones, bad ones, none at all, and good ones again.

use serde_json::{Value, json};

use super::shared::{Failure, Stage};

/// Puts settings there, and then changes them.
pub(crate) fn tell(
    mut stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let server = stage.server.clone();
    server.create(&settings("shop-settings", "2"))?;
    // Of this one the program hears nothing.
    server.create(&settings("other-settings", "64"))?;
    Ok(async move {
        stage.until(&["settings, version", "2 workers"]).await?;

        server.update(&settings("shop-settings", "8"))?;
        stage.until(&["settings, version", "8 workers"]).await?;

        server.update(&settings("shop-settings", "eight"))?;
        stage.until(&["kept, because", "8 workers"]).await?;

        server.delete(&settings("shop-settings", "eight"))?;
        stage.until(&["was deleted", "8 workers"]).await?;

        server.create(&settings("shop-settings", "4"))?;
        stage.until(&["settings, version", "4 workers"]).await
    })
}

fn settings(name: &str, workers: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": "shop", "name": name },
        "data": { "greeting": "welcome", "workers": workers },
    })
}
