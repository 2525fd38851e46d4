//! The link: what it does while Redis is well, and what it does when it is not.

mod commands;
mod harness;
mod recovery;
