//! Soon.
use crate::row::Row;
pub(crate) fn rows() -> Vec<Row> { Vec::new() }
