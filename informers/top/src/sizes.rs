//! Estimates the size of the objects of a kind from a few of them.

use std::time::Duration;

use kube::core::GroupVersionResource;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// How many objects are read.
const SAMPLE: u64 = 10;
/// How long that may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// The parts of a list that are used.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    items: Vec<IgnoredAny>,
}

/// Reads a few objects of a kind and returns their average size as JSON. Only lengths are kept. `None` if no
/// object exists, or if the server refuses.
pub(crate) async fn average(
    client: kube::Client,
    resource: GroupVersionResource,
    namespace: Option<String>,
) -> Option<u64> {
    let path = path(&resource, namespace.as_deref());
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    let text = tokio::time::timeout(DEADLINE, client.request_text(request))
        .await
        .ok()?
        .ok()?;
    let list: List = serde_json::from_str(&text).ok()?;
    let objects = u64::try_from(list.items.len())
        .ok()
        .filter(|objects| *objects > 0)?;
    Some(u64::try_from(text.len()).ok()? / objects)
}

/// The path of the list. Group, version and plural are from discovery, the namespace was validated by the
/// factory.
fn path(resource: &GroupVersionResource, namespace: Option<&str>) -> String {
    let GroupVersionResource { group, version, .. } = resource;
    let root = match group.as_str() {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let plural = &resource.resource;
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}?limit={SAMPLE}"),
        None => format!("{root}/{plural}?limit={SAMPLE}"),
    }
}

#[cfg(test)]
mod tests {
    use informer_testing::ApiServer;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_size_is_the_average_of_a_few_objects() {
        let server = ApiServer::start();
        let maps = GroupVersionResource::gvr("", "v1", "configmaps");
        assert_eq!(
            average(server.client(), maps.clone(), None).await,
            None,
            "none exists"
        );
        for number in 0..30 {
            let name = format!("map-{number}");
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
                "data": { "text": "x".repeat(1_000) } });
            server.create(&object).unwrap();
        }
        let size = average(server.client(), maps.clone(), None).await.unwrap();
        assert!((1_000..2_000).contains(&size), "{size}");
        let elsewhere = average(server.client(), maps, Some("elsewhere".to_owned())).await;
        assert_eq!(elsewhere, None);
        let unknown = GroupVersionResource::gvr("example.com", "v1", "things");
        assert_eq!(average(server.client(), unknown, None).await, None);
    }
}
