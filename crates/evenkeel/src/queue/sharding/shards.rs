//! The shards of a topic, and the assignment of jobs to them.

use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Shard;
use evenkeel_protocol::queue::topology::Topology;
use std::sync::Arc;

/// The maximum number of shards of a topic.
pub(crate) const SHARDS_MAX: u16 = 1024;

/// All shards of one topic. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    all: Arc<[Shard]>,
    topology: Arc<Topology>,
}

impl Shards {
    /// The shards of `topic` under the key prefix `prefix`.
    pub(crate) fn new(prefix: &str, topic: &str, topology: &Topology) -> Self {
        let all = (0..topology.shards()).map(|number| Shard::new(prefix, topic, number)).collect();
        Self { all, topology: Arc::new(topology.clone()) }
    }

    /// The number of shards.
    pub(crate) fn count(&self) -> u16 {
        self.topology.shards()
    }

    /// The number of shards before the topic grew, during a shard migration.
    pub(crate) fn before(&self) -> Option<u16> {
        self.topology.before()
    }

    /// The topology in the register.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The number of the shard of this job.
    pub(crate) fn of(&self, id: JobId) -> u16 {
        id.shard(self.count())
    }

    /// The number of the shard that is asked first for this job: its shard before the topic grew.
    pub(crate) fn first(&self, id: JobId) -> u16 {
        id.shard(self.before().unwrap_or(self.count()))
    }

    /// The shard with this number.
    pub(crate) fn at(&self, number: u16) -> &Shard {
        &self.all[usize::from(number)]
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Shard> {
        self.all.iter()
    }
}
