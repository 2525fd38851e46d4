//! The unit of work, its relay and its sinks.

mod databases;
mod inbox;
mod judged;
mod relay;
mod sink;
