//! The unit of work, its relay and its sinks.

mod relay;
mod sink;
