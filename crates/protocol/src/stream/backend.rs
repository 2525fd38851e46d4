//! [`StreamBackend`]: where the entries are.

use super::error::StreamError;
use super::id::EntryId;
use super::name::Partition;
use super::partition::PartitionState;
use super::steps::ReadLog;
use crate::step::{Backend, Place, at_key};
use evenkeel_link::LinkError;
#[cfg(feature = "testing")]
use evenkeel_link::clock::Clock;
use std::collections::BTreeMap;

/// A store of streams, which runs the steps. Cheap to clone.
pub type StreamBackend = Backend<Partition>;

impl Place for Partition {
    type State = PartitionState;
    type States = BTreeMap<Self, PartitionState>;
    type Error = StreamError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        self.tag().as_bytes()
    }

    fn open<'a>(&self, partitions: &'a mut Self::States, _: u64) -> &'a mut PartitionState {
        partitions.entry(self.clone()).or_default()
    }

    fn wakes(state: &mut PartitionState) -> bool {
        std::mem::take(&mut state.grows)
    }

    fn explained(&self, error: LinkError) -> LinkError {
        at_key(error, &format!("one of the keys {}:*", self.tag()))
    }
}

impl StreamBackend {
    /// Waits until the log has an entry after this one. Forever, if the store is not in this process.
    pub async fn grown(&self, partition: &Partition, after: EntryId) {
        self.until(partition, &ReadLog { after, limit: 1 }, |entries| !entries.is_empty()).await;
    }

    /// A copy of the present state of an embedded store on another clock, for tests that explore everything that may follow.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        match self {
            Self::Redis(_) => self.clone(),
            Self::Memory(memory) => {
                Self::Memory(memory.look(|states, _| crate::step::Memory::with(states.clone(), clock)))
            }
        }
    }

    /// A text that is equal for equal states of an embedded store.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn picture(&self) -> String {
        match self {
            Self::Redis(_) => String::new(),
            Self::Memory(memory) => memory.look(|states, _| format!("{states:?}")),
        }
    }
}
