//! The story on the embedded server: a website outgrows its plan, the plan grows, and the website goes.

use serde_json::{Value, json};

use super::shared::{Failure, Stage};

/// Posts the definitions, a plan, two websites and what runs them, and then changes each of the three kinds.
pub(crate) fn tell(
    mut stage: Stage,
) -> Result<impl Future<Output = Result<(), Failure>> + Send + 'static, Failure> {
    let server = stage.server.clone();
    for text in [
        include_str!("../../crds/plans.yaml"),
        include_str!("../../crds/websites.yaml"),
    ] {
        let definition: Value = serde_saphyr::from_str(text)?;
        server.create(&definition)?;
    }
    let plan = server.create(&plan(2))?;
    let front = server.create(&website("front", 1))?;
    server.create(&website("blog", 1))?;
    let running = server.create(&deployment("front", 1))?;
    Ok(async move {
        stage.until(&["shop/front", "1 of 1 ready, within small"]).await?;

        // Its owner wants more than the plan has.
        server.update(&change(&front, &["spec", "replicas"], 3))?;
        stage
            .until(&["shop/front", "1 of 3 ready, small allows only 2"])
            .await?;

        server.update(&change(&plan, &["spec", "maxReplicas"], 5))?;
        stage.until(&["shop/front", "1 of 3 ready, within small"]).await?;

        server.update(&change(&running, &["status", "readyReplicas"], 3))?;
        stage.until(&["shop/front", "3 of 3 ready"]).await?;

        server.delete(&front)?;
        stage.until(&["shop/front", "is gone"]).await
    })
}

fn plan(max_replicas: i32) -> Value {
    json!({
        "apiVersion": "hosting.example.com/v1", "kind": "Plan", "metadata": { "name": "small" },
        "spec": { "maxReplicas": max_replicas, "support": "Mail" },
    })
}

fn website(name: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "hosting.example.com/v1", "kind": "Website", "metadata": { "namespace": "shop", "name": name },
        "spec": { "plan": "small", "image": "registry.example.com/site:1", "replicas": replicas },
    })
}

fn deployment(name: &str, ready: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "namespace": "shop", "name": name },
        "spec": { "selector": {}, "template": {} }, "status": { "readyReplicas": ready },
    })
}

/// The object with one number changed. Its version stays behind: an update without one is never in conflict.
fn change(object: &Value, path: &[&str], number: i32) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    let field = path.iter().fold(&mut object, |object, key| &mut object[*key]);
    *field = json!(number);
    object
}
