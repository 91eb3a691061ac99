//! The option for types of k8s-openapi.

use crate::inventory::{OLDEST, Release};

/// The types of k8s-openapi that take the place of generated ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// None.
    Never,
    /// Those that read and write every object of a schema unchanged.
    Types {
        /// The oldest release of Kubernetes that k8s-openapi is compiled for: a field must exist in it.
        kubernetes: Release,
        /// The names of types to generate all the same.
        except: Vec<String>,
    },
}

impl Default for Reuse {
    fn default() -> Self {
        Self::Types {
            kubernetes: OLDEST,
            except: Vec::new(),
        }
    }
}
