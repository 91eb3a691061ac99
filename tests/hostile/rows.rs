//! The tables, by kind of server fault.

pub(crate) mod alternating;
pub(crate) mod connections;
pub(crate) mod encodings;
pub(crate) mod http2;
pub(crate) mod identities;
pub(crate) mod initial_streams;
pub(crate) mod json;
pub(crate) mod pages;
pub(crate) mod protobuf;
pub(crate) mod scopes;
pub(crate) mod sizes;
pub(crate) mod sockets;
pub(crate) mod statuses;
pub(crate) mod versions;
pub(crate) mod watches;
