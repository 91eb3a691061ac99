//! Concurrency models.
