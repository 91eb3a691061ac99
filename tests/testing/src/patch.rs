//! The four ways to patch an object, and the record of who owns which field.
//!
//! All are pure functions on JSON values: they know nothing of storage, versions or requests. What they answer was
//! compared with kube-apiserver 1.37; the cases in the tests carry its answers.
//!
//! | content type | function |
//! |---|---|
//! | `application/json-patch+json` | [`json_patch`] |
//! | `application/merge-patch+json` | [`merge_patch`] |
//! | `application/strategic-merge-patch+json` | [`strategic_merge`] |
//! | `application/apply-patch+yaml` | [`apply`] |
//!
//! Every other write (create, update, and the first three patches) goes through [`record_update`] afterwards, so that
//! `metadata.managedFields` is there for a later apply.

mod apply;
mod error;
mod field_set;
mod json;
mod managed_fields;
#[cfg(test)]
mod story;
mod strategic;
mod typed;

pub(crate) use apply::{Apply, OnConflict, apply};
pub(crate) use error::{ConflictCause, PatchError};
pub(crate) use json::{json_patch, merge_patch};
pub(crate) use managed_fields::{Part, Write, manager_of, record_update};
pub(crate) use strategic::strategic_merge;

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
