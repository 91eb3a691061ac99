//! Errors as the API server sends them: HTTP code, machine-readable reason, message and details.

use serde_json::{Map, Value, json};

/// An error of the API, sent as a `Status` object.
///
/// Codes, reasons and messages are those of kube-apiserver 1.37, so that tests cover the client's real error
/// handling.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    code: u16,
    reason: String,
    message: String,
    /// Present and empty where upstream sends an empty object.
    details: Option<Map<String, Value>>,
    continue_token: Option<String>,
}

impl ApiError {
    /// Creates an error with any code, reason and message. An empty reason is omitted, as the real server
    /// does.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// Returns the HTTP status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns the machine-readable reason, such as `NotFound` or `Conflict`.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how many seconds the client should wait, also sent as the `Retry-After` header.
    pub fn retry_after(&self) -> Option<u64> {
        self.details
            .as_ref()?
            .get("retryAfterSeconds")
            .and_then(Value::as_u64)
    }

    /// Sets how long the client should wait.
    #[must_use]
    pub fn with_retry_after(self, seconds: u64) -> Self {
        self.with_detail("retryAfterSeconds", seconds)
    }

    /// Returns the body of the answer: a `Status` object.
    pub fn to_status(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata,
            "status": "Failure", "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_str().into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone().into();
        }
        status
    }

    pub(crate) fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }

    pub(crate) fn with_empty_details(mut self) -> Self {
        self.details = Some(Map::new());
        self
    }

    pub(crate) fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    fn about(self, resource: &str, group: &str, name: &str) -> Self {
        let named = if name.is_empty() {
            self
        } else {
            self.with_detail("name", name)
        };
        let grouped = if group.is_empty() {
            named
        } else {
            named.with_detail("group", group)
        };
        grouped.with_detail("kind", resource)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn not_found(resource: &str, group: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", qualified(resource, group));
        Self::new(404, "NotFound", message).about(resource, group, name)
    }

    pub(crate) fn no_such_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_empty_details()
    }

    pub(crate) fn already_exists(resource: &str, group: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", qualified(resource, group));
        Self::new(409, "AlreadyExists", message).about(resource, group, name)
    }

    pub(crate) fn conflict(resource: &str, group: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            qualified(resource, group)
        );
        Self::new(409, "Conflict", message).about(resource, group, name)
    }

    pub(crate) fn modified(resource: &str, group: &str, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, group, name, why)
    }

    pub(crate) fn forbidden(resource: &str, group: &str, name: &str, why: &str) -> Self {
        let subject = qualified(resource, group);
        let message = match name {
            "" => format!("{subject} is forbidden: {why}"),
            name => format!("{subject} \"{name}\" is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(resource, group, name)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The requested version lies in the future.
    pub(crate) fn too_large_version(asked: &str, current: &str) -> Self {
        let cause = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message)
            .with_detail("causes", cause)
            .with_retry_after(1)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_empty_details()
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json";
        Self::new(406, "NotAcceptable", message).with_empty_details()
    }

    /// The type of the patch is unknown.
    pub(crate) fn unknown_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_empty_details()
    }

    /// One or more fields are invalid. `kind` includes its group, as upstream does.
    pub(crate) fn invalid(kind: &str, group: &str, name: &str, problems: &[FieldProblem]) -> Self {
        let texts: Vec<String> = problems
            .iter()
            .map(|p| format!("{}: {}", p.field, p.message))
            .collect();
        let list = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes: Vec<Value> = problems
            .iter()
            .map(|p| json!({ "reason": p.reason, "message": p.message, "field": p.field }))
            .collect();
        let message = format!("{} \"{name}\" is invalid: {list}", qualified(kind, group));
        Self::new(422, "Invalid", message)
            .about(kind, group, name)
            .with_detail("causes", causes)
    }
}

/// One invalid field of a request.
#[derive(Clone, Debug)]
pub(crate) struct FieldProblem {
    pub(crate) field: String,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl FieldProblem {
    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {detail}"),
        }
    }

    pub(crate) fn required(field: &str, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".into()
        } else {
            format!("Required value: {detail}")
        };
        Self {
            field: field.into(),
            reason: "FieldValueRequired",
            message,
        }
    }

    pub(crate) fn invalid(field: &str, value: &str, detail: &str) -> Self {
        let message = format!("Invalid value: {value:?}: {detail}");
        Self {
            field: field.into(),
            reason: "FieldValueInvalid",
            message,
        }
    }

    pub(crate) fn unsupported(field: &str, value: &str, supported: &[&str]) -> Self {
        Self::not_supported(field, &format!("{value:?}"), supported)
    }

    /// As [`unsupported`](Self::unsupported), for a list with one value.
    pub(crate) fn unsupported_list(field: &str, value: &str, supported: &[&str]) -> Self {
        Self::not_supported(field, &format!("[{value:?}]"), supported)
    }

    fn not_supported(field: &str, value: &str, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            quoted.join(", ")
        );
        Self {
            field: field.into(),
            reason: "FieldValueNotSupported",
            message,
        }
    }
}

/// Returns Returns `deployments.apps`, or `pods` in the core group.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_carries_code_reason_and_details() {
        let status = ApiError::not_found("deployments", "apps", "web").to_status();
        assert_eq!(status["message"], "deployments.apps \"web\" not found");
        assert_eq!(status["code"], 404);
        assert_eq!(
            status["details"],
            json!({ "name": "web", "group": "apps", "kind": "deployments" })
        );
    }

    #[test]
    fn several_wrong_fields_are_listed_in_brackets() {
        let problems = [
            FieldProblem::forbidden("a", "no"),
            FieldProblem::unsupported("b", "x", &["y"]),
        ];
        let error = ApiError::invalid("ListOptions", "meta.k8s.io", "", &problems);
        let expected = "ListOptions.meta.k8s.io \"\" is invalid: \
                        [a: Forbidden: no, b: Unsupported value: \"x\": supported values: \"y\"]";
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn a_too_large_version_names_its_cause_and_asks_to_wait() {
        let error = ApiError::too_large_version("9", "5");
        assert_eq!(error.retry_after(), Some(1));
        assert_eq!(
            error.to_status()["details"]["causes"][0]["reason"],
            "ResourceVersionTooLarge"
        );
    }
}
