//! The handle of a running server: clients, direct access to objects, faults and the request log.

use std::io;
use std::sync::Arc;

use kube::Client;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::builder::Builder;
use crate::encode::{self, Typed};
use crate::error::ApiError;
use crate::faults::Faults;
use crate::http::Listener;
use crate::log::Requests;
use crate::object::{Object, Stored, metadata_str};
use crate::patch::merge_patch;
use crate::registry::{Resource, Scope};
use crate::service::ApiService;
use crate::shared::Shared;
use crate::state::{DeleteRequest, Mode, Part, Source, State, Write};

/// A running API server. Dropping it closes every watch and refuses further requests; no task remains.
#[derive(Debug)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
    listener: Option<Listener>,
}

impl ApiServer {
    /// Returns a builder to configure a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a server with default settings.
    pub fn start() -> Self {
        Builder::default().start()
    }

    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            listener: None,
        }
    }

    /// Returns a client that calls the server in this process. Must be called within a tokio runtime.
    ///
    /// Its default namespace is `default`. It has none of kube's retry, compression and header layers: the
    /// server receives exactly what the test sends. kube starts one task for each client, which ends with the
    /// last clone.
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// Returns the server as a tower service, to wrap it in custom layers.
    pub fn service(&self) -> ApiService {
        ApiService::new(self.shared.clone())
    }

    /// Listens on a free port of the loopback interface, for `kubectl` and for clients in other processes.
    /// Calling it again changes nothing.
    ///
    /// # Errors
    /// If no port can be opened.
    pub async fn serve_http(&mut self) -> io::Result<String> {
        let listener = match self.listener.take() {
            Some(listener) => listener,
            None => Listener::start(self.service()).await?,
        };
        let url = listener.url();
        self.listener = Some(listener);
        Ok(url)
    }

    /// Returns the address, if the server listens: `http://127.0.0.1:port`.
    pub fn url(&self) -> Option<String> {
        self.listener.as_ref().map(Listener::url)
    }

    /// Returns a kubeconfig for `kubectl` and other clients, if the server listens.
    pub fn kubeconfig(&self) -> Option<String> {
        let url = self.url()?;
        Some(format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: embedded\nclusters:\n- name: \
             embedded\n  cluster:\n    server: {url}\ncontexts:\n- name: embedded\n  context:\n    cluster: \
             embedded\n    namespace: default\n    user: embedded\nusers:\n- name: embedded\n  user: {{}}\n"
        ))
    }

    /// Returns the fault rules of the server.
    pub fn faults(&self) -> Faults {
        Faults::new(self.shared.clone())
    }

    /// Returns the requests so far, oldest first; at most [`LOG_CAPACITY`](crate::LOG_CAPACITY) of them.
    pub fn requests(&self) -> Requests {
        self.shared.log().copy()
    }

    /// Clears the request log. Request numbers continue.
    pub fn clear_requests(&self) {
        self.shared.log().clear();
    }

    /// Returns the revision of the last write.
    pub fn revision(&self) -> u64 {
        self.shared.state().storage.revision()
    }

    /// Returns the current resourceVersion, as clients see it.
    pub fn resource_version(&self) -> String {
        self.shared.state().version()
    }

    /// Compacts the history up to and including a revision: older lists, pages and watches get 410. Open
    /// watches that are up to date continue.
    pub fn compact(&self, revision: u64) {
        self.shared.state().storage.compact(revision);
        self.shared.wake();
    }

    /// Restores an older revision, as restoring etcd from a backup does: later writes are undone, their
    /// revisions are used again, and every watch is closed.
    ///
    /// # Errors
    /// If the history does not reach back that far.
    pub fn rewind(&self, revision: u64) -> Result<(), ApiError> {
        let rewound = self.shared.state().storage.rewind(revision);
        self.shared.close_watches();
        rewound.map_err(|_| ApiError::expired("the history does not reach back to this revision"))
    }

    /// Returns the time of the server's [`Clock`](crate::Clock), as it is in new objects.
    pub fn now(&self) -> jiff::Timestamp {
        self.shared.clock.now()
    }

    /// Returns the number of open watches.
    pub fn watchers(&self) -> usize {
        self.shared.watchers()
    }

    /// Ends every open watch cleanly, as a server does that shuts down. New watches are accepted.
    pub fn close_watches(&self) {
        self.shared.close_watches();
    }

    /// Stops the server and waits until its connections are closed.
    pub async fn shutdown(mut self) {
        self.shared.stop();
        if let Some(listener) = self.listener.take() {
            listener.stop().await;
        }
    }
}

/// Direct access to the objects, without HTTP, faults and the request log.
///
/// These writes differ from a client's: the status is stored as given, versions are not compared, a missing
/// namespace is created first, and no field manager is recorded. `apiVersion` and `kind` determine the type,
/// so a `DynamicObject` needs its `types`.
impl ApiServer {
    /// Creates an object and returns it as stored.
    ///
    /// # Errors
    /// As the API: unknown kind, invalid name, already exists.
    pub fn create<T: Serialize + DeserializeOwned>(&self, object: &T) -> Result<T, ApiError> {
        self.direct(object, |state, write, _, object| state.create(write, object))
    }

    /// Replaces an object and returns it as stored.
    ///
    /// # Errors
    /// As the API: unknown kind, not found.
    pub fn update<T: Serialize + DeserializeOwned>(&self, object: &T) -> Result<T, ApiError> {
        self.direct(object, |state, write, name, object| {
            state.update(write, name, object, Part::Main)
        })
    }

    /// Merges these fields into the object with their type, namespace and name, as a JSON merge patch does:
    /// such as a status that a controller of the cluster would write.
    ///
    /// ```
    /// # fn example(server: &informer_testing::ApiServer) -> Result<(), Box<dyn std::error::Error>> {
    /// server.merge(&serde_json::json!({
    ///     "apiVersion": "apps/v1", "kind": "Deployment",
    ///     "metadata": { "namespace": "shop", "name": "front" },
    ///     "status": { "observedGeneration": 1, "readyReplicas": 3 },
    /// }))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As the API: unknown kind, not found.
    pub fn merge<T: Serialize>(&self, fields: &T) -> Result<(), ApiError> {
        let (resource, fields) = self.read_typed(fields)?;
        let (namespace, name) = (metadata_str(&fields, "namespace"), metadata_str(&fields, "name"));
        let write = direct_write(&resource, namespace);
        let stored = self.shared.write(|state| {
            let current: Value = decode(&resource, &*state.read(&resource, namespace, name)?)?;
            let merged = merge_patch(&current, &Value::Object(fields.clone()))
                .map_err(|error| ApiError::bad_request(error.to_string()))?;
            match merged {
                Value::Object(merged) => state.update(&write, name, merged, Part::Main),
                _ => Err(ApiError::bad_request("not an object")),
            }
        });
        stored.map(drop)
    }

    /// Deletes the object with the type, namespace and name of the given value. Finalizers delay it, as for a
    /// client.
    ///
    /// # Errors
    /// As the API: unknown kind, not found.
    pub fn delete<T: Serialize>(&self, object: &T) -> Result<(), ApiError> {
        let (resource, object) = self.read_typed(object)?;
        let (namespace, name) = (metadata_str(&object, "namespace"), metadata_str(&object, "name"));
        let write = direct_write(&resource, namespace);
        self.shared
            .write(|state| state.delete(&write, name, &DeleteRequest::default()))
            .map(drop)
    }

    /// Returns the objects of a kind, in key order.
    pub fn objects<K>(&self) -> Vec<K>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned,
    {
        let (group, version, plural) = (K::group(&()), K::version(&()), K::plural(&()));
        let state = self.shared.state();
        let Some(resource) = state.registry.get(&group, &version, &plural) else {
            return Vec::new();
        };
        let stored = state
            .storage
            .snapshot(&resource.id, "", "", state.storage.revision())
            .unwrap_or_default();
        drop(state);
        stored
            .iter()
            .filter_map(|stored| decode(&resource, stored).ok())
            .collect()
    }

    fn direct<T, F>(&self, object: &T, change: F) -> Result<T, ApiError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&mut State, &Write<'_>, &str, Object) -> Result<Arc<Stored>, ApiError>,
    {
        let (resource, object) = self.read_typed(object)?;
        let (namespace, name) = (
            metadata_str(&object, "namespace").to_owned(),
            metadata_str(&object, "name").to_owned(),
        );
        let write = direct_write(&resource, &namespace);
        let stored = self.shared.write(|state| change(state, &write, &name, object))?;
        decode(&resource, &stored)
    }

    /// Returns the kind and the fields of a typed object.
    fn read_typed<T: Serialize>(&self, object: &T) -> Result<(Arc<Resource>, Object), ApiError> {
        let value = serde_json::to_value(object).map_err(|error| ApiError::bad_request(error.to_string()))?;
        let Value::Object(mut object) = value else {
            return Err(ApiError::bad_request("not an object"));
        };
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let resource = self
            .shared
            .state()
            .registry
            .by_kind(text("apiVersion"), text("kind"));
        let resource = resource.ok_or_else(|| {
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            ApiError::new(
                404,
                "NotFound",
                format!("no kind {kind:?} is served in version {api_version:?}"),
            )
        })?;
        if resource.scope == Scope::Namespaced && metadata_str(&object, "namespace").is_empty() {
            crate::object::set_metadata(&mut object, "namespace", "default".into());
        }
        Ok((resource, object))
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

fn direct_write<'a>(resource: &'a Resource, namespace: &'a str) -> Write<'a> {
    Write {
        resource,
        namespace,
        mode: Mode::Commit,
        source: Source::Direct,
        manager: None,
    }
}

fn decode<T: DeserializeOwned>(resource: &Resource, stored: &Stored) -> Result<T, ApiError> {
    let mut buffer = Vec::new();
    encode::whole(&mut buffer, resource, stored, Typed::Named);
    serde_json::from_slice(&buffer).map_err(|error| {
        ApiError::new(
            500,
            "InternalError",
            format!("the stored object does not decode: {error}"),
        )
    })
}
