//! Makes the sources of an informer's scopes from a client.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::BuildError;
use super::options::AWAITED;
use crate::object::{Object, is_cluster_scoped};
use crate::scope::Scope;
use crate::selector::Selector;
use crate::source::protobuf::DecodeProtobuf;
use crate::source::{
    KubeSourceError, KubeSourceOptions, ListOptions, ListOptionsError, ListRequest, ListStream, ListWatch,
    SourceError, WatchRequest, WatchStream,
};

/// Captures the client and the kind, which may be known only at run time.
pub(super) type MakeSource<K> =
    dyn Fn(Scope, KubeSourceOptions, Option<DecodeProtobuf<K>>) -> Made<K> + Send + Sync;

type Made<K> = Result<Arc<dyn ListWatch<K>>, KubeSourceError>;

/// Makes sources, also while the informer runs.
pub(super) struct SourceMaker<K> {
    pub(super) make: Arc<MakeSource<K>>,
    pub(super) options: KubeSourceOptions,
    pub(super) protobuf: Option<DecodeProtobuf<K>>,
}

impl<K: Object> SourceMaker<K> {
    /// Makes the source of a scope.
    pub(super) fn make(&self, scope: &Scope) -> Result<Arc<dyn ListWatch<K>>, BuildError> {
        if scope.is_awaited() {
            let resource = (self.make)(Scope::All, self.options.clone(), None)?
                .resource()
                .to_owned();
            return Ok(Arc::new(Awaited(resource)));
        }
        let source = (self.make)(scope.clone(), self.options.clone(), self.protobuf)?;
        if *scope != Scope::All && is_cluster_scoped::<K>() {
            return Err(BuildError::ClusterScoped(source.resource().to_owned()));
        }
        Ok(source)
    }

    pub(super) fn list_options(&self) -> &ListOptions {
        &self.options.list_options
    }

    /// The same with other parameters of every request.
    pub(super) fn with_list_options(&self, list_options: ListOptions) -> Result<Self, BuildError> {
        list_options.validate().map_err(KubeSourceError::from)?;
        let mut options = self.options.clone();
        options.list_options = list_options;
        Ok(Self {
            make: self.make.clone(),
            options,
            protobuf: self.protobuf,
        })
    }

    /// The label selector of every request.
    pub(super) fn selector(&self) -> Result<Selector, BuildError> {
        match &self.options.list_options.labels {
            Some(labels) => {
                let parsed = labels.parse().map_err(ListOptionsError::from);
                Ok(parsed.map_err(KubeSourceError::from)?)
            }
            None => Ok(Selector::everything()),
        }
    }
}

/// Stands for namespaces that are not known yet: no request is sent, and no state is ever read.
struct Awaited(String);

impl<K: Object> ListWatch<K> for Awaited {
    fn list(&self, _: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, SourceError>> {
        Box::pin(std::future::pending())
    }

    fn watch(&self, _: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        Box::pin(std::future::pending())
    }

    fn resource(&self) -> &str {
        &self.0
    }

    fn namespace(&self) -> Option<&str> {
        Some(AWAITED)
    }
}
