//! Soon.
pub(crate) fn table(_rows: Vec<()>) {}
