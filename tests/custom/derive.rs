//! The derive macros: the code they write compiles and works. `ui.rs` tests their errors.

mod indexes;
mod plurals;
mod reserved;
mod resource;
mod spec;
