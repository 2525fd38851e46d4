//! The shards of a topic, and which of them keeps a job.

use super::job::JobId;
use super::steps::Shard;
use std::sync::Arc;

/// The most shards a topic may have.
pub(crate) const SHARDS_MAX: u16 = 1024;

/// All shards of one topic. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shards(Arc<[Shard]>);

/// Items of one call that go to one shard, each with its place in the call.
pub(crate) struct Share<T> {
    pub(crate) shard: Shard,
    pub(crate) places: Vec<usize>,
    pub(crate) items: Vec<T>,
}

impl Shards {
    /// Those of `topic` under the key prefix `prefix`.
    pub(crate) fn new(prefix: &str, topic: &str, count: u16) -> Self {
        Self((0..count.max(1)).map(|number| Shard::new(prefix, topic, number)).collect())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.0.len()).unwrap_or(SHARDS_MAX)
    }

    /// The shard that keeps this job.
    pub(crate) fn of(&self, id: JobId) -> &Shard {
        &self.0[usize::from(id.shard(self.count()))]
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Shard> {
        self.0.iter()
    }

    /// Sorts the items of a call by shard, so that each shard is asked once. Shards without items are left out.
    pub(crate) fn split<T>(&self, items: impl IntoIterator<Item = T>, id: impl Fn(&T) -> JobId) -> Vec<Share<T>> {
        let empty = |shard: &Shard| Share { shard: shard.clone(), places: Vec::new(), items: Vec::new() };
        let mut shares: Vec<Share<T>> = self.iter().map(empty).collect();
        for (place, item) in items.into_iter().enumerate() {
            let share = &mut shares[usize::from(id(&item).shard(self.count()))];
            share.places.push(place);
            share.items.push(item);
        }
        shares.retain(|share| !share.items.is_empty());
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::Shards;
    use crate::queue::job::JobId;

    #[test]
    fn a_call_is_split_by_shard_and_put_together_again() {
        let shards = Shards::new("ns", "mail", 4);
        let ids: Vec<JobId> = (0..100_u8).map(|number| JobId::named(&[number])).collect();
        let shares = shards.split(ids.clone(), |id| *id);
        assert_eq!(shares.len(), 4, "a hundred ids meet every one of four shards");
        let mut again = vec![None; ids.len()];
        for share in shares {
            for (place, id) in share.places.into_iter().zip(share.items) {
                assert_eq!(shards.of(id), &share.shard);
                again[place] = Some(id);
            }
        }
        assert_eq!(again, ids.into_iter().map(Some).collect::<Vec<_>>());
    }
}
