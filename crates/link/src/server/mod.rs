//! The server: its address, its identity and its error replies.

pub(crate) mod identity;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod topology;
pub(crate) mod url;
