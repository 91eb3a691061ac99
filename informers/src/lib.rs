//! Shared informers for Kubernetes.
