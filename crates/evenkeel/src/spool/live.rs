//! The pending effects of the files, held in memory.

use super::effect::{Kind, PendingEffect, Spooled};
use super::format::{Entry, frame_bytes};
use bytes::Bytes;
use evenkeel_link::support::guard;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The pending effects, and the segments that contain them.
#[derive(Debug, Default)]
pub(super) struct Live {
    held: BTreeMap<u64, Held>,
    /// The latest delete of each topic and key.
    deletes: HashMap<(Arc<str>, Bytes), u64>,
    /// Segments, oldest first: their number, and how many pending effects each contains.
    segments: BTreeMap<u64, usize>,
    bytes: u64,
    next_sequence: u64,
}

#[derive(Debug)]
struct Held {
    effect: PendingEffect,
    segment: u64,
}

impl Live {
    /// Adds a new segment. The newest segment is the active one.
    pub(super) fn begin(&mut self, segment: u64, next_sequence: u64) {
        self.segments.insert(segment, 0);
        self.next_sequence = self.next_sequence.max(next_sequence);
    }

    /// Removes a segment.
    pub(super) fn end(&mut self, segment: u64) {
        self.segments.remove(&segment);
    }

    /// Applies an entry of `segment`.
    pub(super) fn apply(&mut self, segment: u64, entry: Entry) {
        match entry {
            Entry::Done(sequence) => self.remove(sequence),
            Entry::Put { sequence, effect } => {
                self.next_sequence = self.next_sequence.max(sequence.saturating_add(1));
                self.remove(sequence);
                if effect.kind == Kind::Delete {
                    let name = (Arc::clone(&effect.topic), effect.key.clone());
                    if let Some(older) = self.deletes.insert(name, sequence)
                        && guard("spool_supersedes")
                    {
                        self.forget(older);
                    }
                }
                self.bytes += frame_bytes(&effect);
                *self.segments.entry(segment).or_default() += 1;
                self.held.insert(sequence, Held { effect, segment });
            }
        }
    }

    /// The pending effects of `topic`, at most `limit`: deletes first, each kind in the order of arrival.
    pub(super) fn pending(&self, topic: &str, limit: usize) -> Vec<Spooled> {
        let of = |kind: Kind| {
            let held = self.held.iter().filter(move |(_, held)| {
                &*held.effect.topic == topic && (held.effect.kind == kind || !guard("spool_deletes_first"))
            });
            held.map(|(sequence, held)| Spooled { sequence: *sequence, effect: held.effect.clone() })
        };
        if !guard("spool_deletes_first") {
            return of(Kind::Write).take(limit).collect();
        }
        of(Kind::Delete).chain(of(Kind::Write)).take(limit).collect()
    }

    /// All topics with pending effects, by name, and how many each has.
    pub(super) fn topics(&self) -> BTreeMap<Arc<str>, usize> {
        let mut topics = BTreeMap::new();
        for held in self.held.values() {
            *topics.entry(Arc::clone(&held.effect.topic)).or_default() += 1;
        }
        topics
    }

    pub(super) fn contains(&self, sequence: u64) -> bool {
        self.held.contains_key(&sequence)
    }

    /// The number of pending effects.
    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// Their size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence.max(1)
    }

    /// The oldest segment, if it is not the active one and contains no pending effect.
    ///
    /// Only ever the oldest: the `Done` entries of a segment refer to itself and to older segments, so it must exist as long as
    /// an older one does.
    pub(super) fn unneeded(&self) -> Option<u64> {
        let active = *self.segments.last_key_value()?.0;
        let mut segments = self.segments.iter();
        if guard("spool_oldest_first") {
            segments.next().filter(|(number, held)| **number != active && **held == 0).map(|(number, _)| *number)
        } else {
            segments.rfind(|(number, held)| **number != active && **held == 0).map(|(number, _)| *number)
        }
    }

    /// The oldest segment and its pending effects; `None` if it is the active one.
    pub(super) fn oldest(&self) -> Option<(u64, Vec<Entry>)> {
        let (number, _) = self.segments.first_key_value()?;
        if self.segments.len() < 2 {
            return None;
        }
        let held = self.held.iter().filter(|(_, held)| held.segment == *number);
        let entries = held.map(|(sequence, held)| Entry::Put { sequence: *sequence, effect: held.effect.clone() });
        Some((*number, entries.collect()))
    }

    fn remove(&mut self, sequence: u64) {
        if let Some(held) = self.held.get(&sequence)
            && held.effect.kind == Kind::Delete
        {
            let name = (Arc::clone(&held.effect.topic), held.effect.key.clone());
            if self.deletes.get(&name) == Some(&sequence) {
                self.deletes.remove(&name);
            }
        }
        self.forget(sequence);
    }

    fn forget(&mut self, sequence: u64) {
        let Some(held) = self.held.remove(&sequence) else { return };
        self.bytes -= frame_bytes(&held.effect);
        if let Some(count) = self.segments.get_mut(&held.segment) {
            *count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(sequence: u64, kind: Kind, key: &'static str) -> Entry {
        let effect = PendingEffect { kind, topic: "t".into(), key: key.into(), body: Bytes::new() };
        Entry::Put { sequence, effect }
    }

    fn sequences(live: &Live) -> Vec<u64> {
        live.pending("t", 10).iter().map(|spooled| spooled.sequence).collect()
    }

    #[test]
    fn deletes_come_first_and_the_latest_of_a_key_wins() {
        let mut live = Live::default();
        live.begin(1, 1);
        for entry in [
            put(1, Kind::Write, "a"),
            put(2, Kind::Delete, "a"),
            put(3, Kind::Delete, "b"),
            put(4, Kind::Delete, "a"),
            put(5, Kind::Write, "a"),
        ] {
            live.apply(1, entry);
        }
        assert_eq!(sequences(&live), [3, 4, 1, 5]);
        live.apply(1, Entry::Done(4));
        assert_eq!(sequences(&live), [3, 1, 5]);
        live.apply(1, put(6, Kind::Delete, "a"));
        assert_eq!(sequences(&live), [3, 6, 1, 5], "a completed delete does not hide a later one");
    }

    #[test]
    fn only_the_oldest_segment_is_removed() {
        let mut live = Live::default();
        live.begin(1, 1);
        live.apply(1, put(1, Kind::Write, "a"));
        live.begin(2, 2);
        live.apply(2, put(2, Kind::Write, "b"));
        live.apply(2, Entry::Done(2));
        live.begin(3, 3);
        assert_eq!(live.unneeded(), None, "the first one is still needed");
        live.apply(3, Entry::Done(1));
        assert_eq!(live.unneeded(), Some(1));
        live.end(1);
        assert_eq!(live.unneeded(), Some(2));
        live.end(2);
        assert_eq!((live.unneeded(), live.bytes(), live.next_sequence()), (None, 0, 3));
    }
}
