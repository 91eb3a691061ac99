//! An in-memory Kubernetes API server for tests.

mod api;
mod builder;
mod clock;
mod discovery;
mod encode;
mod error;
mod http;
mod list;
mod log;
mod managed;
mod object;
mod registry;
mod request;
mod respond;
mod rng;
mod selectors;
mod server;
mod service;
mod shared;
mod state;
mod storage;
mod version;
mod watch;

pub use builder::Builder;
pub use clock::Clock;
pub use error::ApiError;
pub use list::WatchCache;
pub use log::{LOG_CAPACITY, Outcome, Request, Requests};
pub use request::{Verb, WatchList};
pub use server::ApiServer;
pub use service::ApiService;
pub use version::VersionFormat;
pub use watch::{EventType, ExpiredWatch};
