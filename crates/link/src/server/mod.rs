//! Where the server is, who it is, and why it refuses.

pub(crate) mod identity;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod target;
pub(crate) mod topology;
pub(crate) mod url;
