//! The generator: an inventory of kinds in, source text out.
