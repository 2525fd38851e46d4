//! The link: what it does while Redis is well, and what it does when it is not.

mod access;
mod blocking;
mod commands;
mod flow;
mod harness;
mod hooks;
mod lifetime;
mod push;
mod recovery;
mod roles;
mod silence;
mod storm;
