//! The builder of one informer.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::lifecycle::{Components, RunState};
use super::options::{AWAITED, InformerOptions, Namespaces, check_scopes};
use super::saver::Saver;
use super::scopes::{Parts, Scopes};
use super::sources::{MakeSource, SourceMaker};
use super::warm_files::WarmFiles;
use super::{BuildError, Shared, SharedInformer};
use crate::committer::{Committer, Wiring};
use crate::delta::{DeltaFifo, Transform};
use crate::object::{AnyObject, Object};
use crate::processor::Processor;
use crate::scope::Scope;
use crate::selector::Selector;
use crate::source::protobuf::DecodeProtobuf;
use crate::source::{KubeSource, ListWatch};
use crate::status::StatusBoard;
use crate::storage::{Packing, Storage};
use crate::store::{self, ByteShare, IndexDefinition, IndexError, IndexValue, Indexer};
use crate::sync::{Latch, Mutex, Offload};
use crate::warm::{Codec, WarmStart};

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
    warm: Option<(WarmStart, Codec<K>)>,
}

/// Adds one index to an empty store.
type AddIndex<K> = Box<dyn FnOnce(&Indexer<K>) -> Result<(), IndexError> + Send>;

/// Captures what a storage needs to know of the kind.
type MakePacking<K> = Box<dyn FnOnce(Offload) -> Packing<K> + Send>;

/// The sources of the objects.
pub(super) enum Sources<K> {
    /// A client.
    FromClient {
        client: kube::Client,
        api_version: String,
        /// Captures the kind, which may be known only at run time.
        make: Arc<MakeSource<K>>,
    },
    /// Custom sources.
    Custom(Vec<Arc<dyn ListWatch<K>>>),
}

impl<K: Object> SharedInformerBuilder<K> {
    pub(super) fn over_client(client: kube::Client, dynamic_type: K::DynamicType) -> Self
    where
        K: DeserializeOwned,
    {
        Self::new(Sources::FromClient {
            client: client.clone(),
            api_version: K::api_version(&dynamic_type).into_owned(),
            make: Arc::new(move |scope, options, protobuf| {
                let source = KubeSource::<K>::of_type(client.clone(), &dynamic_type, scope, options)?;
                Ok(Arc::new(match protobuf {
                    Some(decode) => source.protobuf(&dynamic_type, decode),
                    None => source,
                }))
            }),
        })
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
            warm: None,
        }
    }

    crate::__shared_options!(K);

    /// The namespaces that were chosen. For the crate `informers` only.
    #[doc(hidden)]
    pub fn __namespaces(&self) -> &Namespaces {
        &self.options.namespaces
    }

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

    /// Saves the cache in a file, and starts the next run of the program from it: see [`WarmStart`]. Default:
    /// off.
    ///
    /// Objects are serialized and deserialized by the code of their type.
    pub fn warm_start(mut self, options: WarmStart) -> Self
    where
        K: Serialize + DeserializeOwned,
    {
        self.warm = Some((options, Codec::json()));
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

    /// Creates the informer. It sends no request.
    ///
    /// # Errors
    /// The first invalid option: an empty namespace, an invalid selector, a page size of zero.
    pub fn build(self) -> Result<SharedInformer<K>, BuildError> {
        self.options.validate()?;
        let warm = self
            .warm
            .clone()
            .map(|warm| WarmFiles::new(warm, &self.sources, &self.options));
        let options = self.options;
        let (sources, maker) = match self.sources {
            Sources::Custom(sources) => (sources, None),
            Sources::FromClient { make, .. } => {
                let maker = SourceMaker {
                    make,
                    options: options.source,
                    protobuf: self.protobuf,
                };
                let scopes = options.namespaces.scopes()?;
                let sources = scopes
                    .iter()
                    .map(|scope| maker.make(scope))
                    .collect::<Result<Vec<_>, BuildError>>()?;
                (sources, Some(maker))
            }
        };
        // The selector of a custom source is unknown.
        let selector = match &maker {
            Some(maker) => maker.selector()?,
            None => Selector::everything(),
        };
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
        let share = options.total_bytes.map(ByteShare::new);
        if let Some(share) = &share {
            writer.count_in(share.clone());
        }
        for add in self.indexes {
            add(&indexer)?;
        }
        let resource_name = resource.clone();
        let board = Arc::new(StatusBoard::new(resource, &scopes, options.on_watch_error));
        let processor = Arc::new(Processor::new(&resource_name, options.resync));
        let synced = Latch::new();
        let commits = Arc::new(Notify::new());
        let root = senders.first().cloned().ok_or(BuildError::NoSource)?;
        let token = options.token.child_token();
        let warm = warm
            .map(|warm| warm.of_resource(&resource_name))
            .filter(WarmFiles::is_allowed)
            .map(Arc::new);
        let saver = warm.clone().map(|files| Saver {
            files,
            indexer: indexer.clone(),
            board: board.clone(),
            synced: synced.clone(),
        });
        let parts = Parts {
            indexer: indexer.clone(),
            board: board.clone(),
            synced: synced.clone(),
            reflector: options.reflector,
            budget: options.budget,
            share,
            audit: options.audit,
            offload: options.offload,
            warm,
            token: token.clone(),
        };
        let sources = sources.into_iter().zip(senders.drain(..)).collect();
        let running = Arc::new(Scopes::new(parts, root, sources, maker, selector));
        if options.namespaces == Namespaces::None {
            // Custom sources decide what they cover, and refuse.
            let _ = running.remove(AWAITED);
        }
        let wiring = Wiring {
            processor: processor.clone(),
            board: board.clone(),
            synced: synced.clone(),
            commits: commits.clone(),
            offload: options.offload,
        };
        let gauge = receiver.gauge();
        let committer = Committer::new(receiver, writer, &scopes, wiring);
        let components = Components {
            saver,
            committer,
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
                queue: gauge,
                scopes: running,
                handler_defaults: options.handler_defaults,
                run_state: Mutex::new(RunState::Created(Box::new(components))),
                token,
                tasks: TaskTracker::new(),
            }),
        })
    }
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
