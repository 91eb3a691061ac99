//! Tests against a real kube-apiserver and etcd. `cargo xtask e2e` runs them, once with watch lists and once
//! without.
//!
//! Most share one cluster and have a namespace each; those that disturb the server have their own cluster.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

/// The embedded server's answers beside a real server's.
mod answers;
/// A request budget, while the server is away.
mod budget;
/// The cluster itself: it starts, obeys its options, and leaves nothing behind.
mod cluster;
/// Custom resources, whose definition comes, changes and goes while their informer runs.
mod custom;
/// Objects that are nested deeper than a decoder may follow.
mod deep;
/// client-go's informer beside ours.
mod differential;
/// What the states of informers say when the server refuses or cannot be trusted.
mod errors;
/// The server restarted, paused and forgetful, and connections cut.
mod faults;
/// HTTP/2: many informers on few connections.
mod http2;
/// Leaders that are stopped, killed and cut off.
mod leader;
/// What goes over the wire: watch lists, lists, pages, compression.
mod modes;
/// Probes, warm start, metrics and limits.
mod operating;
/// The example operator: several processes, one leader.
mod operator;
/// Informers that read less than whole objects of one type.
mod partial;
/// An etcd that is restored to an older state.
mod restore;
/// Permissions and tokens that are granted and revoked.
mod rights;
/// Namespaces that come and go while an informer runs.
mod scopes;
/// The selection of objects: by labels, fields and namespace.
mod selection;
/// One lease for our candidates and those of client-go.
mod shared_lease;
/// Writes and faults for a long time, with samples of memory, tasks, threads and sockets.
mod soak;
/// Random writes and random faults, from seeds.
mod storms;
/// What the tests share.
mod support;
/// Sees the requests of a client.
mod tap;
/// `informer-top` on a real server.
mod top;
/// A line to the server that can be cut.
mod wire;
