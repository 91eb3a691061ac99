//! Waiting for a condition on the stored objects, instead of polling.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::server::ApiServer;

/// How long [`ApiServer::until`] waits.
const LIMIT: Duration = Duration::from_secs(30);
/// The most objects that an error names.
const NAMED: usize = 20;

impl ApiServer {
    /// Waits until a condition on the stored objects of a kind holds, and returns these objects.
    ///
    /// The condition is called at once and after every write, with all objects in key order. Waits at most 30
    /// seconds by tokio's clock: with a paused clock, a condition that never holds fails at once.
    ///
    /// ```
    /// use informer_testing::ApiServer;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::start();
    /// let client = server.client();
    /// // The code under test, in a task of its own.
    /// tokio::spawn(async move {
    ///     let all = kube::Api::<ConfigMap>::default_namespaced(client);
    ///     let map = serde_json::from_value(json!({ "metadata": { "name": "made" } })).unwrap();
    ///     all.create(&Default::default(), &map).await
    /// });
    /// let maps = server.until(|maps: &[ConfigMap]| maps.len() == 1).await?;
    /// assert_eq!(maps[0].metadata.name.as_deref(), Some("made"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the time is over, or the kind is not served. The error names the objects that exist.
    pub async fn until<K>(&self, condition: impl FnMut(&[K]) -> bool) -> Result<Vec<K>, UntilError>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.until_within(LIMIT, condition).await
    }

    /// Waits as [`until`](Self::until), for at most `limit`.
    ///
    /// # Errors
    /// If the time is over, or the kind is not served. The error names the objects that exist.
    pub async fn until_within<K>(
        &self,
        limit: Duration,
        mut condition: impl FnMut(&[K]) -> bool,
    ) -> Result<Vec<K>, UntilError>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned,
    {
        let mut changes = self.shared.subscribe();
        let deadline = tokio::time::sleep(limit);
        let mut deadline = std::pin::pin!(deadline);
        loop {
            // Seen before the objects are read, so that a write in between causes another look.
            changes.pulse();
            let objects = self.objects::<K>();
            if condition(&objects) {
                return Ok(objects);
            }
            tokio::select! {
                biased;
                () = changes.changed() => {}
                () = &mut deadline => return Err(UntilError::new(&objects, limit)),
            }
        }
    }
}

/// A condition did not hold in time; see [`ApiServer::until`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntilError {
    kind: String,
    limit: Duration,
    stored: Vec<String>,
}

impl UntilError {
    fn new<K: kube::Resource<DynamicType = ()>>(objects: &[K], limit: Duration) -> Self {
        let describe = |object: &K| {
            let meta = object.meta();
            let name = meta.name.as_deref().unwrap_or_default();
            let version = meta.resource_version.as_deref().unwrap_or_default();
            let key = crate::object::key(meta.namespace.as_deref().unwrap_or_default(), name);
            let deleted = if meta.deletion_timestamp.is_some() {
                ", being deleted"
            } else {
                ""
            };
            format!("{key} (version {version}{deleted})")
        };
        Self {
            kind: K::kind(&()).into_owned(),
            limit,
            stored: objects.iter().map(describe).collect(),
        }
    }

    /// Returns the stored objects when the time was over: `namespace/name (version 107)`.
    pub fn stored(&self) -> &[String] {
        &self.stored
    }
}

impl fmt::Display for UntilError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, limit, stored } = self;
        write!(
            f,
            "the condition on {kind} objects did not hold within {limit:?}; "
        )?;
        if stored.is_empty() {
            return f.write_str("none are stored");
        }
        let named = stored[..stored.len().min(NAMED)].join(", ");
        write!(f, "stored: {named}")?;
        match stored.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl std::error::Error for UntilError {}
