//! The shards of a topic, and the routing of jobs to them, also while the topic grows.

mod calls;
mod portions;
pub(crate) mod router;
pub(crate) mod shards;
