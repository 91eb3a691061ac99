//! A real kube-apiserver with its etcd, for tests that must not take our word for what Kubernetes does.
//!
//! [`Cluster`] starts the two programs on free ports of this machine and stops them again, whatever becomes of the test;
//! [`Binaries`] finds the programs. Only `cargo xtask e2e` and `cargo xtask apiserver` need
//! this crate, and only on Unix.

mod binaries;
mod cluster;
mod differential;
mod oracle;
mod proxy;

pub use binaries::{Binaries, BinariesError, BuildProgress, EtcdVersion, KUBERNETES_VERSION, build, target};
pub use cluster::{ADMIN, Backup, Cluster, ClusterError, ClusterOptions, Replica, ServiceAccount, WatchList};
pub use differential::{Account, Deviation, Differences, Gaps, Reason, Side, Telling, compare, judge};
pub use oracle::{History, Oracle, Presence, Revision, TellingVerb, Told};
pub use proxy::{Asked, FaultKind, FaultProfile, FaultProxy, Injected, TcpRelay, Upstream};
