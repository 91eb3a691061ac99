//! The machinery of a shared informer, generic over the kind.

mod key;
mod object;
mod resource_version;
mod scope;
pub mod source;

pub use key::{ObjectKey, ParseKeyError};
pub use object::Object;
pub use resource_version::ResourceVersion;
pub use scope::Scope;
