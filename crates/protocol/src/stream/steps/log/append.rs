//! [`Append`]: what producers send.

use crate::stream::partition::{LogEntry, Producer};
use crate::stream::steps::SEQUENCE_MAX;
use crate::stream::steps::prelude::*;
use bytes::Bytes;

/// The position of an append among those of its producer: the script appends each sequence once, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequenced {
    /// The producer: a process, or a key whose appends a unit of work numbers.
    pub producer: Token,
    /// The number of this append; at least 1.
    pub sequence: u64,
    /// The number of the producer's append before this one; 0 for none.
    pub previous: u64,
}

/// An entry to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Entries of one key are handled in order.
    pub key: Bytes,
    /// The encoded [`Record`](crate::stream::entry::Record).
    pub record: Bytes,
    /// `None`: the entry is appended whenever the call runs, and a repeated call appends it again.
    pub sequenced: Option<Sequenced>,
}

/// Appends entries; `None` if the partition does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// In this order.
    pub entries: Vec<NewEntry>,
    /// Entries above this number of entries in the partition are refused; `None`: no limit.
    pub entries_max: Option<u64>,
    /// How long the last sequence of a producer is stored after its last append.
    pub producer_window_ms: u64,
}

/// The reply for one entry of an [`Append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the log.
    Appended(EntryId),
    /// An earlier call appended it; the id is known if it was the producer's last append.
    Duplicate(Option<EntryId>),
    /// An earlier append of the producer is missing. Nothing changed.
    OutOfOrder {
        /// The last sequence of the producer in the log.
        last: u64,
    },
    /// The partition has reached `entries_max`. Nothing changed.
    Full,
}

impl Step<Partition> for Append {
    type Reply = Option<Vec<Appended>>;

    fn check(&self) -> Checked {
        check::items(self.entries.len())?;
        check::span(self.producer_window_ms)?;
        self.entries.iter().try_for_each(|entry| {
            check::sizes(&entry.key, &entry.record)?;
            entry.sequenced.map_or(Ok(()), |by| {
                let in_order = by.previous < by.sequence && by.sequence <= SEQUENCE_MAX;
                check::ensure(in_order, "the sequences of a producer begin at 1, increase, and end at 2^53 - 1")
            })
        })
    }

    fn call(&self, _: &Partition) -> Call {
        let entries_max = self.entries_max.map_or(0, |max| max.max(1));
        let args = Args::default().number(self.producer_window_ms).number(entries_max);
        let args = self.entries.iter().fold(args, |args, entry| {
            let args = match &entry.sequenced {
                Some(by) => args.bytes(by.producer.as_bytes()).number(by.sequence).number(by.previous),
                None => args.bytes("").bytes("0").bytes("0"),
            };
            args.bytes(&entry.key).bytes(&entry.record)
        });
        Call::function(&scripts::APPEND, args)
    }

    fn reply(&self, value: Value) -> Replied<Option<Vec<Appended>>> {
        if value == Value::Nil {
            return Ok(None);
        }
        let appended = |item| {
            let mut parts = Parts::of(item)?;
            Ok(match parts.number()? {
                1 => Appended::Appended(wire::id(parts.take()?)?),
                2 => Appended::Duplicate(wire::optional_id(parts.take()?)?),
                3 => Appended::OutOfOrder { last: parts.number()? },
                4 => Appended::Full,
                _ => return Err(wire::unexpected("append")),
            })
        };
        wire::each(value, appended).map(Some)
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Option<Vec<Appended>>> {
        state.grows = true;
        if state.log.is_none() {
            return Ok(None);
        }
        if let Some(before) = now.checked_sub(self.producer_window_ms) {
            let old = state.active.until(before.saturating_sub(1), 2 * self.entries.len());
            for producer in old {
                state.active.remove(&producer);
                state.producers.remove(&producer);
            }
        }
        Ok(Some(self.entries.iter().map(|entry| state.append(now, self.entries_max, entry)).collect()))
    }
}

impl PartitionState {
    fn append(&mut self, now: u64, entries_max: Option<u64>, entry: &NewEntry) -> Appended {
        let producer = entry.sequenced.map(|by| Producer(*by.producer.as_bytes()));
        let stored = producer.and_then(|producer| self.producers.get(&producer));
        if let (Some(by), Some((last, id))) = (entry.sequenced, stored) {
            if by.sequence <= *last {
                return Appended::Duplicate((by.sequence == *last).then_some(*id));
            }
            if by.previous != *last {
                return Appended::OutOfOrder { last: *last };
            }
        }
        let log = self.log.get_or_insert_default();
        if entries_max.is_some_and(|max| log.entries.len() as u64 >= max.max(1)) {
            return Appended::Full;
        }
        let id = log.add(now, LogEntry { key: entry.key.clone(), record: entry.record.clone(), sent_back: None });
        if let (Some(producer), Some(by)) = (producer, entry.sequenced) {
            self.producers.insert(producer, (by.sequence, id));
            self.active.set(&producer, now);
        }
        Appended::Appended(id)
    }
}
