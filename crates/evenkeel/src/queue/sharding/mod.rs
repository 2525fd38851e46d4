//! The shards of a topic: which of them keeps a job, also while the topic grows.

pub(crate) mod router;
pub(crate) mod shards;
