//! Types and informers generated from CustomResourceDefinitions: the crate in `src`, and what its types do.

pub(crate) mod clashes;
mod generated_crate;
mod limits;
mod options;
mod round_trips;
