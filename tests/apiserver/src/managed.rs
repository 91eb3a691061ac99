//! The seam to `patch`: who owns which fields after an ordinary write.

use jiff::Timestamp;

use crate::object::Object;
use crate::registry::Resource;

/// Records in managedFields what a create or an update set.
pub(crate) fn record(
    _resource: &Resource,
    _old: Option<&Object>,
    _new: &mut Object,
    _manager: &str,
    _subresource: Option<&str>,
    _now: Timestamp,
) {
}
