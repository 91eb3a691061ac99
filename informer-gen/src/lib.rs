//! The generator: an inventory of kinds in, source text out.
//!
//! Today this crate holds the first half, the [`inventory`] of Kubernetes' built-in kinds. It depends on neither kube nor
//! k8s-openapi: it reads the *sources* of k8s-openapi (feature `scan`), so a build script or proc macro may use it without
//! choosing a Kubernetes version for the user.

pub mod inventory;
