//! A sorted set: members by a time, and equal times by the text of the member, as in Redis.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Members by time.
#[derive(Clone, Debug)]
pub(crate) struct Index<K> {
    by_time: BTreeSet<(u64, String, K)>,
    times: BTreeMap<K, u64>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), times: BTreeMap::new() }
    }
}

impl<K: Clone + Display + Ord> Index<K> {
    pub(crate) fn set(&mut self, key: &K, time: u64) {
        self.remove(key);
        self.times.insert(key.clone(), time);
        self.by_time.insert((time, key.to_string(), key.clone()));
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some(time) = self.times.remove(key) {
            self.by_time.remove(&(time, key.to_string(), key.clone()));
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<u64> {
        self.times.get(key).copied()
    }

    /// The first members up to a time.
    pub(crate) fn until(&self, time: u64, limit: usize) -> Vec<K> {
        let members = self.by_time.iter().take_while(|(at, _, _)| *at <= time);
        members.take(limit).map(|(_, _, key)| key.clone()).collect()
    }

    pub(crate) fn first_time(&self) -> Option<u64> {
        self.by_time.first().map(|(time, _, _)| *time)
    }

    pub(crate) fn last_time(&self) -> Option<u64> {
        self.by_time.last().map(|(time, _, _)| *time)
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn clear(&mut self) {
        self.by_time.clear();
        self.times.clear();
    }
}
