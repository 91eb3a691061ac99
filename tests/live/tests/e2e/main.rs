//! Tests against a real kube-apiserver and etcd. `cargo xtask e2e` runs them, once with watch lists and once without.

/// The cluster itself: that it starts, does what it is told, and leaves nothing.
mod cluster;
