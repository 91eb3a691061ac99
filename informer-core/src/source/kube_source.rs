//! Lists and watches one kind through a `kube::Client`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::HeaderMap;
use serde::de::DeserializeOwned;

use super::answer::{self, Answer, BodyReader};
use super::format::{Format, Formats};
use super::json::{Json, JsonDecoder};
use super::request::{Endpoint, Representation};
use super::{
    Decode, DecodeOn, IdentityStream, ListOptions, ListOptionsError, ListRequest, ListStream, ListWatch,
    ManagedFields, SourceError, WatchRequest, WatchStream, list_body, watch_body,
};
use crate::object::{Content, Object};
use crate::scope::Scope;

/// A [`ListWatch`] for any kind, over any `kube::Client`.
///
/// Bodies are read as they stream, in pieces of at most 256 KiB. A list or a watch holds one unfinished
/// object, limited by [`KubeSourceOptions::max_object_bytes`], and one batch of whole objects, at most 256
/// KiB and the last object. After each MiB other tasks run, even if more of the body is available. Dropping a
/// returned future or stream ends its request.
///
/// An object that cannot be decoded, or has no name, is reported as such with what can be read of it, and
/// nothing else is lost. A watch frame that is not even JSON is a fault of the connection: it ends the watch
/// with [`SourceError::Protocol`], and the next watch brings the event again. A list that is not whole ends
/// with an error.
///
/// A response that makes work without carrying objects ends with [`SourceError::Protocol`] as well. The
/// limits: 64 KiB of blanks in a row, 64 KiB of compressed bytes in a row that unpack to nothing, 1 MiB of a
/// list besides its items and metadata, 10,000 events of unknown types in a row, 64 KiB for an ERROR event,
/// 16 KiB for a continue token.
///
/// With a client of [`crate::client`] answers may be compressed; any other client requests them uncompressed,
/// because kube's decompression stops after the first part of a compressed watch.
pub struct KubeSource<K> {
    client: kube::Client,
    endpoint: Endpoint,
    resource: String,
    scope: Scope,
    answer_deadline: Duration,
    formats: Formats<K>,
    bodies: BodySettings,
}

/// How the bodies of lists and watches are read.
#[derive(Clone, Copy)]
pub(super) struct BodySettings {
    pub(super) decode_on: DecodeOn,
    pub(super) max_object_bytes: usize,
    pub(super) max_list_bytes: u64,
    pub(super) list_idle_limit: Duration,
}

/// How a [`KubeSource`] sends requests and reads responses.
#[derive(Clone, Debug)]
pub struct KubeSourceOptions {
    /// Selectors and further parameters of every list and watch.
    pub list_options: ListOptions,
    /// Whether objects keep their `metadata.managedFields`. Ignored with a
    /// [custom decoder](KubeSource::decoder).
    pub managed_fields: ManagedFields,
    /// The largest object, in bytes of its JSON, that is accepted. A larger one ends its list or watch with
    /// [`SourceError::TooLarge`]. Default: 16 MiB.
    pub max_object_bytes: usize,
    /// The largest body of one list, or of one page of it, in bytes after decompression. A larger one fails
    /// with [`SourceError::ListTooLarge`]. Default: 16 GiB, which no cluster should reach.
    pub max_list_bytes: u64,
    /// How long the server may take until it begins to answer, or has sent its error. A later answer is
    /// dropped, and the next attempt waits twice as long, up to 10 minutes, until one succeeds.
    /// Default: 30 s.
    pub answer_deadline: Duration,
    /// How long a list may bring neither a whole object nor a kilobyte before it fails. Default: 60 s.
    /// A watch has no such limit here: it may be quiet for as long as nothing changes.
    pub list_idle_limit: Duration,
    /// Where objects are decoded.
    pub decode_on: DecodeOn,
}

impl Default for KubeSourceOptions {
    fn default() -> Self {
        Self {
            list_options: ListOptions::default(),
            managed_fields: ManagedFields::default(),
            max_object_bytes: 16 * 1024 * 1024,
            max_list_bytes: 16 * 1024 * 1024 * 1024,
            answer_deadline: Duration::from_secs(30),
            list_idle_limit: Duration::from_secs(60),
            decode_on: DecodeOn::default(),
        }
    }
}

/// Why a [`KubeSource`] cannot be made.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeSourceError {
    /// The selectors or parameters are broken.
    #[error(transparent)]
    ListOptions(#[from] ListOptionsError),
    /// The namespace cannot be the name of one.
    #[error(
        "{namespace:?} is not the name of a namespace: lower-case letters, digits and `-`, at most 63 of them"
    )]
    Namespace {
        /// The text that was given.
        namespace: String,
    },
}

crate::__debug_is_the_message!(KubeSourceError);

impl<K: Object + DeserializeOwned> KubeSource<K> {
    /// A source for a kind that is known when the program is compiled: a type of k8s-openapi, a derived custom
    /// resource, or `PartialObjectMeta` of either.
    pub fn new(
        client: kube::Client,
        scope: Scope,
        options: KubeSourceOptions,
    ) -> Result<Self, KubeSourceError>
    where
        K::DynamicType: Default,
    {
        Self::of_type(client, &K::DynamicType::default(), scope, options)
    }

    /// A source for a kind that is described at run time, such as `DynamicObject` with its `ApiResource`.
    pub fn of_type(
        client: kube::Client,
        dynamic_type: &K::DynamicType,
        scope: Scope,
        options: KubeSourceOptions,
    ) -> Result<Self, KubeSourceError> {
        let decoder = JsonDecoder::of::<K>(dynamic_type, options.managed_fields);
        let formats = Formats::only(Arc::new(Json::new(Arc::new(decoder))));
        Self::with_formats(client, dynamic_type, scope, options, formats)
    }
}

impl<K: Object> KubeSource<K> {
    pub(super) fn with_formats(
        client: kube::Client,
        dynamic_type: &K::DynamicType,
        scope: Scope,
        options: KubeSourceOptions,
        formats: Formats<K>,
    ) -> Result<Self, KubeSourceError> {
        options.list_options.validate()?;
        let namespace = match &scope {
            Scope::All => None,
            Scope::Namespace(namespace) => {
                check_namespace(namespace)?;
                Some(namespace.as_ref())
            }
        };
        let endpoint = Endpoint {
            path: K::url_path(dynamic_type, namespace),
            representation: if K::metadata_api() {
                Representation::MetadataOnly
            } else {
                Representation::Full
            },
            options: options.list_options,
            media_types: formats.media_types(),
        };
        let (plural, group) = (K::plural(dynamic_type), K::group(dynamic_type));
        Ok(Self {
            client,
            endpoint,
            resource: name(&plural, &group, Content::of::<K>(), std::any::type_name::<K>()),
            scope,
            answer_deadline: options.answer_deadline,
            formats,
            bodies: BodySettings {
                decode_on: options.decode_on,
                max_object_bytes: options.max_object_bytes,
                max_list_bytes: options.max_list_bytes,
                list_idle_limit: options.list_idle_limit,
            },
        })
    }

    /// Decodes objects with a custom decoder. Default: a [`JsonDecoder`].
    #[must_use]
    pub fn decoder(mut self, decoder: Arc<dyn Decode<K>>) -> Self {
        self.formats = Formats::only(Arc::new(Json::new(decoder)));
        self.endpoint.media_types = self.formats.media_types();
        self
    }

    /// Sends a request. Waits for the configured deadline, or for the longer one that a reflector grants.
    async fn send(
        &self,
        request: http::Request<kube::client::Body>,
        granted: Option<Duration>,
    ) -> Result<(BodyReader, Arc<dyn Format<K>>), SourceError> {
        let deadline = self.answer_deadline.max(granted.unwrap_or_default());
        let parse_status =
            |headers: &HeaderMap, body: &[u8]| self.formats.of_response(headers).parse_status(body);
        let Answer { headers, body } = answer::send(&self.client, request, deadline, &parse_status).await?;
        Ok((body, Arc::clone(self.formats.of_response(&headers))))
    }
}

impl<K> fmt::Debug for KubeSource<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeSource")
            .field("resource", &self.resource)
            .field("scope", &self.scope)
            .field("path", &self.endpoint.path)
            .finish_non_exhaustive()
    }
}

impl<K: Object> ListWatch<K> for KubeSource<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, SourceError>> {
        Box::pin(async move {
            let http_request = self.endpoint.list(&request)?;
            let (body, format) = self.send(http_request, request.answer_within).await?;
            Ok(list_body::objects(body, format, self.bodies))
        })
    }

    fn list_identities(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>> {
        Box::pin(async move {
            let http_request = self.endpoint.list_as(Representation::MetadataOnly, &request)?;
            let (body, format) = self.send(http_request, request.answer_within).await?;
            Ok(list_body::identities(body, format, self.bodies))
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        Box::pin(async move {
            let http_request = self.endpoint.watch(&request)?;
            let (body, format) = self.send(http_request, request.answer_within).await?;
            Ok(watch_body::stream(body, format, self.bodies))
        })
    }

    fn resource(&self) -> &str {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        match &self.scope {
            Scope::Namespace(namespace) => Some(namespace),
            Scope::All => None,
        }
    }
}

/// What a resource is called in states, errors and logs. A projection is told from the kind itself by the type.
fn name(plural: &str, group: &str, content: Content, type_name: &str) -> String {
    let resource = match group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    };
    match content {
        Content::Objects | Content::Metadata => resource,
        Content::Projection => {
            let short = type_name.rsplit("::").next().unwrap_or(type_name);
            format!("{resource} ({short})")
        }
    }
}

/// Refuses what cannot be the name of a namespace.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), KubeSourceError> {
    match is_dns_label(namespace) {
        true => Ok(()),
        false => Err(KubeSourceError::Namespace {
            namespace: namespace.to_owned(),
        }),
    }
}

/// RFC 1123: what Kubernetes lets a namespace be called. The text becomes part of a path, so nothing else may pass.
fn is_dns_label(text: &str) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    (1..=63).contains(&text.len())
        && text.as_bytes().iter().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
