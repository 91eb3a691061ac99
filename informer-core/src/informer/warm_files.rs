//! The files of an informer's warm start, one per scope, and the identity that they have in common.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::builder::Sources;
use super::options::InformerOptions;
use crate::object::Object;
use crate::scope::Scope;
use crate::sync::{Mutex, Offload};
use crate::warm::{Cluster, Codec, Identity, WarmFile, WarmStart};

/// The files of one informer.
pub(super) struct WarmFiles<K> {
    options: WarmStart,
    codec: Codec<K>,
    client: Option<kube::Client>,
    /// Without cluster and scope.
    identity: Identity,
    offload: Offload,
    files: Mutex<Files<K>>,
}

/// Whether the cache is saved.
enum Files<K> {
    /// It is, in one file per scope.
    Open(BTreeMap<Scope, Arc<WarmFile<K>>>),
    /// No longer: the selectors were changed, and the files have the identity of those before.
    Closed,
}

impl<K: Object> WarmFiles<K> {
    pub(super) fn new(warm: (WarmStart, Codec<K>), sources: &Sources<K>, options: &InformerOptions) -> Self {
        let (warm, codec) = warm;
        let (client, api_version) = match sources {
            Sources::FromClient {
                client, api_version, ..
            } => (Some(client.clone()), api_version.clone()),
            Sources::Custom(_) => (None, String::new()),
        };
        let source = &options.source;
        let revision = warm
            .revision_text()
            .map_or_else(Identity::of_program, |text| format!("revision {text}"));
        let identity = Identity {
            api_version,
            kind: std::any::type_name::<K>().to_owned(),
            selection: format!(
                "{:?}, managed fields: {:?}",
                source.list_options, source.managed_fields
            ),
            revision,
            ..Identity::default()
        };
        Self {
            options: warm,
            codec,
            client,
            identity,
            offload: options.offload,
            files: Mutex::new(Files::Open(BTreeMap::new())),
        }
    }

    pub(super) fn of_resource(mut self, resource: &str) -> Self {
        resource.clone_into(&mut self.identity.resource);
        self
    }

    /// Whether the objects may be saved. Secrets only if the options include them.
    pub(super) fn is_allowed(&self) -> bool {
        let resource = &self.identity.resource;
        let is_allowed = self.options.allows(resource);
        if !is_allowed {
            tracing::warn!(
                resource,
                "the warm start is off for Secrets, because it would write them to a file; \
                 `WarmStart::include_secrets` allows it"
            );
        }
        is_allowed
    }

    /// Adds the file of a scope; `None` if nothing is saved any more.
    pub(super) fn add(&self, scope: &Scope) -> Option<Arc<WarmFile<K>>> {
        let mut files = self.files.lock();
        let Files::Open(files) = &mut *files else {
            return None;
        };
        let cluster = Cluster::of(self.options.cluster_name(), self.client.clone());
        let file = Arc::new(WarmFile::new(
            self.options.clone(),
            self.codec,
            self.identity.of_scope(scope),
            scope.clone(),
            cluster,
            self.offload,
        ));
        files.insert(scope.clone(), file.clone());
        Some(file)
    }

    /// Saves a scope no longer. Its file stays.
    pub(super) fn remove(&self, scope: &Scope) {
        if let Files::Open(files) = &mut *self.files.lock() {
            files.remove(scope);
        }
    }

    /// Saves nothing any more. The files stay as they are.
    pub(super) fn close(&self) {
        *self.files.lock() = Files::Closed;
    }

    /// The file of each scope; none once they are closed.
    pub(super) fn files(&self) -> Vec<Arc<WarmFile<K>>> {
        match &*self.files.lock() {
            Files::Open(files) => files.values().cloned().collect(),
            Files::Closed => Vec::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(*self.files.lock(), Files::Closed)
    }

    /// How often the files are written.
    pub(super) fn interval(&self) -> Duration {
        self.options.interval()
    }
}
