//! The entries of a partition that wait in this process, each in the lane of its key. One entry of a lane runs at a time, the first one.

use crate::stream::consume::group::Ordering;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{Delivered, Delivery};
use std::collections::{HashMap, VecDeque};

/// The lanes of one partition.
pub(crate) struct Lanes {
    ordering: Ordering,
    lanes: HashMap<LaneKey, Lane>,
    /// The keys of lanes that may have an entry to run; some may have none any more.
    ready: VecDeque<LaneKey>,
    /// The number of entries that wait or run.
    held: usize,
    /// The number of entries that wait until they are delivered again.
    delayed: usize,
}

/// What tells lanes apart.
#[derive(Clone, PartialEq, Eq, Hash)]
enum LaneKey {
    Entry(EntryId),
    Key(Bytes),
    All,
}

#[derive(Default)]
struct Lane {
    running: Option<EntryId>,
    /// In the order of the log.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    delivered: Delivered,
    /// It runs only after it was delivered again.
    is_delayed: bool,
}

impl Lanes {
    pub(crate) fn new(ordering: Ordering) -> Self {
        Self { ordering, lanes: HashMap::new(), ready: VecDeque::new(), held: 0, delayed: 0 }
    }

    /// The number of entries that wait or run.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The number of entries that wait until they are delivered again.
    pub(crate) fn delayed(&self) -> usize {
        self.delayed
    }

    /// Whether an entry may be ready to run.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The lane of an entry.
    fn key(&self, id: EntryId, key: &Bytes) -> LaneKey {
        match self.ordering {
            _ if !guard("stream_lane_per_key") => LaneKey::Entry(id),
            Ordering::Unordered => LaneKey::Entry(id),
            Ordering::PerKey(_) => LaneKey::Key(key.clone()),
            Ordering::Total => LaneKey::All,
        }
    }

    /// Adds an entry, or the next delivery of one that waits. One that already runs is ignored.
    pub(crate) fn push(&mut self, delivered: Delivered, is_delayed: bool) {
        let key = self.key(delivered.id, &delivered.key);
        let lane = self.lanes.entry(key.clone()).or_default();
        if lane.running == Some(delivered.id) {
            return;
        }
        let place = lane.waiting.partition_point(|waiting| waiting.delivered.id < delivered.id);
        match lane.waiting.get_mut(place).filter(|waiting| waiting.delivered.id == delivered.id) {
            Some(held) => {
                self.delayed -= usize::from(held.is_delayed);
                *held = Waiting { delivered, is_delayed };
            }
            None => {
                lane.waiting.insert(place, Waiting { delivered, is_delayed });
                self.held += 1;
            }
        }
        self.delayed += usize::from(is_delayed);
        self.ready.push_back(key);
    }

    /// The next entry to run.
    pub(crate) fn next(&mut self) -> Option<Delivered> {
        while let Some(key) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            if lane.running.is_none() && lane.waiting.is_empty() {
                self.lanes.remove(&key);
                continue;
            }
            let is_free = lane.running.is_none() || !guard("stream_lane_one_at_a_time");
            if is_free && lane.waiting.front().is_some_and(|first| !first.is_delayed) {
                let next = lane.waiting.pop_front()?.delivered;
                lane.running = Some(next.id);
                return Some(next);
            }
        }
        None
    }

    /// An entry has ended. If it is retried and its lane waits for it, it stays the first one.
    pub(crate) fn ended(&mut self, delivered: Delivered, is_retried: bool) {
        let key = self.key(delivered.id, &delivered.key);
        let Some(lane) = self.lanes.get_mut(&key).filter(|lane| lane.running == Some(delivered.id)) else { return };
        lane.running = None;
        if is_retried && self.ordering.blocks() && guard("stream_lane_waits") {
            lane.waiting.push_front(Waiting { delivered, is_delayed: true });
            self.delayed += 1;
            return;
        }
        self.held -= 1;
        if lane.waiting.is_empty() {
            self.lanes.remove(&key);
        } else {
            self.ready.push_back(key);
        }
    }

    /// Marks the waiting entries of a key as parked: an earlier one has become a dead letter of a sequence.
    pub(crate) fn park(&mut self, key: &Bytes) {
        let waiting = self.lanes.get_mut(&LaneKey::Key(key.clone())).into_iter().flat_map(|lane| &mut lane.waiting);
        waiting.for_each(|waiting| waiting.delivered.is_parked = true);
    }

    /// The deliveries that wait to run.
    pub(crate) fn waiting(&self) -> Vec<Delivery> {
        let waiting = self.lanes.values().flat_map(|lane| &lane.waiting).filter(|waiting| !waiting.is_delayed);
        let mut all: Vec<Delivery> =
            waiting.map(|waiting| Delivery { id: waiting.delivered.id, count: waiting.delivered.count }).collect();
        all.sort_unstable_by_key(|delivery| delivery.id);
        all
    }

    /// Forgets an entry that the log has no more.
    pub(crate) fn forget(&mut self, id: EntryId) {
        let (mut gone, mut delayed) = (0, 0);
        for (key, lane) in &mut self.lanes {
            lane.waiting.retain(|waiting| {
                let is_it = waiting.delivered.id == id;
                gone += usize::from(is_it);
                delayed += usize::from(is_it && waiting.is_delayed);
                !is_it
            });
            if gone > 0 {
                self.ready.push_back(key.clone());
                break;
            }
        }
        self.held -= gone;
        self.delayed -= delayed;
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;
    use crate::stream::consume::group::{OnFailure, Ordering};
    use bytes::Bytes;
    use evenkeel_protocol::stream::id::EntryId;
    use evenkeel_protocol::stream::steps::Delivered;

    fn entry(id: u64, key: &'static str) -> Delivered {
        let (key, record) = (Bytes::from_static(key.as_bytes()), Bytes::new());
        Delivered { id: EntryId::at(id), count: 1, due: None, is_parked: false, origin: None, tries: None, key, record }
    }

    fn next(lanes: &mut Lanes) -> Option<u64> {
        lanes.next().map(|next| next.id.ms)
    }

    #[test]
    fn entries_of_a_key_run_one_after_the_other() {
        let mut lanes = Lanes::new(Ordering::PerKey(OnFailure::BlockKey));
        [entry(1, "a"), entry(2, "a"), entry(3, "b")].into_iter().for_each(|entry| lanes.push(entry, false));
        assert_eq!([next(&mut lanes), next(&mut lanes), next(&mut lanes)], [Some(1), Some(3), None]);
        lanes.ended(entry(1, "a"), false);
        assert_eq!((next(&mut lanes), lanes.held()), (Some(2), 2));
    }

    #[test]
    fn failed_entry_stays_before_later_ones_of_its_key() {
        let mut lanes = Lanes::new(Ordering::PerKey(OnFailure::BlockKey));
        [entry(1, "a"), entry(2, "a")].into_iter().for_each(|entry| lanes.push(entry, false));
        assert_eq!(next(&mut lanes), Some(1));
        lanes.ended(entry(1, "a"), true);
        assert_eq!((next(&mut lanes), lanes.held(), lanes.delayed()), (None, 2, 1));
        lanes.push(entry(1, "a"), false);
        assert_eq!((next(&mut lanes), lanes.delayed()), (Some(1), 0));
        lanes.ended(entry(1, "a"), false);
        assert_eq!(next(&mut lanes), Some(2));
        lanes.ended(entry(2, "a"), false);
        assert_eq!((lanes.held(), lanes.lanes.len()), (0, 0));
    }

    #[test]
    fn skipped_entry_does_not_hold_its_key_back() {
        let mut lanes = Lanes::new(Ordering::PerKey(OnFailure::Skip));
        [entry(1, "a"), entry(2, "a"), entry(3, "a")].into_iter().for_each(|entry| lanes.push(entry, false));
        assert_eq!(next(&mut lanes), Some(1));
        lanes.ended(entry(1, "a"), true);
        assert_eq!(next(&mut lanes), Some(2));
        lanes.push(entry(1, "a"), false);
        assert_eq!(next(&mut lanes), None, "the key has an entry that runs");
        lanes.ended(entry(2, "a"), false);
        assert_eq!(next(&mut lanes), Some(1));
    }

    #[test]
    fn lost_entry_frees_its_lane() {
        let mut lanes = Lanes::new(Ordering::Total);
        lanes.push(entry(1, "a"), true);
        lanes.push(entry(2, "b"), false);
        assert_eq!(next(&mut lanes), None);
        lanes.forget(EntryId::at(1));
        assert_eq!((next(&mut lanes), lanes.held(), lanes.delayed()), (Some(2), 1, 0));
    }
}
