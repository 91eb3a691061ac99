//! The debug page: what the informers and controllers of a program are doing, in a browser and as JSON.
//!
//! Needs the feature `debug-server`. A program without an HTTP server serves the page on a port of the
//! loopback interface:
//!
//! ```no_run
//! # use informers::{SharedInformerFactory, debug};
//! # async fn example(factory: SharedInformerFactory) -> Result<(), debug::ServeError> {
//! let server = informers::debug::serve(&factory, 6060).await?;
//! println!("debug page: {}", server.url()); // http://127.0.0.1:6060/
//! # Ok(())
//! # }
//! ```
//!
//! A program with an HTTP server mounts the [`Router`], a `tower::Service`, at any path. With axum 0.8:
//!
//! ```no_run
//! # async fn example(factory: informers::SharedInformerFactory) -> std::io::Result<()> {
//! use axum::routing::get;
//!
//! let app = axum::Router::new()
//!     .route("/", get(async || "the program's own page"))
//!     .nest_service("/debug", informers::debug::router(&factory));
//! axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await
//! # }
//! ```
//!
//! # What it shows
//!
//! Each informer with its state, objects, event rate, backlog and age of its data, with charts of the last
//! five minutes. One click further: its scopes, handlers and indexes, and the keys of its objects, 100 at a
//! time. Controllers of a manager, and those that were [tracked](crate::SharedInformerFactory::track), with
//! their queues and with running and failing keys. The page refreshes itself every two seconds, with or
//! without JavaScript, and loads nothing from elsewhere.
//!
//! It never shows the contents of objects. Messages that come from code of the program, such as those of
//! panics and failed reconciles, may quote an object; they are hidden unless
//! [`show_messages`](Router::show_messages) is called. Keys are shown, also those of Secrets.
//!
//! # As JSON
//!
//! `informers.json` has what the page shows, `keys.json?informer=pods` the keys of an informer. Their shape
//! is described in `docs/operating/debug-page.md`.
//!
//! # Security
//!
//! The page has no log-in. [`serve`] listens on the loopback interface unless it is given another address,
//! and there it refuses requests whose `Host` is not that of a loopback address, so that no web site can read
//! the page through a name that it points at 127.0.0.1. To reach it in a cluster, use `kubectl port-forward`.
//! A [`Router`] in a server of the program is as public as that server. All answers forbid framing, foreign
//! scripts and caching; only GET and HEAD are answered.

mod history;
mod html;
mod page;
mod request;
mod router;
mod server;
mod view;

pub use router::Router;
pub use server::{Address, ServeError, Server};

use crate::SharedInformerFactory;

/// Returns the debug page of a factory as a `tower::Service`, to mount in an HTTP server.
///
/// It does not keep the factory alive: once the factory was dropped, the page says so. While a [`Router`] and
/// the factory exist, a task takes a sample of each informer every two seconds, and keeps the last 150. It
/// starts here, or with the first request if this is called outside a tokio runtime.
///
/// See the [module](self) for an example.
pub fn router(factory: &SharedInformerFactory) -> Router {
    Router::new(factory)
}

/// Serves the debug page of a factory on a port of the loopback interface, or on another address.
///
/// It runs until the factory is shut down or dropped, its token is cancelled, or [`Server::stop`] is called;
/// dropping the [`Server`] changes nothing. It serves at most 32 connections at a time, each for one request
/// of at most 16 KB and for at most 10 s.
///
/// Port 0 chooses a free port. To show controllers, use [`Router::serve`].
///
/// # Errors
/// [`ServeError`] if the address is in use or cannot be used.
pub async fn serve(
    factory: &SharedInformerFactory,
    address: impl Into<Address>,
) -> Result<Server, ServeError> {
    router(factory).serve(address).await
}
