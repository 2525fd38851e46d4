//! [`ReadDead`]: a page of the dead letters.

use crate::stream::steps::log::page;
use crate::stream::steps::prelude::*;
use crate::stream::tries::Tries;
use bytes::Bytes;
use std::ops::Bound;

/// Reads a page of the dead letters.
#[derive(Clone, Debug)]
pub struct ReadDead {
    /// The group.
    pub group: GroupName,
    /// The page begins after this letter.
    pub after: EntryId,
    /// The maximum number of letters.
    pub limit: usize,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id among the dead letters of the group; its time is the time of death.
    pub id: EntryId,
    /// The id of the entry, or of the entry from which it was sent back.
    pub origin: EntryId,
    /// Whether it parks its key.
    pub parks_key: bool,
    /// Its errors and crashes; the last note is the reason. `None` if they cannot be read.
    pub tries: Option<Tries>,
    /// Its key.
    pub key: Bytes,
    /// Its record.
    pub record: Bytes,
}

impl Step<Partition> for ReadDead {
    type Reply = Vec<DeadLetter>;

    fn check(&self) -> Checked {
        check::page(self.limit)
    }

    fn call(&self, partition: &Partition) -> Call {
        page(partition, &format!("g:{}:dead", self.group), self.after, self.limit)
    }

    fn reply(&self, value: Value) -> Replied<Vec<DeadLetter>> {
        wire::range(value, |id, fields| {
            Ok(DeadLetter {
                id,
                origin: wire::parse_id(&fields.of(b"o"))?,
                parks_key: fields.of(b"p") == "1",
                tries: Tries::decode(&fields.of(b"t")),
                key: fields.of(b"k"),
                record: fields.of(b"e"),
            })
        })
    }

    fn apply(&self, state: &mut PartitionState, _: u64) -> Replied<Vec<DeadLetter>> {
        let page = (Bound::Excluded(self.after), Bound::Unbounded);
        let dead = state.groups.get(&self.group).into_iter().flat_map(|group| group.dead.range(page));
        Ok(dead.take(self.limit).map(|(_, letter)| letter.clone()).collect())
    }

    /// In as many calls as the size of a reply requires.
    async fn send(&self, redis: &Redis<Partition>, partition: &Partition) -> Replied<Vec<DeadLetter>> {
        let (mut all, mut rest) = (Vec::new(), self.clone());
        loop {
            let some = rest.reply(redis.call(partition, rest.call(partition)).await?)?;
            let bytes: usize = some.iter().map(|letter| letter.key.len() + letter.record.len()).sum();
            rest.after = some.last().map_or(rest.after, |last| last.id);
            all.extend(some);
            rest.limit = self.limit.saturating_sub(all.len());
            if bytes < REPLY_BYTES_MAX || rest.limit == 0 {
                return Ok(all);
            }
        }
    }
}
