//! [`ReadLog`]: a page of the log.

use crate::stream::steps::prelude::*;
use bytes::Bytes;

/// Reads a page of the log.
#[derive(Clone, Copy, Debug)]
pub struct ReadLog {
    /// The page begins after this entry.
    pub after: EntryId,
    /// The maximum number of entries.
    pub limit: usize,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The only group that gets it, if a dead letter was sent back.
    pub only: Option<GroupName>,
    /// Its key.
    pub key: Bytes,
    /// Its record.
    pub record: Bytes,
}

impl Step<Partition> for ReadLog {
    type Reply = Vec<Entry>;

    fn check(&self) -> Checked {
        check::page(self.limit)
    }

    fn call(&self, partition: &Partition) -> Call {
        page(partition, "log", self.after, self.limit)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Entry>> {
        wire::range(value, |id, fields| {
            let only = fields.get(b"g").map(|name| String::from_utf8_lossy(&name).into_owned());
            let only = only.map(|name| GroupName::new(&name)).transpose()?;
            Ok(Entry { id, only, key: fields.of(b"k"), record: fields.of(b"e") })
        })
    }

    fn apply(&self, state: &mut PartitionState, _: u64) -> Replied<Vec<Entry>> {
        let entries = state.log.iter().flat_map(|log| log.after(self.after)).take(self.limit);
        let entries = entries.map(|(id, entry)| {
            let only = entry.sent_back.as_ref().map(|(group, _)| group.clone());
            Entry { id, only, key: entry.key.clone(), record: entry.record.clone() }
        });
        Ok(entries.collect())
    }

    /// In as many calls as the size of a reply requires.
    async fn send(&self, redis: &Redis<Partition>, partition: &Partition) -> Replied<Vec<Entry>> {
        let (mut all, mut rest) = (Vec::new(), *self);
        loop {
            let some = rest.reply(redis.call(partition, rest.call(partition)).await?)?;
            let bytes: usize = some.iter().map(|entry| entry.key.len() + entry.record.len()).sum();
            rest.after = some.last().map_or(rest.after, |last| last.id);
            all.extend(some);
            rest.limit = self.limit.saturating_sub(all.len());
            if bytes < REPLY_BYTES_MAX || rest.limit == 0 {
                return Ok(all);
            }
        }
    }
}

/// The call for what a log of the partition has after an id, as much as a reply takes.
pub(in crate::stream::steps) fn page(partition: &Partition, name: &str, after: EntryId, limit: usize) -> Call {
    let args = Args::default().bytes(name).id(after).size(limit);
    Call::function(&scripts::PAGE, args).about(format!("{}:{name}", partition.tag()))
}
