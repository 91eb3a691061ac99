//! Errors of patches, with the status that the API server returns.

use serde_json::{Value, json};
use thiserror::Error;

/// Why a patch was refused.
///
/// `Display` is the message of the API server; [`PatchError::to_status`] is its complete answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum PatchError {
    /// 400: the patch is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// 413: the patch has more operations than are allowed.
    #[error("{0}")]
    TooLarge(String),
    /// 415: the kind does not support patches of this type.
    #[error("{0}")]
    UnsupportedMediaType(String),
    /// 422: the patch cannot be applied to the object, including a failed `test`.
    #[error("{0}")]
    Unprocessable(String),
    /// 409: other managers own fields that an apply without force would change.
    #[error("{message}")]
    Conflict {
        /// All conflicts as text.
        message: String,
        /// One entry for each field and manager.
        causes: Vec<ConflictCause>,
    },
    /// 500: errors without a specific code in the API server, such as a list item without its merge key.
    #[error("{0}")]
    Internal(String),
}

/// One field that an apply would have taken over from another manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConflictCause {
    /// Who owns the field: `conflict with "kubectl-edit" using apps/v1`.
    pub(crate) message: String,
    /// The path of the field: `.spec.replicas`.
    pub(crate) field: String,
}

impl PatchError {
    /// Returns the HTTP status code.
    pub(crate) fn code(&self) -> u16 {
        match self {
            PatchError::BadRequest(_) => 400,
            PatchError::TooLarge(_) => 413,
            PatchError::UnsupportedMediaType(_) => 415,
            PatchError::Unprocessable(_) => 422,
            PatchError::Conflict { .. } => 409,
            PatchError::Internal(_) => 500,
        }
    }

    /// The machine-readable reason in the status; internal errors have none.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            PatchError::BadRequest(_) => Some("BadRequest"),
            PatchError::TooLarge(_) => Some("RequestEntityTooLarge"),
            PatchError::UnsupportedMediaType(_) => Some("UnsupportedMediaType"),
            PatchError::Unprocessable(_) => Some("Invalid"),
            PatchError::Conflict { .. } => Some("Conflict"),
            PatchError::Internal(_) => None,
        }
    }

    /// Returns the `v1.Status` of the answer.
    pub(crate) fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.to_string(),
            "code": self.code(),
        });
        if let Some(reason) = self.reason() {
            status["reason"] = reason.into();
        }
        if let PatchError::Conflict { causes, .. } = self {
            let causes: Vec<Value> = causes
                .iter()
                .map(|cause| {
                    json!({"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field})
                })
                .collect();
            status["details"] = json!({ "causes": causes });
        }
        status
    }
}
