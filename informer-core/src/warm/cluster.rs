//! The identity of a cluster: a name that the program gives, or the UID of the namespace `kube-system`.

use std::time::Duration;

use kube::core::PartialObjectMeta;

use crate::sync::Mutex;

/// How long the request may take.
const LIMIT: Duration = Duration::from_secs(5);

/// How the cluster of an informer is identified.
pub(crate) enum Cluster {
    /// By a name.
    Named(String),
    /// By the server, at the first call. The answer is kept, because it cannot change for one client.
    AskedOf {
        client: kube::Client,
        answer: Mutex<Option<String>>,
    },
    /// Not at all: a custom source without a name.
    Unknown,
}

impl Cluster {
    pub(crate) fn of(name: Option<&str>, client: Option<kube::Client>) -> Self {
        match (name, client) {
            (Some(name), _) => Self::Named(format!("name {name}")),
            (None, Some(client)) => Self::AskedOf {
                client,
                answer: Mutex::new(None),
            },
            (None, None) => Self::Unknown,
        }
    }

    /// The identity; `None` if it cannot be found now.
    pub(crate) async fn identify(&self) -> Option<String> {
        let (client, answer) = match self {
            Self::Named(name) => return Some(name.clone()),
            Self::Unknown => return None,
            Self::AskedOf { client, answer } => (client, answer),
        };
        let known = answer.lock().clone();
        if known.is_some() {
            return known;
        }
        let request = http::Request::get("/api/v1/namespaces/kube-system")
            .header(
                http::header::ACCEPT,
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            )
            .body(Vec::new())
            .ok()?;
        let namespace = client.request::<PartialObjectMeta>(request);
        let namespace = tokio::time::timeout(LIMIT, namespace).await.ok()?.ok()?;
        let uid = namespace.metadata.uid.filter(|uid| !uid.is_empty())?;
        let identity = format!("uid {uid}");
        *answer.lock() = Some(identity.clone());
        Some(identity)
    }
}
