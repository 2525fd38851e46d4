//! Child processes that end with their parent, and the signals that tests send them.
//!
//! [`Worker`] runs a part of a test in a process of its own; [`Launch`] starts any program.

mod child;
mod spawner;
mod tree;
mod worker;

pub use child::{Child, Launch};
pub use worker::{Station, Worker};
