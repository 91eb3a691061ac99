//! The tasks of this workspace.

fn main() {}
