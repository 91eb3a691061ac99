//! Definitions are found in whatever a text has.
