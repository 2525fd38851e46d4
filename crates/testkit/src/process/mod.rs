//! Child processes that die with the process that started them, and the signals tests send them.

mod child;
mod spawner;
mod tree;

pub use child::{Child, Launch};
