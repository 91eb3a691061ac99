//! Two requests to etcd through its JSON gateway.

use http::Uri;
use kube::Client;
use serde_json::{Value, json};

use super::ClusterError;

/// A client of etcd.
pub(super) struct Etcd(Client);

impl Etcd {
    pub(super) fn new(url: &Uri) -> Result<Self, ClusterError> {
        let config = kube::Config::new(url.clone());
        let client = informer_core::client::from_config(config).map_err(ClusterError::client)?;
        Ok(Self(client))
    }

    /// The newest revision.
    pub(super) async fn revision(&self) -> Result<u64, ClusterError> {
        // Any question will do: every answer's header has the revision. The key is a zero byte, in base64.
        let answer = self
            .post("/v3/kv/range", &json!({"key": "AA==", "count_only": true}))
            .await?;
        let revision = answer["header"]["revision"].as_str();
        revision
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| ClusterError::client("etcd's answer has no revision"))
    }

    /// Compacts the history before a revision, on the disk as well.
    pub(super) async fn compact(&self, revision: u64) -> Result<(), ClusterError> {
        let request = json!({"revision": revision.to_string(), "physical": true});
        self.post("/v3/kv/compaction", &request).await?;
        Ok(())
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, ClusterError> {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes())
            .map_err(ClusterError::client)?;
        self.0.request(request).await.map_err(ClusterError::client)
    }
}
