//! The link: what it does while Redis is well, and what it does when it is not.

mod access;
mod blocking;
mod commands;
mod extremes;
mod flow;
mod functions;
mod harness;
mod hooks;
mod hostile;
mod outages;
mod push;
mod refusals;
pub(crate) mod robustness;
