//! A partition's log, its producers and its groups.

use super::group::Group;
use super::index::Index;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{Append, Appended, Entry, GroupSpec, NewEntry, Opened, Position, Redriven, Trim, Trimmed};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;

/// The state of one partition.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// `None` until it is opened.
    pub(super) log: Option<Log>,
    pub(super) groups: BTreeMap<GroupName, Group>,
    /// The last sequence of each producer and the id of its entry.
    producers: BTreeMap<Producer, (u64, EntryId)>,
    /// The time of each producer's last append.
    active: Index<Producer>,
}

/// The entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) entries: BTreeMap<EntryId, LogEntry>,
    pub(super) last: EntryId,
}

/// One entry.
#[derive(Clone, Debug)]
pub(super) struct LogEntry {
    pub(super) key: Bytes,
    pub(super) record: Bytes,
    /// The group of a dead letter that was sent back, and the entry from which it came.
    pub(super) sent_back: Option<(GroupName, EntryId)>,
}

/// A producer; its text has the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Producer([u8; 16]);

impl fmt::Display for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The id of an append: the server's time, or that of the last entry if the clock was set back.
pub(super) fn next_id(last: EntryId, now: u64) -> EntryId {
    if now > last.ms { EntryId::at(now) } else { last.next() }
}

impl Log {
    pub(super) fn add(&mut self, now: u64, entry: LogEntry) -> EntryId {
        self.last = next_id(self.last, now);
        self.entries.insert(self.last, entry);
        self.last
    }

    /// The last entry that is still there.
    pub(super) fn tail(&self) -> EntryId {
        self.entries.last_key_value().map_or(EntryId::MIN, |(id, _)| *id)
    }

    pub(super) fn after(&self, id: EntryId) -> impl Iterator<Item = (EntryId, &LogEntry)> {
        self.entries.range(id.next()..).map(|(id, entry)| (*id, entry))
    }

    fn position(&self, position: Position) -> EntryId {
        match position {
            Position::After(id) => id,
            Position::End => self.last,
        }
    }
}

impl State {
    pub(super) fn open(&mut self, now: u64, specs: &[GroupSpec], last: EntryId) -> Vec<Opened> {
        let log = self.log.get_or_insert_default();
        log.last = log.last.max(last);
        let mut open = |spec: &GroupSpec| match self.groups.get(&spec.name) {
            Some(group) if group.mode == spec.mode => Opened::Existed,
            Some(_) => Opened::Refused,
            None => {
                let group = Group::new(spec.name.clone(), spec.mode, now, log.position(spec.position));
                self.groups.insert(spec.name.clone(), group);
                Opened::Created
            }
        };
        specs.iter().map(&mut open).collect()
    }

    pub(super) fn append(&mut self, now: u64, call: &Append) -> Option<Vec<Appended>> {
        self.log.as_ref()?;
        if let Some(before) = now.checked_sub(call.producer_window_ms) {
            let old = self.active.until(before.saturating_sub(1), 2 * call.entries.len());
            for producer in old {
                self.active.remove(&producer);
                self.producers.remove(&producer);
            }
        }
        Some(call.entries.iter().map(|entry| self.append_one(now, call, entry)).collect())
    }

    fn append_one(&mut self, now: u64, call: &Append, entry: &NewEntry) -> Appended {
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
        if call.entries_max.is_some_and(|max| log.entries.len() as u64 >= max.max(1)) {
            return Appended::Full;
        }
        let id = log.add(now, LogEntry { key: entry.key.clone(), record: entry.record.clone(), sent_back: None });
        if let (Some(producer), Some(by)) = (producer, entry.sequenced) {
            self.producers.insert(producer, (by.sequence, id));
            self.active.set(&producer, now);
        }
        Appended::Appended(id)
    }

    pub(super) fn redrive(&mut self, now: u64, name: &GroupName, letters: &[EntryId]) -> Option<Vec<Redriven>> {
        let log = self.log.as_mut()?;
        let Some(group) = self.groups.get_mut(name) else { return Some(vec![Redriven::Unknown; letters.len()]) };
        let mut redrive = |id: &EntryId| {
            let Some(letter) = group.dead.get(id) else { return Redriven::Unknown };
            if group.parked.contains_key(&letter.key) {
                return Redriven::Parked;
            }
            let sent_back = Some((name.clone(), letter.origin));
            let entry = LogEntry { key: letter.key.clone(), record: letter.record.clone(), sent_back };
            group.dead.remove(id);
            Redriven::Appended(log.add(now, entry))
        };
        Some(letters.iter().map(&mut redrive).collect())
    }

    pub(super) fn trim(&mut self, now: u64, trim: &Trim) -> Trimmed {
        let Some(log) = &mut self.log else { return Trimmed::Missing };
        if let Some(missing) = trim.groups.iter().find(|name| !self.groups.contains_key(*name)) {
            return Trimmed::GroupMissing(missing.clone());
        }
        let mut below = EntryId::at(now.saturating_sub(trim.retain_ms));
        for group in self.groups.values() {
            let oldest = group.pending.first_key_value().map(|(id, _)| *id);
            below = below.min(group.position.next()).min(oldest.unwrap_or(below));
        }
        let mut page: Vec<EntryId> = log.entries.range(..below).map(|(id, _)| *id).take(trim.limit + 1).collect();
        let more = page.len() > trim.limit;
        page.truncate(trim.limit);
        page.iter().for_each(|id| drop(log.entries.remove(id)));
        Trimmed::Removed { entries: page.len() as u64, more }
    }

    pub(super) fn entries(&self, after: EntryId, limit: usize) -> Vec<Entry> {
        let log = self.log.iter().flat_map(|log| log.after(after));
        let entry = |(id, entry): (EntryId, &LogEntry)| {
            let only = entry.sent_back.as_ref().map(|(group, _)| group.clone());
            Entry { id, only, key: entry.key.clone(), record: entry.record.clone() }
        };
        log.take(limit).map(entry).collect()
    }

    /// Moves a group; `false` if it does not exist.
    pub(super) fn seek(&mut self, now: u64, name: &GroupName, to: Position) -> bool {
        let (Some(log), Some(group)) = (&self.log, self.groups.get_mut(name)) else { return false };
        group.seek(now, log.position(to));
        true
    }
}
