//! The code generator: turns an inventory of kinds into source text.
//!
//! The [`inventory`] is the table of Kubernetes' built-in kinds; [`emit`] (feature `emit`) writes the typed
//! layer from it. [`mod@derive`] (feature `derive`) has the bodies of the derive macros of the crate
//! informer-derive, and [`crd`] (feature `crd`) turns CustomResourceDefinitions into types, informers and
//! listers. This crate depends on neither kube nor k8s-openapi: it reads the *sources* of k8s-openapi
//! (feature `scan`), so a build script or proc macro can use it without choosing a Kubernetes version for the
//! user.

#[cfg(feature = "crd")]
pub mod crd;
#[cfg(feature = "derive")]
pub mod derive;
#[cfg(feature = "emit")]
pub mod emit;
pub mod inventory;
#[allow(dead_code, reason = "the features decide which functions are used")]
mod names;
