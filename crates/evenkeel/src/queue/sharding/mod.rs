//! The shards of a topic, and the routing of jobs to them, also while the topic grows.

pub(crate) mod router;
pub(crate) mod shards;
