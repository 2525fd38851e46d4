//! What the tests share: a running program, and its clients.

pub(crate) mod client;
pub(crate) mod in_process;
pub(crate) mod server;
