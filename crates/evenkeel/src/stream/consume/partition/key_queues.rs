//! The entries of a partition that wait in this process, each in the queue of its key. One entry of a queue runs at a time, the first one.

use crate::stream::consume::group::Ordering;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{Delivered, Delivery};
use std::collections::{HashMap, VecDeque};

/// The queues of one partition.
pub(crate) struct KeyQueues {
    ordering: Ordering,
    queues: HashMap<QueueKey, KeyQueue>,
    /// The keys of queues that may have an entry to run; some may have none any more.
    ready: VecDeque<QueueKey>,
    /// The number of entries that wait or run.
    held: usize,
    /// The bytes of their keys and records.
    bytes: usize,
    /// The number of entries that wait until they are delivered again.
    delayed: usize,
    /// The dead letters of each key whose record the store has not confirmed: it does not mark later entries of these keys as parked.
    dying: HashMap<Bytes, usize>,
}

/// What distinguishes queues.
#[derive(Clone, PartialEq, Eq, Hash)]
enum QueueKey {
    Entry(EntryId),
    Key(Bytes),
    All,
}

#[derive(Default)]
struct KeyQueue {
    running: Option<EntryId>,
    /// In the order of the log.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    delivered: Delivered,
    /// It runs only after it was delivered again.
    is_delayed: bool,
}

impl KeyQueues {
    pub(crate) fn new(ordering: Ordering) -> Self {
        Self {
            ordering,
            queues: HashMap::new(),
            ready: VecDeque::new(),
            held: 0,
            bytes: 0,
            delayed: 0,
            dying: HashMap::new(),
        }
    }

    /// The number of entries that wait or run.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The bytes of the entries that wait or run.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of entries that wait until they are delivered again.
    pub(crate) fn delayed(&self) -> usize {
        self.delayed
    }

    /// Whether an entry may be ready to run.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The queue of an entry.
    fn key(&self, id: EntryId, key: &Bytes) -> QueueKey {
        match self.ordering {
            _ if !guard("stream_queue_per_key") => QueueKey::Entry(id),
            Ordering::Unordered => QueueKey::Entry(id),
            Ordering::PerKey(_) => QueueKey::Key(key.clone()),
            Ordering::Total => QueueKey::All,
        }
    }

    /// Adds an entry, or the next delivery of one that waits. One that already runs is ignored.
    pub(crate) fn push(&mut self, mut delivered: Delivered, is_delayed: bool) {
        delivered.is_parked |= self.dying.contains_key(&delivered.key);
        let key = self.key(delivered.id, &delivered.key);
        let queue = self.queues.entry(key.clone()).or_default();
        if queue.running == Some(delivered.id) {
            return;
        }
        let place = queue.waiting.partition_point(|waiting| waiting.delivered.id < delivered.id);
        match queue.waiting.get_mut(place).filter(|waiting| waiting.delivered.id == delivered.id) {
            Some(held) => {
                self.delayed -= usize::from(held.is_delayed);
                *held = Waiting { delivered, is_delayed };
            }
            None => {
                self.held += 1;
                self.bytes += delivered.bytes();
                queue.waiting.insert(place, Waiting { delivered, is_delayed });
            }
        }
        self.delayed += usize::from(is_delayed);
        self.ready.push_back(key);
    }

    /// The next entry to run.
    pub(crate) fn next(&mut self) -> Option<Delivered> {
        while let Some(key) = self.ready.pop_front() {
            let Some(queue) = self.queues.get_mut(&key) else { continue };
            if queue.running.is_none() && queue.waiting.is_empty() {
                self.queues.remove(&key);
                continue;
            }
            let is_free = queue.running.is_none() || !guard("stream_key_one_at_a_time");
            if is_free && queue.waiting.front().is_some_and(|first| !first.is_delayed) {
                let next = queue.waiting.pop_front()?.delivered;
                queue.running = Some(next.id);
                return Some(next);
            }
        }
        None
    }

    /// An entry has ended. If it is retried and its queue waits for it, it stays the first one.
    pub(crate) fn ended(&mut self, delivered: Delivered, is_retried: bool) {
        let key = self.key(delivered.id, &delivered.key);
        let Some(queue) = self.queues.get_mut(&key).filter(|queue| queue.running == Some(delivered.id)) else { return };
        queue.running = None;
        if is_retried && self.ordering.blocks() && guard("stream_key_waits") {
            queue.waiting.push_front(Waiting { delivered, is_delayed: true });
            self.delayed += 1;
            return;
        }
        self.held -= 1;
        self.bytes -= delivered.bytes();
        if queue.waiting.is_empty() {
            self.queues.remove(&key);
        } else {
            self.ready.push_back(key);
        }
    }

    /// Marks the waiting entries of a key as parked, and those that are added until [`recorded`](Self::recorded): an earlier one becomes a
    /// dead letter of a sequence.
    pub(crate) fn park(&mut self, key: &Bytes) {
        *self.dying.entry(key.clone()).or_default() += 1;
        let waiting = self.queues.get_mut(&QueueKey::Key(key.clone())).into_iter().flat_map(|queue| &mut queue.waiting);
        waiting.for_each(|waiting| waiting.delivered.is_parked = true);
    }

    /// The store has recorded a dead letter of a key, and marks the later entries from its next read on.
    pub(crate) fn recorded(&mut self, key: &Bytes) {
        if let Some(left) = self.dying.get_mut(key) {
            *left -= 1;
            if *left == 0 {
                self.dying.remove(key);
            }
        }
    }

    /// The deliveries that wait to run.
    pub(crate) fn waiting(&self) -> Vec<Delivery> {
        let waiting = self.queues.values().flat_map(|queue| &queue.waiting).filter(|waiting| !waiting.is_delayed);
        let mut all: Vec<Delivery> =
            waiting.map(|waiting| Delivery { id: waiting.delivered.id, count: waiting.delivered.count }).collect();
        all.sort_unstable_by_key(|delivery| delivery.id);
        all
    }

    /// Forgets an entry that waits: the log has it no more, or another consumer has it.
    pub(crate) fn forget(&mut self, id: EntryId) {
        let (mut gone, mut bytes, mut delayed) = (0, 0, 0);
        for (key, queue) in &mut self.queues {
            queue.waiting.retain(|waiting| {
                let is_it = waiting.delivered.id == id;
                gone += usize::from(is_it);
                bytes += if is_it { waiting.delivered.bytes() } else { 0 };
                delayed += usize::from(is_it && waiting.is_delayed);
                !is_it
            });
            if gone > 0 {
                self.ready.push_back(key.clone());
                break;
            }
        }
        self.held -= gone;
        self.bytes -= bytes;
        self.delayed -= delayed;
    }
}

#[cfg(test)]
mod tests {
    use super::KeyQueues;
    use crate::stream::consume::group::{OnFailure, Ordering};
    use bytes::Bytes;
    use evenkeel_protocol::stream::id::EntryId;
    use evenkeel_protocol::stream::steps::Delivered;

    fn entry(id: u64, key: &'static str) -> Delivered {
        let (key, record) = (Bytes::from_static(key.as_bytes()), Bytes::new());
        Delivered { id: EntryId::at(id), count: 1, due: None, is_parked: false, origin: None, tries: None, key, record }
    }

    fn next(queues: &mut KeyQueues) -> Option<u64> {
        queues.next().map(|next| next.id.ms)
    }

    #[test]
    fn entries_of_a_key_run_one_after_the_other() {
        let mut queues = KeyQueues::new(Ordering::PerKey(OnFailure::BlockKey));
        [entry(1, "a"), entry(2, "a"), entry(3, "b")].into_iter().for_each(|entry| queues.push(entry, false));
        assert_eq!([next(&mut queues), next(&mut queues), next(&mut queues)], [Some(1), Some(3), None]);
        queues.ended(entry(1, "a"), false);
        assert_eq!((next(&mut queues), queues.held()), (Some(2), 2));
    }

    #[test]
    fn failed_entry_stays_before_later_ones_of_its_key() {
        let mut queues = KeyQueues::new(Ordering::PerKey(OnFailure::BlockKey));
        [entry(1, "a"), entry(2, "a")].into_iter().for_each(|entry| queues.push(entry, false));
        assert_eq!(next(&mut queues), Some(1));
        queues.ended(entry(1, "a"), true);
        assert_eq!((next(&mut queues), queues.held(), queues.delayed()), (None, 2, 1));
        queues.push(entry(1, "a"), false);
        assert_eq!((next(&mut queues), queues.delayed()), (Some(1), 0));
        queues.ended(entry(1, "a"), false);
        assert_eq!(next(&mut queues), Some(2));
        queues.ended(entry(2, "a"), false);
        assert_eq!((queues.held(), queues.bytes(), queues.queues.len()), (0, 0, 0));
    }

    #[test]
    fn skipped_entry_does_not_hold_its_key_back() {
        let mut queues = KeyQueues::new(Ordering::PerKey(OnFailure::Skip));
        [entry(1, "a"), entry(2, "a"), entry(3, "a")].into_iter().for_each(|entry| queues.push(entry, false));
        assert_eq!(next(&mut queues), Some(1));
        queues.ended(entry(1, "a"), true);
        assert_eq!(next(&mut queues), Some(2));
        queues.push(entry(1, "a"), false);
        assert_eq!(next(&mut queues), None, "the key has an entry that runs");
        queues.ended(entry(2, "a"), false);
        assert_eq!(next(&mut queues), Some(1));
    }

    /// The settlement of a dead letter had failed, and the entries of its key that were read before it was repeated were handled.
    // shows: hazard SF1
    #[test]
    fn entry_read_before_a_dead_letter_is_recorded_is_parked() {
        let mut queues = KeyQueues::new(Ordering::PerKey(OnFailure::DeadLetterSequence));
        let is_parked = |queues: &mut KeyQueues, id| {
            queues.push(entry(id, "a"), false);
            let next = queues.next().map(|next| next.is_parked);
            queues.ended(entry(id, "a"), false);
            next
        };
        assert_eq!(is_parked(&mut queues, 1), Some(false));
        let key = Bytes::from_static(b"a");
        queues.park(&key);
        queues.park(&key);
        assert_eq!(is_parked(&mut queues, 2), Some(true));
        queues.recorded(&key);
        assert_eq!(is_parked(&mut queues, 3), Some(true), "another dead letter of the key is not recorded");
        queues.recorded(&key);
        assert_eq!(is_parked(&mut queues, 4), Some(false), "from here on the store decides");
    }

    #[test]
    fn lost_entry_frees_its_key() {
        let mut queues = KeyQueues::new(Ordering::Total);
        queues.push(entry(1, "a"), true);
        queues.push(entry(2, "b"), false);
        assert_eq!(next(&mut queues), None);
        queues.forget(EntryId::at(1));
        assert_eq!((next(&mut queues), queues.held(), queues.bytes(), queues.delayed()), (Some(2), 1, 1, 0));
    }
}
