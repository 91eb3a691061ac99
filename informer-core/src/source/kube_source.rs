//! Lists and watches one kind with a `kube::Client`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use http::HeaderMap;
use serde::de::DeserializeOwned;

use super::advice::Adviser;
use super::answer::{self, Answer, BodyReader};
use super::format::{Format, Formats};
use super::json::{Json, JsonDecoder};
use super::protobuf::{DecodeProtobuf, Protobuf, ProtobufDecoder};
use super::request::{Endpoint, Representation};
use super::{
    Decode, DecodeOn, Encoding, IdentityStream, Known, ListOptions, ListOptionsError, ListRequest,
    ListStream, ListWatch, ManagedFields, SourceError, WatchRequest, WatchStream, list_body, watch_body,
};
use crate::fast_paths;
use crate::object::{Content, Object};
use crate::scope::Scope;

/// A [`ListWatch`] for any kind, over any `kube::Client`.
///
/// Bodies are streamed in chunks of at most 256 KiB. A list or a watch holds one incomplete object, limited
/// by [`KubeSourceOptions::max_object_bytes`], and one batch of complete objects: at most 256 KiB, plus the
/// last object. After each MiB the reader yields to other tasks, even if more of the body is available.
/// Dropping a returned future or stream cancels its request.
///
/// An object that cannot be decoded, or has no name, is reported with its readable metadata and does not
/// affect others. A watch frame that is not JSON is a fault of the connection: it ends the watch with
/// [`SourceError::Protocol`], and the next watch delivers the event again. An incomplete list ends with an
/// error.
///
/// A response that causes work without delivering objects also ends with [`SourceError::Protocol`]. The
/// limits are 64 KiB of whitespace in a row, 64 KiB of compressed bytes in a row that decompress to nothing,
/// 1 MiB of a list besides its items and metadata, 10,000 events of unknown types in a row, 64 KiB for an
/// ERROR event, and 16 KiB for a continue token.
///
/// With a [protobuf decoder](Self::protobuf) the source requests protobuf, and JSON as the second choice.
/// The server chooses per response, and a response in JSON is read as such. After a response 406 or 415 the
/// source requests only JSON.
///
/// A client of [`crate::client`] requests compressed responses. Any other client requests uncompressed ones,
/// because kube's decompression stops after the first gzip member of a compressed watch.
pub struct KubeSource<K> {
    client: kube::Client,
    endpoint: Endpoint,
    resource: String,
    scope: Scope,
    adviser: Adviser,
    answer_deadline: Duration,
    formats: Formats<K>,
    /// Set when the server refused the preferred formats. From then on only the last one is requested.
    refused: AtomicBool,
    encoding: Encoding,
    managed_fields: ManagedFields,
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

/// Options of a [`KubeSource`].
#[derive(Clone, Debug)]
pub struct KubeSourceOptions {
    /// Selectors and further query parameters of every list and watch.
    pub list_options: ListOptions,
    /// Whether objects keep their `metadata.managedFields`. Ignored with a
    /// [custom decoder](KubeSource::decoder).
    pub managed_fields: ManagedFields,
    /// The largest object that is accepted, in bytes of its encoding. A larger one is reported as one that
    /// cannot be decoded. One of more than 32 MiB beyond the limit ends its list or watch with
    /// [`SourceError::TooLarge`]. Default: 16 MiB.
    pub max_object_bytes: usize,
    /// The largest body of one list, or of one page of it, in bytes after decompression. A larger one fails
    /// with [`SourceError::ListTooLarge`]. Default: 16 GiB, which no cluster should reach.
    pub max_list_bytes: u64,
    /// The time limit for the beginning of a response, and for a whole error response. After a timeout the
    /// next attempt waits twice as long, up to 10 minutes, until one succeeds. Default: 30 s.
    pub answer_deadline: Duration,
    /// The time limit within which a list must deliver a complete object or a kilobyte. Default: 60 s. A
    /// watch has no such limit: it is silent while nothing changes.
    pub list_idle_limit: Duration,
    /// Where objects are decoded.
    pub decode_on: DecodeOn,
    /// The encoding that is requested from the server. Default: protobuf, for kinds that have a
    /// [decoder](KubeSource::protobuf) of it.
    pub encoding: Encoding,
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
            encoding: match fast_paths::are_on() {
                true => Encoding::default(),
                false => Encoding::Json,
            },
        }
    }
}

/// Why a [`KubeSource`] cannot be created.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KubeSourceError {
    /// The selectors or query parameters are invalid.
    #[error(transparent)]
    ListOptions(#[from] ListOptionsError),
    /// The name of the namespace is invalid.
    #[error("invalid namespace {namespace:?}: use at most 63 lower-case letters, digits and `-`")]
    Namespace {
        /// The invalid name.
        namespace: String,
    },
}

crate::__debug_is_the_message!(KubeSourceError);

impl<K: Object + DeserializeOwned> KubeSource<K> {
    /// Creates a source for a kind that is known at compile time: a type of k8s-openapi, a derived custom
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

    /// Creates a source for a kind that is known at run time, such as `DynamicObject` with its `ApiResource`.
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
            adviser: Adviser::new(
                group.into_owned(),
                K::version(dynamic_type).into_owned(),
                plural.into_owned(),
                scope.clone(),
            ),
            scope,
            answer_deadline: options.answer_deadline,
            formats,
            refused: AtomicBool::new(false),
            encoding: options.encoding,
            managed_fields: options.managed_fields,
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

    /// Requests protobuf before JSON, and decodes it with this function, unless
    /// [`KubeSourceOptions::encoding`] is [`Encoding::Json`].
    ///
    /// The crate `informer-protobuf` has a function for every built-in kind.
    #[must_use]
    pub fn protobuf(mut self, dynamic_type: &K::DynamicType, decode: DecodeProtobuf<K>) -> Self {
        if self.encoding == Encoding::Protobuf {
            let decoder = ProtobufDecoder::of(dynamic_type, decode, self.managed_fields);
            self.formats.prefer(Arc::new(Protobuf::new(decoder)));
            self.endpoint.media_types = self.formats.media_types();
        }
        self
    }

    /// Sends a request with this verb. An error says what to do, where that is known.
    async fn request(
        &self,
        verb: &str,
        make: impl Fn(&Endpoint) -> Result<http::Request<kube::client::Body>, SourceError>,
        granted: Option<Duration>,
    ) -> Result<(BodyReader, Arc<dyn Format<K>>), SourceError> {
        match self.negotiate(make, granted).await {
            Err(error) => Err(self.adviser.explain(&self.client, verb, error).await),
            answer => answer,
        }
    }

    /// Sends the request that `make` builds for the accepted formats. If the server refuses them, sends it
    /// again for the last one.
    async fn negotiate(
        &self,
        make: impl Fn(&Endpoint) -> Result<http::Request<kube::client::Body>, SourceError>,
        granted: Option<Duration>,
    ) -> Result<(BodyReader, Arc<dyn Format<K>>), SourceError> {
        let is_refused = self.refused.load(Ordering::Relaxed);
        if !is_refused {
            match self.send(make(&self.endpoint)?, granted).await {
                Err(error) if is_format_refused(&error) && self.endpoint.media_types.len() > 1 => {}
                answer => return answer,
            }
            tracing::info!(
                resource = self.resource,
                "the server refused protobuf; using JSON"
            );
            self.refused.store(true, Ordering::Relaxed);
        }
        let mut endpoint = self.endpoint.clone();
        endpoint.media_types = self.formats.last_media_type();
        self.send(make(&endpoint)?, granted).await
    }

    /// Sends a request. The deadline is the configured one, or a longer one that the reflector grants.
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
        self.list_except(request, Known::nothing())
    }

    fn list_except(
        &self,
        request: ListRequest,
        known: Known,
    ) -> BoxFuture<'_, Result<ListStream<K>, SourceError>> {
        Box::pin(async move {
            let make = |endpoint: &Endpoint| endpoint.list(&request);
            let (body, format) = self.request("list", make, request.answer_within).await?;
            Ok(list_body::objects(body, format, known, self.bodies))
        })
    }

    fn list_identities(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>> {
        Box::pin(async move {
            let make = |endpoint: &Endpoint| endpoint.list_as(Representation::MetadataOnly, &request);
            let (body, format) = self.request("list", make, request.answer_within).await?;
            Ok(list_body::identities(body, format, self.bodies))
        })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        self.watch_except(request, Known::nothing())
    }

    fn watch_except(
        &self,
        request: WatchRequest,
        known: Known,
    ) -> BoxFuture<'_, Result<WatchStream<K>, SourceError>> {
        Box::pin(async move {
            let make = |endpoint: &Endpoint| endpoint.watch(&request);
            let (body, format) = self.request("watch", make, request.answer_within).await?;
            Ok(watch_body::stream(body, format, known, self.bodies))
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

/// Whether the server refused the requested formats.
fn is_format_refused(error: &SourceError) -> bool {
    error
        .status()
        .is_some_and(|status| matches!(status.code, 406 | 415))
}

/// The name of a resource in states, errors and logs. The name of a projection includes its type, to
/// distinguish it from the kind itself.
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

/// Checks the name of a namespace.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), KubeSourceError> {
    match is_dns_label(namespace) {
        true => Ok(()),
        false => Err(KubeSourceError::Namespace {
            namespace: namespace.to_owned(),
        }),
    }
}

/// Whether a text is a label by RFC 1123, as the name of a namespace must be. The text becomes part of a URL
/// path, so this check also prevents path injection.
fn is_dns_label(text: &str) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    (1..=63).contains(&text.len())
        && text.as_bytes().iter().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
