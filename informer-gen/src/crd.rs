//! Custom resources: CustomResourceDefinitions in, source text out.

pub mod definition;
pub mod shape;
pub mod types;
