//! What the reports of all processes say together.
//!
//! Any program that may write to Redis may write a report: texts are cut, and numbers are added with saturation.

use evenkeel::process::{LockReport, Process, ProcessReport, Processes, ScheduleReport};
use std::collections::BTreeMap;

/// The counters of a cache, over all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheSum {
    pub(crate) processes: u64,
    pub(crate) hits: u64,
    pub(crate) stale_hits: u64,
    pub(crate) near_hits: u64,
    pub(crate) misses: u64,
    pub(crate) loads: u64,
    pub(crate) loads_failed: u64,
    pub(crate) shed: u64,
}

impl CacheSum {
    /// Of all reads, the percentage that was served without a load; `None` if there were none.
    pub(crate) fn hit_ratio(&self) -> Option<f64> {
        let served = self.hits as f64 + self.near_hits as f64;
        let all = served + self.misses as f64;
        (all > 0.0).then(|| 100.0 * served / all)
    }
}

/// The caches by name, with the counters of the processes that have a report.
pub(crate) fn caches(found: &Processes) -> BTreeMap<String, CacheSum> {
    let mut sums: BTreeMap<String, CacheSum> = BTreeMap::new();
    for cache in reports(found).flat_map(|(_, report)| &report.caches) {
        let sum = sums.entry(cache.cache.clone()).or_default();
        for (sum, counter) in [
            (&mut sum.processes, 1),
            (&mut sum.hits, cache.hits),
            (&mut sum.stale_hits, cache.stale_hits),
            (&mut sum.near_hits, cache.near_hits),
            (&mut sum.misses, cache.misses),
            (&mut sum.loads, cache.loads),
            (&mut sum.loads_failed, cache.loads_failed),
            (&mut sum.shed, cache.shed),
        ] {
            *sum = sum.saturating_add(counter);
        }
    }
    sums
}

/// The schedules by topic and name: of those that several processes run, the earliest next tick, and their number.
pub(crate) fn schedules(found: &Processes) -> BTreeMap<(String, String), (ScheduleReport, u64)> {
    let mut all: BTreeMap<(String, String), (ScheduleReport, u64)> = BTreeMap::new();
    for schedule in living(found).flat_map(|(_, report)| &report.schedules) {
        let name = (schedule.topic.clone(), schedule.schedule.clone());
        let (earliest, processes) = all.entry(name).or_insert_with(|| (schedule.clone(), 0));
        *processes += 1;
        if schedule.next_ms.is_some() && (earliest.next_ms.is_none() || schedule.next_ms < earliest.next_ms) {
            earliest.clone_from(schedule);
        }
    }
    all
}

/// The locks that living processes hold, those that are held for the longest time first.
pub(crate) fn locks(found: &Processes) -> Vec<(&Process, &LockReport)> {
    let mut locks: Vec<_> =
        living(found).flat_map(|(process, report)| report.locks.iter().map(move |lock| (process, lock))).collect();
    locks.sort_by(|(_, one), (_, other)| (one.since_ms, &one.lock).cmp(&(other.since_ms, &other.lock)));
    locks
}

/// The processes that have a report, stale ones included.
pub(crate) fn reports(found: &Processes) -> impl Iterator<Item = (&Process, &ProcessReport)> {
    found.processes.iter().filter_map(|process| Some((process, process.report.as_ref()?)))
}

/// The processes that are alive.
pub(crate) fn living(found: &Processes) -> impl Iterator<Item = (&Process, &ProcessReport)> {
    reports(found).filter(|(process, _)| process.is_alive(found.now_ms))
}

/// The slots in use of all consumers of a process, and their number; `None` if it has no consumer.
pub(crate) fn slots(report: &ProcessReport) -> Option<(u64, u64)> {
    let queues = report.consumers.iter().map(|consumer| (consumer.used, consumer.slots));
    let streams = report.stream_consumers.iter().map(|consumer| (consumer.used, consumer.slots));
    let add = |(used, of): (u64, u64), more: (u64, u64)| (used.saturating_add(more.0), of.saturating_add(more.1));
    queues.chain(streams).reduce(add)
}

/// Host and process id of a process whose report has expired, from its id.
pub(crate) fn host_and_pid(process: &Process) -> [String; 2] {
    let mut parts = process.id.rsplitn(3, '.').skip(1);
    let pid = parts.next().unwrap_or("-").to_owned();
    [parts.next().unwrap_or(&process.id).to_owned(), pid]
}

/// A warning if other programs have values under the keys of the reports.
pub(crate) fn ignored(found: &Processes) -> Option<String> {
    let keys = "under the keys of process reports (docs/keyspace.md)";
    match found.ignored {
        0 => None,
        1 => Some(format!("1 value {keys} is no report: another program writes there, or a newer version")),
        many => Some(format!("{many} values {keys} are no reports: another program writes there, or a newer version")),
    }
}

#[cfg(test)]
mod tests {
    use super::CacheSum;

    #[test]
    fn ratio_of_no_reads_is_unknown() {
        assert_eq!(CacheSum::default().hit_ratio(), None);
        let sum = CacheSum { hits: 60, near_hits: 30, misses: 10, ..CacheSum::default() };
        assert_eq!(sum.hit_ratio(), Some(90.0));
        let full = CacheSum { hits: u64::MAX, near_hits: u64::MAX, ..CacheSum::default() };
        assert_eq!(full.hit_ratio(), Some(100.0));
    }
}
