//! The generator: an inventory of kinds in, source text out.
//!
//! The [`inventory`] is the table of Kubernetes' built-in kinds; [`emit`] (feature `emit`) writes the typed layer from it. This
//! crate depends on neither kube nor k8s-openapi: it reads the *sources* of k8s-openapi (feature `scan`), so a build script
//! or proc macro may use it without choosing a Kubernetes version for the user.

#[cfg(feature = "emit")]
pub mod emit;
pub mod inventory;
