//! The one integration binary of the workspace.
