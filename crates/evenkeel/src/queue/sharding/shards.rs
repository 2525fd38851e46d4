//! The shards of a topic, and which of them keeps a job.

use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::Shard;
use evenkeel_protocol::queue::topology::Topology;
use std::sync::Arc;

/// The most shards a topic may have.
pub(crate) const SHARDS_MAX: u16 = 1024;

/// All shards of one topic. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    all: Arc<[Shard]>,
    topology: Arc<Topology>,
}

impl Shards {
    /// Those of `topic` under the key prefix `prefix`.
    pub(crate) fn new(prefix: &str, topic: &str, topology: &Topology) -> Self {
        let all = (0..topology.shards()).map(|number| Shard::new(prefix, topic, number)).collect();
        Self { all, topology: Arc::new(topology.clone()) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u16 {
        self.topology.shards()
    }

    /// How many there were, while jobs are on their way from those to all.
    pub(crate) fn before(&self) -> Option<u16> {
        self.topology.before()
    }

    /// What the register says of them.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The number of the shard that keeps this job.
    pub(crate) fn of(&self, id: JobId) -> u16 {
        id.shard(self.count())
    }

    /// The number of the shard that is asked for this job first: the one that had it before the topic grew.
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
