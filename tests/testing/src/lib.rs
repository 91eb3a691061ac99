//! An in-memory Kubernetes API server for tests.
//!
//! [`ApiServer`] lists, watches, patches and applies every built-in kind and every kind whose
//! CustomResourceDefinition is posted to it. It runs in the process of the test:
//! [`client`](ApiServer::client) is a `kube::Client` that calls it without sockets, so it works under tokio's
//! paused clock and a test that waits half an hour takes a millisecond. With
//! [`serve_http`](ApiServer::serve_http) the same server answers `kubectl` and other programs on the loopback
//! interface.
//!
//! Unlike a mock, it can fail as real servers do. [`Faults`] refuse requests, break streams within an object,
//! compact history, answer from a stale replica, and so on, on chosen requests or at random from a seed.
//!
//! # Testing a controller
//!
//! ```
//! use informer_testing::{ApiServer, Fault, Rule, Verb};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, ListParams, Patch, PatchParams};
//! use serde_json::json;
//!
//! // The code under test: labels every config map that has no owner.
//! async fn adopt(client: kube::Client) -> kube::Result<usize> {
//!     let all: Api<ConfigMap> = Api::default_namespaced(client);
//!     let orphans = all.list(&ListParams::default().labels("!owner")).await?;
//!     for orphan in &orphans {
//!         let name = orphan.metadata.name.as_deref().unwrap_or_default();
//!         let patch = json!({ "metadata": { "labels": { "owner": "me" } } });
//!         all.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
//!     }
//!     Ok(orphans.items.len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start();
//! // Objects can be created directly, without HTTP. Missing namespaces are created.
//! server.create(&json!({
//!     "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default" },
//! }))?;
//!
//! // The first list fails.
//! server.faults().add(Rule::new(Fault::unavailable()).on(Verb::List).once());
//! assert!(adopt(server.client()).await.is_err());
//! assert_eq!(adopt(server.client()).await?, 1);
//!
//! // Check the result and the requests.
//! let labels = server.objects::<ConfigMap>()[0].metadata.labels.clone().unwrap_or_default();
//! assert_eq!(labels["owner"], "me");
//! let requests = server.requests().of("configmaps");
//! assert_eq!((requests.lists().len(), requests.with_verb(Verb::Patch).len()), (2, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! Responses were compared with kube-apiserver 1.37, including codes and messages of errors.
//!
//! - **Objects**: create, get, update, delete, deletecollection; JSON, merge and strategic merge patches and
//!   server-side apply with field owners; `status` and `scale`; `generateName`, `generation`, `uid`, one
//!   `resourceVersion` counter for all kinds; conflicts, UID and version preconditions, finalizers, `dryRun`.
//!   An update without changes creates no version.
//! - **Namespaces**: namespaced objects need an existing one; deleting one deletes its objects first.
//! - **Lists**: label and field selectors, pages pinned to a revision, tokens that expire,
//!   `remainingItemCount`, and `resourceVersion` with its matches. Compressed past 128 KiB for clients that
//!   accept gzip.
//! - **Watches**: from any revision in the history, with selectors (leaving one is DELETED, entering one
//!   ADDED), bookmarks, `sendInitialEvents`, timeouts, and one gzip member per flush as 1.37 sends them. 410
//!   when the revision was compacted.
//! - **Custom resources**: served at once and in every served version; removing the definition deletes its
//!   objects and ends its watches.
//! - **Forms**: JSON, protobuf for built-in kinds (requests, answers, watches and errors),
//!   PartialObjectMetadata, and Tables with name, phase and age.
//! - **Discovery**: `/api`, `/apis`, aggregated discovery, `/version`, `/healthz`, and the parts of
//!   `/openapi` that kubectl needs.
//! - **Reproducible**: UIDs, generated names and random faults come from seeds, timestamps from a
//!   configurable [`Clock`].
//!
//! # Controllers
//!
//! [`ApiServer::until`] waits for what a controller should do, [`Builder::garbage_collection`] deletes what
//! it owned, and [`Builder::crd_file`] serves its custom resources. Under the paused clock leases run as
//! well, see [`Clock::Tokio`]: a test of a leader that is lost takes milliseconds.
//!
//! # Schemas
//!
//! [`structural`] prunes objects as a server does, and makes random objects of a schema: for tests of types.
//!
//! # What it does not do
//!
//! - No controllers: nothing schedules pods, fills endpoints or creates service accounts. Deletion does not
//!   wait for grace periods. Dependents are deleted only with [`Builder::garbage_collection`].
//! - No admission, no quotas, no authentication; no authorisation except [`Fault::Forbidden`].
//! - No validation or defaulting of the content of objects, except name, namespace and type, the phase of new
//!   pods, one replica for workloads, and the fields that namespaces and definitions need. Custom resources
//!   are neither validated, pruned nor defaulted.
//! - A version in the future is refused immediately; the real server waits three seconds for it.
//! - No conversion: all versions of a kind have the same fields. `events` and `events.events.k8s.io` are two
//!   resources here.
//! - No CBOR or YAML. Discovery is JSON. Protobuf has only the fields that the JSON has: fields that Go
//!   always writes are not added.
//! - No websockets; no `exec`, `log`, `proxy`, `binding`, `eviction` or `token`; no access reviews; no TLS,
//!   no HTTP/2.
//! - No storage: all state is lost when the server is dropped.
//!
//! # Bounds
//!
//! | what | bound |
//! |---|---|
//! | history | the last 100,000 changes ([`Builder::history`]) |
//! | lag of a watch | 10,000 changes, then it is closed ([`Builder::watch_buffer`]); a watch itself buffers at most 512 events, not counting the initial state |
//! | request log | the last 65,536 requests ([`LOG_CAPACITY`]) |
//! | request body | 3 MiB, as upstream |
//! | chunks of answers | 64 KiB |
//!
//! The numbers of objects, watches, connections and fault rules are not limited.

mod api;
mod builder;
mod clock;
mod crd_yaml;
#[cfg(feature = "demo")]
pub mod demo;
mod discovery;
mod encode;
mod error;
mod faults;
mod http;
mod label_selector;
mod list;
mod log;
mod managed;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod pulse;
mod registry;
mod request;
mod respond;
mod rng;
mod schema;
mod selectors;
mod server;
mod service;
mod shared;
mod state;
mod storage;
pub mod structural;
mod table;
mod until;
mod version;
mod watch;

pub use builder::{Builder, FORMAT};
pub use clock::Clock;
pub use crd_yaml::CrdYamlError;
pub use encode::MediaTypes;
pub use error::ApiError;
pub use faults::{Cut, Fault, FaultId, Faults, Garble, Profile, Rule};
pub use list::WatchCache;
pub use log::{LOG_CAPACITY, Outcome, Request, Requests};
pub use request::{Verb, WatchList};
pub use server::ApiServer;
pub use service::ApiService;
pub use until::UntilError;
pub use version::VersionFormat;
pub use watch::{EventType, ExpiredWatch};
