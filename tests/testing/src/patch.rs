//! The four patch types, and the record of field owners.
//!
//! All are pure functions on JSON values, independent of storage, versions and requests. Their results were
//! compared with kube-apiserver 1.37; the tests contain its answers.
//!
//! | content type | function |
//! |---|---|
//! | `application/json-patch+json` | [`json_patch`] |
//! | `application/merge-patch+json` | [`merge_patch`] |
//! | `application/strategic-merge-patch+json` | [`strategic_merge`] |
//! | `application/apply-patch+yaml` | [`apply`] |
//!
//! Every other write (create, update, and the first three patches) goes through [`record_update`] afterwards,
//! so that a later apply finds `metadata.managedFields`.

mod apply;
mod error;
mod field_set;
mod json;
mod managed_fields;
#[cfg(test)]
mod scenario;
mod strategic;
mod strategic_order;
mod typed;

pub(crate) use apply::{Apply, OnConflict, apply};
pub(crate) use error::{ConflictCause, PatchError};
pub(crate) use json::{json_patch, merge_patch};
pub(crate) use managed_fields::{Part, Write, manager_of, record_update};
pub(crate) use strategic::strategic_merge;

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
