//! Child processes that die with the process that started them, and the signals tests send them.
//!
//! [`Worker`] runs part of a test in a process of its own; [`Launch`] starts any program.

mod child;
mod spawner;
mod tree;
mod worker;

pub use child::{Child, Launch};
pub use worker::{Station, Worker};
