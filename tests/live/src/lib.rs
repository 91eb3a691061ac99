//! A real kube-apiserver with its etcd, for tests that must not depend on our model of Kubernetes.
//!
//! [`Cluster`] starts the two programs on free ports of this machine and always stops them again;
//! [`Binaries`] finds the programs. Only `cargo xtask e2e` and `cargo xtask apiserver` need
//! this crate, and only on Unix.

mod binaries;
mod cluster;
mod differential;
mod go_build;
mod oracle;
mod proxy;

pub use binaries::{Binaries, BinariesError, BuildProgress, EtcdVersion, KUBERNETES_VERSION, build, target};
pub use cluster::{ADMIN, Backup, Cluster, ClusterError, ClusterOptions, Replica, ServiceAccount, WatchList};
pub use differential::{Account, Delivery, Deviation, Differences, Gaps, Reason, Side, compare, judge};
pub use oracle::{Delivered, EventVerb, History, Oracle, Presence, Revision};
pub use proxy::{Asked, FaultKind, FaultProfile, FaultProxy, Injected, TcpRelay, Upstream};
