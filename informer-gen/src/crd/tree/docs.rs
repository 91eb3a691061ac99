//! The option for documentation.

/// The length of the documentation of generated types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Docs {
    /// None, except what an object is.
    None,
    /// The first sentence of each description.
    #[default]
    Short,
    /// All of each description.
    Full,
}
