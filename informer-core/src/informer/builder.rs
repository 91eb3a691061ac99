//! The builder of one informer.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::lifecycle::{Components, RunState};
use super::options::{InformerOptions, check_scopes};
use super::{BuildError, Shared, SharedInformer};
use crate::audit::{AuditOptions, Auditor, IdentitiesOf, TypedScopeStore};
use crate::committer::{Committer, Wiring};
use crate::delta::{DeltaFifo, Transform};
use crate::object::{AnyObject, Object, is_cluster_scoped};
use crate::processor::Processor;
use crate::reflector::{Reflector, RelistRequest};
use crate::scope::Scope;
use crate::selector::Selector;
use crate::source::protobuf::DecodeProtobuf;
use crate::source::{KubeSource, KubeSourceError, KubeSourceOptions, ListOptionsError, ListWatch};
use crate::status::{Reporter, StatusBoard};
use crate::storage::{Packing, Storage};
use crate::store::{self, IndexDefinition, IndexError, IndexValue, Indexer};
use crate::sync::{Latch, Mutex, Offload};

/// Configures one informer. Created by [`SharedInformer::builder`].
#[must_use = "nothing happens before `build`"]
pub struct SharedInformerBuilder<K: Object> {
    sources: Sources<K>,
    options: InformerOptions,
    protobuf: Option<DecodeProtobuf<K>>,
    transform: Option<Transform<K>>,
    /// Makes the storage, if it is set.
    packing: Option<MakePacking<K>>,
    indexes: Vec<AddIndex<K>>,
}

/// Adds one index to an empty store.
type AddIndex<K> = Box<dyn FnOnce(&Indexer<K>) -> Result<(), IndexError> + Send>;

/// Captures what a storage needs to know of the kind.
type MakePacking<K> = Box<dyn FnOnce(Offload) -> Packing<K> + Send>;

/// The sources of the objects.
enum Sources<K> {
    /// A client. The function captures the kind, which may be known only at run time.
    FromClient(Box<MakeSource<K>>),
    /// Custom sources.
    Custom(Vec<Arc<dyn ListWatch<K>>>),
}

type MakeSource<K> = dyn Fn(Scope, KubeSourceOptions, Option<DecodeProtobuf<K>>) -> Made<K> + Send + Sync;

type Made<K> = Result<Arc<dyn ListWatch<K>>, KubeSourceError>;

impl<K: Object> SharedInformerBuilder<K> {
    pub(super) fn over_client(client: kube::Client, dynamic_type: K::DynamicType) -> Self
    where
        K: DeserializeOwned,
    {
        Self::new(Sources::FromClient(Box::new(move |scope, options, protobuf| {
            let source = KubeSource::<K>::of_type(client.clone(), &dynamic_type, scope, options)?;
            Ok(Arc::new(match protobuf {
                Some(decode) => source.protobuf(&dynamic_type, decode),
                None => source,
            }))
        })))
    }

    pub(super) fn over_sources(sources: Vec<Arc<dyn ListWatch<K>>>) -> Self {
        Self::new(Sources::Custom(sources))
    }

    fn new(sources: Sources<K>) -> Self {
        Self {
            sources,
            options: InformerOptions::default(),
            protobuf: None,
            transform: None,
            packing: None,
            indexes: Vec::new(),
        }
    }

    crate::__shared_options!(K);

    /// Replaces all shared options by those of a factory. For the crate `informers` only.
    #[doc(hidden)]
    pub fn __with_options(
        mut self,
        options: InformerOptions,
        transform: Option<Transform<dyn AnyObject>>,
    ) -> Self {
        self.options = options;
        self.transform = transform.map(|transform| Arc::new(move |object: &mut K| transform(object)) as _);
        self
    }

    /// Requests protobuf from the server, and decodes it with this function. Default: JSON. A factory sets it
    /// for every built-in kind. [`encoding`](Self::encoding) turns it off, and a custom source ignores it.
    pub fn protobuf(mut self, decode: DecodeProtobuf<K>) -> Self {
        self.protobuf = Some(decode);
        self
    }

    /// Sets how objects are held in memory: see [`Storage`]. Default: decoded.
    ///
    /// Packed objects are serialized and deserialized by the code of their type.
    pub fn storage(mut self, storage: Storage) -> Self
    where
        K: Serialize + DeserializeOwned,
    {
        self.packing = Some(Box::new(move |offload| Packing::of(storage, offload)));
        self
    }

    /// Adds an index that exists from the start; [`SharedInformer::index`] with the same definition returns
    /// it.
    pub fn index<V: IndexValue>(mut self, definition: &'static IndexDefinition<K, V>) -> Self {
        self.indexes
            .push(Box::new(|indexer| indexer.index(definition).map(drop)));
        self
    }

    /// Adds an index over the values of one label. Listers use it for selectors on that label.
    pub fn label_index(mut self, label: impl Into<String>) -> Self {
        let label = label.into();
        self.indexes
            .push(Box::new(move |indexer| indexer.add_label_index(&label).map(drop)));
        self
    }

    /// Returns the label selector of every request. The selector of a custom source is unknown.
    fn selector(&self) -> Result<Selector, BuildError> {
        match (&self.sources, &self.options.source.list_options.labels) {
            (Sources::FromClient(_), Some(labels)) => {
                let parsed = labels.parse().map_err(ListOptionsError::from);
                Ok(parsed.map_err(KubeSourceError::from)?)
            }
            _ => Ok(Selector::everything()),
        }
    }

    /// Creates the informer. It sends no request.
    ///
    /// # Errors
    /// The first invalid option: an empty namespace, an invalid selector, a page size of zero.
    pub fn build(self) -> Result<SharedInformer<K>, BuildError> {
        self.options.validate()?;
        let selector = self.selector()?;
        let sources = sources(&self.sources, &self.options, self.protobuf)?;
        let options = self.options;
        let first = sources.first().ok_or(BuildError::NoSource)?;
        let resource = first.resource().to_owned();
        let scopes: Vec<Scope> = sources
            .iter()
            .map(|source| Scope::of(source.namespace()))
            .collect();
        check_scopes(&scopes)?;

        let queue = options.queue.offload(options.offload);
        let packing = match self.packing {
            Some(make) => make(options.offload),
            None => Packing::by_default(options.offload),
        };
        let (mut senders, receiver) =
            DeltaFifo::storing(scopes.iter().cloned(), queue, self.transform, packing);
        let (writer, indexer) = store::new();
        for add in self.indexes {
            add(&indexer)?;
        }
        let board = Arc::new(StatusBoard::new(resource, &scopes, options.on_watch_error));
        let processor = Arc::new(Processor::new(options.resync));
        let synced = Latch::new();
        let commits = Arc::new(Notify::new());
        let resync_queue = senders.first().cloned().ok_or(BuildError::NoSource)?;
        let mut auditors = Vec::new();
        let reflectors = sources
            .into_iter()
            .zip(senders.drain(..))
            .map(|(source, mut queue)| {
                let reporter = board.reporter(queue.scope());
                queue.report_to(reporter.clone());
                queue.replaces(indexer.clone());
                let relist = match &options.audit {
                    Some(audit) => {
                        let relist = RelistRequest::enabled();
                        let auditor = auditor(audit, &source, &indexer, &reporter, &relist);
                        auditors.push(auditor.offload(options.offload).seed(options.reflector.seed));
                        relist
                    }
                    None => RelistRequest::Disabled,
                };
                Reflector::new(source, queue, options.reflector.clone(), reporter, relist)
            })
            .collect();
        let wiring = Wiring {
            processor: processor.clone(),
            board: board.clone(),
            synced: synced.clone(),
            commits: commits.clone(),
            offload: options.offload,
        };
        let committer = Committer::new(receiver, writer, &scopes, wiring);
        let components = Components {
            reflectors,
            auditors,
            committer,
            resync_queue,
            handlers: Vec::new(),
            runtime: options.runtime,
        };
        Ok(SharedInformer {
            shared: Arc::new(Shared {
                indexer,
                processor,
                board,
                synced,
                stopped: Latch::new(),
                commits,
                selector,
                handler_defaults: options.handler_defaults,
                run_state: Mutex::new(RunState::Created(Box::new(components))),
                token: options.token.child_token(),
                tasks: TaskTracker::new(),
            }),
        })
    }
}

fn sources<K: Object>(
    sources: &Sources<K>,
    options: &InformerOptions,
    protobuf: Option<DecodeProtobuf<K>>,
) -> Result<Vec<Arc<dyn ListWatch<K>>>, BuildError> {
    let make = match sources {
        Sources::Custom(sources) => return Ok(sources.clone()),
        Sources::FromClient(make) => make,
    };
    let scopes = options.namespaces.scopes()?;
    let mut sources = Vec::with_capacity(scopes.len());
    for scope in scopes {
        let namespaced = scope != Scope::All;
        let source = make(scope, options.source.clone(), protobuf)?;
        if namespaced && is_cluster_scoped::<K>() {
            return Err(BuildError::ClusterScoped(source.resource().to_owned()));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// Creates the auditor of one scope, which can request a relist from its reflector.
fn auditor<K: Object>(
    options: &AuditOptions,
    source: &Arc<dyn ListWatch<K>>,
    indexer: &Indexer<K>,
    reporter: &Reporter,
    relist: &RelistRequest,
) -> Auditor {
    let (indexer, scope) = (indexer.clone(), reporter.scope().clone());
    let relist = relist.clone();
    Auditor::new(
        options.clone(),
        Box::new(IdentitiesOf(source.clone())),
        Box::new(TypedScopeStore { indexer, scope }),
        reporter.clone(),
        Box::new(move || relist.send()),
    )
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::source::DecodeOn;
    use crate::sync::Offload;

    /// An informer on one thread must not decode on another.
    #[test]
    fn inline_work_includes_decoding() {
        let builder = || SharedInformerBuilder::<ConfigMap>::over_sources(Vec::new());
        let decode_on = |offload| builder().offload(offload).options.source.decode_on;
        assert_eq!(decode_on(Offload::Inline), DecodeOn::Worker);
        assert_eq!(decode_on(Offload::BlockingPool), DecodeOn::default());
    }
}
